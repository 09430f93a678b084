package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"

	"parley/internal/domain"
)

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
