package objects

import (
	"cmp"
	"context"
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"parley/internal/domain"
)

// In an upload's folder, the file of a part is named by the part's number. The part's MD5
// follows its bytes, so that one rename publishes both.
const (
	doneFile      = "done" // holds the ETag of the completed object
	partPattern   = "%05d"
	incomingFiles = "in-" // parts that are being received
	assemblyFiles = "as-" // objects that are being assembled
	discardedDirs = "gone-"
)

// stageDir is the folder of an upload. Its name depends on the key too: an upload is
// found under its own key only.
func stageDir(upload Upload) string {
	sum := sha256.Sum256([]byte(upload.ID + "\n" + upload.Key))
	return path.Join(stageTree, "up-"+hex.EncodeToString(sum[:16]))
}

// Begin implements Store.
func (f *Folder) Begin(ctx context.Context, key string) (Upload, error) {
	if err := cmp.Or(checkCall(ctx, key), f.checkPresent(ctx)); err != nil {
		return Upload{}, err
	}
	upload := Upload{Key: key, ID: rand.Text()}
	err := f.root().Mkdir(stageDir(upload), 0o700)
	if err == nil {
		err = f.syncDir(stageTree)
	}
	return upload, failed(ctx, err, "begin an upload to %q", key)
}

// PartURL implements Store.
func (f *Folder) PartURL(ctx context.Context, user string, upload Upload, number int, size int64, ttl time.Duration) (string, error) {
	if err := checkPart(upload, number, size, ttl); err != nil {
		return "", err
	}
	until := f.cfg.Now().Add(ttl).Add(time.Second - 1) // whole seconds, rounded up
	g := grant{upload: upload, number: number, size: size, expires: until.Unix(), userTag: userTag(f.cfg.Secret, user)}
	base := strings.TrimRight(f.cfg.BaseURL(ctx), "/")
	return base + PartPath + "?" + g.query(g.sign(f.cfg.Secret, http.MethodPut)), nil
}

func checkPart(upload Upload, number int, size int64, ttl time.Duration) error {
	if err := checkUpload(upload); err != nil {
		return err
	}
	if number < 1 || number > domain.MaxParts || size < 1 || ttl <= 0 {
		return domain.Errorf(domain.ErrInvalid, "a part must have a number from 1 to %d, at least one byte, and some time", domain.MaxParts)
	}
	return nil
}

// noUpload is ErrNotFound, or ErrUnavailable where the whole folder is missing.
func (f *Folder) noUpload(ctx context.Context) error {
	return cmp.Or(f.checkPresent(ctx), noUpload())
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
	if err == nil && len(stored) == 0 && f.isDone(upload) {
		err = noUpload()
	}
	return inPlan(plan, stored), err
}

// isDone reports whether the end of an upload is noted.
func (f *Folder) isDone(upload Upload) bool { return f.exists(path.Join(stageDir(upload), doneFile)) }

// storedParts returns the received parts of a plan.
func (f *Folder) storedParts(ctx context.Context, upload Upload, plan Plan) (map[int]storedPart, error) {
	dir := stageDir(upload)
	if !f.exists(dir) {
		return nil, f.noUpload(ctx)
	}
	stored := map[int]storedPart{}
	for number := 1; number <= min(plan.Parts(), domain.MaxParts) && ctx.Err() == nil; number++ {
		file, part, err := f.openPart(dir, number)
		if missing(err) {
			continue
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return nil, failed(ctx, err, "read part %d of %q", number, upload.Key)
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
	unlock, err := f.locks.lock(ctx, stageDir(upload))
	if err != nil {
		return err
	}
	defer unlock()
	if err := f.checkPresent(ctx); err != nil {
		return err
	}
	return failed(ctx, f.discard(stageDir(upload)), "abort the upload to %q", upload.Key)
}

// discard removes an upload's folder. A rename makes it disappear at once.
func (f *Folder) discard(dir string) error {
	discarded := path.Join(stageTree, discardedDirs+rand.Text())
	if err := f.root().Rename(dir, discarded); err != nil {
		return ignoreMissing(err)
	}
	return errors.Join(f.root().RemoveAll(discarded), f.syncDir(stageTree))
}

// Sweep implements Store: uploads and files that have not changed since.
func (f *Folder) Sweep(ctx context.Context, before time.Time) (int, error) {
	if err := f.checkPresent(ctx); err != nil {
		return 0, err
	}
	entries, err := fs.ReadDir(f.root().FS(), stageTree)
	if err != nil {
		return 0, failed(ctx, err, "list the uploads")
	}
	removed := 0
	for _, entry := range entries {
		name, swept := path.Join(stageTree, entry.Name()), 0
		switch {
		case !entry.IsDir():
			swept, err = f.sweepFile(name, before)
		case strings.HasPrefix(entry.Name(), discardedDirs): // an interrupted Abort
			err = f.root().RemoveAll(name)
		default:
			swept, err = f.sweepUpload(ctx, name, before)
		}
		if err != nil {
			return removed, failed(ctx, err, "remove a stale upload")
		}
		removed += swept
	}
	return removed, nil
}

// sweepUpload removes an upload, or stale files in it, and returns how many unfinished
// things that were.
func (f *Folder) sweepUpload(ctx context.Context, dir string, before time.Time) (int, error) {
	unlock, err := f.locks.lock(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer unlock()
	info, err := f.root().Lstat(dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	entries, err := fs.ReadDir(f.root().FS(), dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	done := false
	latest := info.ModTime()
	for _, entry := range entries {
		done = done || entry.Name() == doneFile
		// A part that comes in slowly changes its file and not the folder.
		if info, err := entry.Info(); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	if latest.Before(before) {
		if err := f.discard(dir); err != nil || done {
			return 0, err
		}
		return 1, nil
	}
	removed := 0
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), incomingFiles) || strings.HasPrefix(entry.Name(), assemblyFiles) {
			swept, fileErr := f.sweepFile(path.Join(dir, entry.Name()), before)
			removed += swept
			err = errors.Join(err, fileErr)
		}
	}
	return removed, err
}

// sweepFile removes a file that was last changed before the given time.
func (f *Folder) sweepFile(name string, before time.Time) (int, error) {
	info, err := f.root().Lstat(name)
	if err == nil && info.ModTime().Before(before) {
		if err = f.root().Remove(name); err == nil {
			return 1, nil
		}
	}
	return 0, ignoreMissing(err)
}
