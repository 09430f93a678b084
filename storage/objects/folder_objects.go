package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"parley/storage"
)

// PutFile implements Store.
func (f *Folder) PutFile(ctx context.Context, key, name string) error {
	if err := checkCall(ctx, key); err != nil {
		return err
	}
	from, size, err := openFile(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := f.checkPresent(ctx); err != nil {
		return err
	}
	tmp := path.Join(stageTree, "put-"+rand.Text())
	err = f.write(tmp, objectMode, func(to *os.File) error { return copyFile(ctx, to, from, size) })
	if err == nil {
		if err = f.publish(ctx, tmp, key); err != nil {
			_ = f.root().Remove(tmp)
		}
	}
	return failed(ctx, err, "write object %q", key)
}

// Open implements Store.
func (f *Folder) Open(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	if err := checkCall(ctx, key); err != nil {
		return nil, 0, err
	}
	file, err := f.root().Open(objectPath(key))
	if missing(err) {
		return nil, 0, cmp.Or(f.checkPresent(ctx), notFound(key))
	}
	if err != nil {
		return nil, 0, failed(ctx, err, "open object %q", key)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notFound(key)
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, failed(ctx, err, "open object %q", key)
	}
	return file, info.Size(), nil
}

// find is ErrNotFound where there is no object.
func (f *Folder) find(ctx context.Context, key string) error {
	if err := checkCall(ctx, key); err != nil {
		return err
	}
	info, err := f.root().Lstat(objectPath(key))
	if missing(err) || err == nil && !info.Mode().IsRegular() {
		return cmp.Or(f.checkPresent(ctx), notFound(key))
	}
	return failed(ctx, err, "find object %q", key)
}

// Path gives the file of an object, for reading only.
func (f *Folder) Path(ctx context.Context, key string) (string, error) {
	if err := f.find(ctx, key); err != nil {
		return "", err
	}
	name := filepath.Join(f.cfg.Dir, objectTree, filepath.FromSlash(key))
	// The open folder may have been moved.
	_, err := os.Lstat(name)
	return name, failed(ctx, err, "find object %q", key)
}

// Delete implements Store.
func (f *Folder) Delete(ctx context.Context, key string) error {
	if err := f.find(ctx, key); err != nil {
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	}
	err := f.root().Remove(objectPath(key))
	dir := path.Dir(objectPath(key))
	if err == nil {
		err = f.syncDir(dir)
	}
	if err = ignoreMissing(err); err != nil {
		return failed(ctx, err, "delete object %q", key)
	}
	// Remove fails for the first folder that is not empty.
	for ; dir != objectTree && f.root().Remove(dir) == nil; dir = path.Dir(dir) {
	}
	return nil
}
