package objects

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"parley/storage"
)

// In an upload's folder, a part's file has its number for a name and its MD5 behind
// its bytes, so that one rename puts both in place.
const (
	doneFile      = "done" // holds the ETag of the object that was made
	partPattern   = "%05d"
	incomingFiles = "in-" // parts that are coming in
	assemblyFiles = "as-" // objects that are being made
)

// Begin implements Store.
func (f *Folder) Begin(ctx context.Context, key string) (Upload, error) {
	if err := validKey(key); err != nil {
		return Upload{}, err
	}
	if err := ctx.Err(); err != nil {
		return Upload{}, err
	}
	if err := f.inPlace(ctx); err != nil {
		return Upload{}, err
	}
	upload := Upload{Key: key, ID: rand.Text()}
	err := f.root().Mkdir(stage(upload), 0o700)
	if err == nil {
		err = f.syncDir(stageTree)
	}
	if err != nil {
		return Upload{}, failed(ctx, err, "begin an upload to %q", key)
	}
	return upload, nil
}

// PartURL implements Store.
func (f *Folder) PartURL(ctx context.Context, user string, upload Upload, number int, size int64, ttl time.Duration) (string, error) {
	if err := checkPart(upload, number, size, ttl); err != nil {
		return "", err
	}
	until := f.cfg.Now().Add(ttl).Add(time.Second - 1) // whole seconds, rounded up
	g := grant{upload: upload, number: number, size: size, expires: until.Unix(), turn: turnOf(f.cfg.Secret, user)}
	base := strings.TrimRight(f.cfg.BaseURL(ctx), "/")
	return base + PartPath + "?" + g.query(g.sign(f.cfg.Secret, http.MethodPut)), nil
}

func checkPart(upload Upload, number int, size int64, ttl time.Duration) error {
	if err := checkUpload(upload); err != nil {
		return err
	}
	if number < 1 || number > MaxParts || size < 1 || ttl <= 0 {
		return storage.Errorf(storage.ErrInvalid, "a part must have a number from 1 to %d, at least one byte, and some time", MaxParts)
	}
	return nil
}

// noUpload says that an upload is not there, unless nothing is.
func (f *Folder) noUpload(ctx context.Context) error {
	return cmp.Or(f.inPlace(ctx), error(noUpload()))
}

// receive keeps a part that is coming in, and returns its ETag.
func (f *Folder) receive(ctx context.Context, g grant, body io.Reader) (string, error) {
	dir := stage(g.upload)
	if f.exists(path.Join(dir, doneFile)) {
		return "", noUpload()
	}
	name := path.Join(dir, incomingFiles+rand.Text())
	file, err := f.root().OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if missing(err) {
		return "", f.noUpload(ctx)
	}
	if err != nil {
		return "", failed(ctx, err, "make a file for part %d of %q", g.number, g.upload.Key)
	}
	sum, err := writePart(ctx, file, body, g)
	if err == nil {
		err = f.keepPart(ctx, name, dir, g)
	}
	if err != nil {
		_ = f.root().Remove(name) // what stays is swept
		return "", err
	}
	return hex.EncodeToString(sum), nil
}

// writePart writes the part's bytes and their MD5, and closes the file.
func writePart(ctx context.Context, file *os.File, body io.Reader, g grant) ([]byte, error) {
	hash := md5.New()
	err := copyPart(ctx, file, hash, body, g)
	sum := hash.Sum(nil)
	if err == nil {
		_, err = file.Write(sum)
		if err == nil {
			err = file.Sync()
		}
		if err != nil {
			err = failed(ctx, err, "write part %d of %q", g.number, g.upload.Key)
		}
	}
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = failed(ctx, closeErr, "write part %d of %q", g.number, g.upload.Key)
	}
	return sum, err
}

// keepPart gives a part its name. An upload that has ended meanwhile is not found.
func (f *Folder) keepPart(ctx context.Context, name, dir string, g grant) error {
	if f.exists(path.Join(dir, doneFile)) {
		return noUpload()
	}
	err := f.root().Rename(name, path.Join(dir, fmt.Sprintf(partPattern, g.number)))
	if err == nil {
		err = f.syncDir(dir)
	}
	switch {
	case missing(err):
		return f.noUpload(ctx)
	case err != nil:
		return failed(ctx, err, "keep part %d of %q", g.number, g.upload.Key)
	}
	return nil
}

// openPart opens a part at its first byte.
func (f *Folder) openPart(dir string, number int) (*os.File, storedPart, error) {
	file, err := f.root().Open(path.Join(dir, fmt.Sprintf(partPattern, number)))
	if err != nil {
		return nil, storedPart{}, err
	}
	info, err := file.Stat()
	sum := make([]byte, md5.Size)
	if err == nil {
		_, err = file.ReadAt(sum, info.Size()-md5.Size)
	}
	if err != nil {
		return nil, storedPart{}, errors.Join(err, file.Close())
	}
	return file, storedPart{etag: hex.EncodeToString(sum), size: info.Size() - md5.Size}, nil
}

// Stored implements Store.
func (f *Folder) Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error) {
	if err := checkUpload(upload); err != nil {
		return nil, err
	}
	stored, err := f.storedParts(ctx, upload, plan)
	if err == nil && len(stored) == 0 && f.exists(path.Join(stage(upload), doneFile)) {
		err = noUpload()
	}
	return inPlan(plan, stored), err
}

// storedParts gives the parts of a plan that have come in.
func (f *Folder) storedParts(ctx context.Context, upload Upload, plan Plan) (map[int]storedPart, error) {
	dir := stage(upload)
	if !f.exists(dir) {
		return nil, f.noUpload(ctx)
	}
	stored := map[int]storedPart{}
	for number := 1; number <= min(plan.Parts(), MaxParts) && ctx.Err() == nil; number++ {
		file, part, err := f.openPart(dir, number)
		if missing(err) {
			continue
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return nil, failed(ctx, err, "look at part %d of %q", number, upload.Key)
		}
		stored[number] = part
	}
	return stored, ctx.Err()
}

// Abort implements Store.
func (f *Folder) Abort(ctx context.Context, upload Upload) error {
	if checkUpload(upload) != nil {
		return nil // there cannot be such an upload
	}
	unlock, err := f.locks.lock(ctx, stage(upload))
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.inPlace(ctx); err != nil {
		return err
	}
	if err := f.discard(stage(upload)); err != nil {
		return failed(ctx, err, "abort the upload to %q", upload.Key)
	}
	return nil
}

// discard removes an upload's folder. It goes away at once for those who look for
// it by name, and then piece by piece.
func (f *Folder) discard(dir string) error {
	gone := path.Join(stageTree, "gone-"+rand.Text())
	if err := f.root().Rename(dir, gone); err != nil {
		if missing(err) {
			return nil
		}
		return err
	}
	return errors.Join(f.root().RemoveAll(gone), f.syncDir(stageTree))
}
