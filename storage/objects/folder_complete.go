package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"

	"parley/storage"
)

// Complete implements Store. It remembers an upload until Sweep or Abort.
func (f *Folder) Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) (Object, error) {
	if err := checkUpload(upload); err != nil {
		return Object{}, err
	}
	unlock, err := f.locks.lock(ctx, stage(upload))
	if err != nil {
		return Object{}, err
	}
	defer unlock()

	if object, done := f.completed(upload, plan, parts); done {
		f.clear(upload)
		return object, nil
	}
	stored, err := f.storedParts(ctx, upload, plan)
	if err != nil {
		return Object{}, err
	}
	etags, err := checkParts(plan, parts, stored)
	if err == nil {
		err = f.assemble(ctx, upload, plan, etags)
	}
	if err != nil {
		// Another process may have been faster and have taken the parts away.
		if object, done := f.completed(upload, plan, parts); done {
			return object, nil
		}
		if len(stored) == 0 && f.exists(path.Join(stage(upload), doneFile)) {
			return Object{}, noUpload() // it was completed, and not with these parts
		}
		return Object{}, err
	}
	object, _, err := f.stat(ctx, upload.Key)
	if err != nil {
		return Object{}, err
	}
	object.ETag = wholeETag(etags)
	f.clear(upload)
	return object, nil
}

// completed gives the object that the parts have been made before.
func (f *Folder) completed(upload Upload, plan Plan, parts []Part) (Object, bool) {
	etags := orderedETags(plan, parts)
	if etags == nil || !f.isCompleted(upload, plan, wholeETag(etags)) {
		return Object{}, false
	}
	info, err := f.root().Lstat(whole(upload.Key))
	if err != nil {
		return Object{}, false
	}
	return Object{Key: upload.Key, Size: info.Size(), ETag: wholeETag(etags), Modified: info.ModTime()}, true
}

func (f *Folder) isCompleted(upload Upload, plan Plan, etag string) bool {
	said, err := f.root().ReadFile(path.Join(stage(upload), doneFile))
	if err != nil || string(said) != etag {
		return false
	}
	info, err := f.root().Lstat(whole(upload.Key))
	return err == nil && info.Size() == plan.Size
}

// assemble makes the object. The parts stay.
func (f *Folder) assemble(ctx context.Context, upload Upload, plan Plan, etags []string) (err error) {
	dir := stage(upload)
	name := path.Join(dir, assemblyFiles+rand.Text())
	file, err := f.create(name)
	if err != nil {
		return failed(ctx, err, "make the object %q", upload.Key)
	}
	defer func() {
		if err != nil {
			_ = f.root().Remove(name) // what stays is swept
		}
	}()
	err = f.join(ctx, file, upload, plan, etags)
	if err == nil {
		if err = file.Sync(); err != nil {
			err = failed(ctx, err, "write the object %q", upload.Key)
		}
	}
	if closeErr := file.Close(); err == nil && closeErr != nil {
		err = failed(ctx, closeErr, "write the object %q", upload.Key)
	}
	if err != nil {
		return err
	}
	// It is written before the object can be seen, and counts from then on: after a
	// crash in between the parts are still there.
	if err := f.writeDone(dir, wholeETag(etags)); err != nil {
		return failed(ctx, err, "note the end of the upload to %q", upload.Key)
	}
	err = f.place(ctx, name, upload.Key)
	if err != nil && !f.isCompleted(upload, plan, wholeETag(etags)) {
		_ = f.root().Remove(path.Join(dir, doneFile)) // more parts may come
	}
	return err
}

// join writes the parts one after the other.
func (f *Folder) join(ctx context.Context, to *os.File, upload Upload, plan Plan, etags []string) error {
	for i, etag := range etags {
		if err := ctx.Err(); err != nil {
			return err
		}
		number := i + 1
		from, part, err := f.openPart(stage(upload), number)
		if missing(err) {
			return f.noUpload(ctx)
		}
		if err != nil {
			return failed(ctx, err, "read part %d of %q", number, upload.Key)
		}
		if part.etag != etag || part.size != plan.Part(number) {
			_ = from.Close()
			return storage.Invalid(wrongPart(number, "has just been sent again"))
		}
		// From file to file, which the kernel does by itself where it can.
		_, err = io.CopyN(to, from, part.size)
		if err = errors.Join(err, from.Close()); err != nil {
			return failed(ctx, err, "write the object %q", upload.Key)
		}
	}
	return nil
}

// writeDone notes the end of an upload. Another process that reads the note sees all
// of it.
func (f *Folder) writeDone(dir, etag string) error {
	tmp := path.Join(dir, assemblyFiles+rand.Text())
	file, err := f.root().OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, etag)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = f.root().Rename(tmp, path.Join(dir, doneFile))
	}
	if err != nil {
		_ = f.root().Remove(tmp)
		return err
	}
	return f.syncDir(dir)
}

// clear removes everything of a completed upload but the note that it is. What
// cannot be removed is swept with the note.
func (f *Folder) clear(upload Upload) {
	dir := stage(upload)
	names, _ := f.names(dir)
	for _, name := range names {
		if name != doneFile {
			_ = f.root().Remove(path.Join(dir, name))
		}
	}
}

// names lists a folder, in no order.
func (f *Folder) names(dir string) ([]string, error) {
	file, err := f.root().Open(dir)
	if err != nil {
		return nil, err
	}
	names, err := file.Readdirnames(-1)
	return names, errors.Join(err, file.Close())
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}
