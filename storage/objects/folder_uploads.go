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
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"parley/internal/disk"
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

// Complete implements Store. It remembers an upload until Sweep or Abort.
func (f *Folder) Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) error {
	if err := checkUpload(upload); err != nil {
		return err
	}
	unlock, err := f.locks.lock(ctx, stageDir(upload))
	if err != nil {
		return err
	}
	defer unlock()
	etag := objectETag(plan, parts)
	if f.isCompleted(upload, plan, etag) {
		f.clear(upload)
		return nil
	}
	stored, err := f.storedParts(ctx, upload, plan)
	if err != nil {
		return err
	}
	etags, err := checkParts(plan, parts, stored)
	if err == nil {
		err = f.assemble(ctx, upload, plan, etags)
	}
	switch {
	case err == nil:
		f.clear(upload)
		return nil
	case f.isCompleted(upload, plan, etag):
		return nil // another process was faster and has removed the parts
	case len(stored) == 0 && f.isDone(upload):
		return noUpload() // completed, with other parts
	}
	return err
}

// isCompleted reports whether an upload was completed with the parts that make an ETag.
func (f *Folder) isCompleted(upload Upload, plan Plan, etag string) bool {
	done, err := f.root().ReadFile(path.Join(stageDir(upload), doneFile))
	if err != nil || etag == "" || string(done) != etag {
		return false
	}
	info, err := f.root().Lstat(objectPath(upload.Key))
	return err == nil && info.Size() == plan.Size
}

// assemble makes the object. The parts stay.
func (f *Folder) assemble(ctx context.Context, upload Upload, plan Plan, etags []string) (err error) {
	dir, etag := stageDir(upload), joinETags(etags)
	name := path.Join(dir, assemblyFiles+rand.Text())
	defer func() {
		if err != nil {
			_ = f.root().Remove(name) // what stays is swept
		}
	}()
	err = f.write(name, objectMode, func(to *os.File) error { return f.join(ctx, to, upload, plan, etags) })
	if err != nil {
		return failed(ctx, err, "write the object %q", upload.Key)
	}
	// The note counts only with the object: after a crash between the two, the parts are
	// still there.
	if err := f.writeDone(dir, etag); err != nil {
		return failed(ctx, err, "note the end of the upload to %q", upload.Key)
	}
	err = f.publish(ctx, name, upload.Key)
	if err != nil && !f.isCompleted(upload, plan, etag) {
		_ = f.root().Remove(path.Join(dir, doneFile)) // more parts may come
	}
	return err
}

// join writes the parts one after the other.
func (f *Folder) join(ctx context.Context, to *os.File, upload Upload, plan Plan, etags []string) error {
	for i, etag := range etags {
		number := i + 1
		from, part, err := f.openPart(stageDir(upload), number)
		if missing(err) {
			return f.noUpload(ctx)
		}
		if err != nil {
			return failed(ctx, err, "read part %d of %q", number, upload.Key)
		}
		if part.etag != etag || part.size != plan.Part(number) {
			_ = from.Close()
			return domain.Invalid(wrongPart(number, "has just been sent again"))
		}
		err = copyFile(ctx, to, from, part.size)
		if err = errors.Join(err, from.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeDone notes the end of an upload. Other processes see the whole note or none.
func (f *Folder) writeDone(dir, etag string) error {
	tmp := path.Join(dir, assemblyFiles+rand.Text())
	err := f.write(tmp, 0o600, func(file *os.File) error {
		_, err := io.WriteString(file, etag)
		return err
	})
	if err == nil {
		err = f.root().Rename(tmp, path.Join(dir, doneFile))
	}
	if err != nil {
		return err
	}
	return f.syncDir(dir)
}

// clear removes everything of a completed upload except the note. What it cannot remove
// is swept with the note.
func (f *Folder) clear(upload Upload) {
	dir := stageDir(upload)
	entries, _ := fs.ReadDir(f.root().FS(), dir)
	for _, entry := range entries {
		if entry.Name() != doneFile {
			_ = f.root().Remove(path.Join(dir, entry.Name()))
		}
	}
}

// bufferSize is the memory for each part that is being received.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// ServePart receives a part that a client sends to an address of PartURL. It answers 200
// with the part's ETag; after an error, the caller answers. ErrForbidden: the address is
// wrong or has expired. ErrNotFound: the upload has ended. ErrInvalid: the part has a wrong
// size or comes too slowly. ErrTooMany: the user sends too many at once. ErrUnavailable:
// all users do, or the part cannot be stored.
func (f *Folder) ServePart(w http.ResponseWriter, r *http.Request) error {
	g, err := verify(f.cfg.Secret, r.Method, r.URL.RawQuery, f.cfg.Now())
	if err != nil {
		return err
	}
	if r.ContentLength >= 0 && r.ContentLength != g.size {
		return wrongSize(g)
	}
	// The body is not read before there is a slot.
	slot, err := f.queue.Acquire(g.userTag)
	if err != nil {
		return err
	}
	if err := slot.WaitTimeout(r.Context(), f.cfg.QueueTimeout); err != nil {
		return err
	}
	defer slot.Release()
	etag, err := f.receive(r.Context(), g, &timedBody{body: r.Body, control: http.NewResponseController(w), stall: f.cfg.Stall})
	if err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+etag+`"`)
	w.WriteHeader(http.StatusOK)
	return nil
}

// timedBody cuts off a client that takes too long for each bufferSize bytes, whatever
// the server's deadline for whole requests.
type timedBody struct {
	body    io.Reader
	control *http.ResponseController
	stall   time.Duration
	due     int // bytes until the next extension
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.due <= 0 {
		b.due = bufferSize
		// Not every ResponseWriter has deadlines; then the server's own must do.
		deadline := time.Now().Add(b.stall)
		_ = b.control.SetReadDeadline(deadline)
		_ = b.control.SetWriteDeadline(deadline.Add(time.Minute)) // for the answer
	}
	n, err := b.body.Read(p)
	b.due -= n
	if errors.Is(err, io.EOF) {
		// The server reads on, to notice when the client goes.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// receive stores a part and returns its ETag.
func (f *Folder) receive(ctx context.Context, g grant, body io.Reader) (etag string, err error) {
	if f.isDone(g.upload) {
		return "", noUpload()
	}
	// Many uploads may have begun while there was room for each.
	defer f.receiving.Add(-g.size)
	if free, err := disk.Free(f.cfg.Dir); f.receiving.Add(g.size) > free && err == nil {
		return "", domain.Errorf(domain.ErrUnavailable, "there is no room left on the server's disk; try again later")
	}
	dir := stageDir(g.upload)
	name := path.Join(dir, incomingFiles+rand.Text())
	err = f.write(name, 0o600, func(file *os.File) error {
		etag, err = writePart(ctx, file, body, g)
		return err
	})
	if err == nil && f.isDone(g.upload) {
		err = noUpload() // ended meanwhile
	}
	if err == nil {
		err = f.root().Rename(name, path.Join(dir, fmt.Sprintf(partPattern, g.number)))
	}
	if err == nil {
		err = f.syncDir(dir)
	}
	if err != nil {
		_ = f.root().Remove(name) // what stays is swept
	}
	if missing(err) {
		return "", f.noUpload(ctx)
	}
	return etag, failed(ctx, err, "store part %d of %q", g.number, g.upload.Key)
}

// writePart writes exactly the bytes of a part, and their MD5. It returns the ETag.
func writePart(ctx context.Context, file *os.File, body io.Reader, g grant) (string, error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	hash := md5.New()
	// A MultiWriter and a LimitedReader have no ways around the buffer.
	n, err := io.CopyBuffer(io.MultiWriter(file, hash), io.LimitReader(body, g.size+1), buffer[:])
	if err == nil && n == g.size {
		sum := hash.Sum(nil)
		_, err := file.Write(sum)
		return hex.EncodeToString(sum), failed(ctx, err, "write part %d of %q", g.number, g.upload.Key)
	}
	var disk *fs.PathError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", domain.Errorf(domain.ErrInvalid, "part %d came in too slowly", g.number)
	case errors.As(err, &disk) || err != nil && ctx.Err() != nil:
		return "", failed(ctx, err, "receive part %d of %q", g.number, g.upload.Key)
	}
	return "", wrongSize(g)
}

func wrongSize(g grant) error {
	return domain.Errorf(domain.ErrInvalid, "part %d must have exactly %d bytes", g.number, g.size)
}
