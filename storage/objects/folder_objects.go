package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"parley/storage"
)

// PutFile implements Store.
func (f *Folder) PutFile(ctx context.Context, key, name string) (Object, error) {
	if err := validKey(key); err != nil {
		return Object{}, err
	}
	from, size, err := openFile(name)
	if err != nil {
		return Object{}, err
	}
	defer from.Close()
	if err := f.inPlace(ctx); err != nil {
		return Object{}, err
	}
	tmp := path.Join(stageTree, "put-"+rand.Text())
	if err := f.write(ctx, tmp, from, size); err != nil {
		_ = f.root().Remove(tmp) // what stays is swept
		return Object{}, failed(ctx, err, "write object %q", key)
	}
	if err := f.place(ctx, tmp, key); err != nil {
		_ = f.root().Remove(tmp)
		return Object{}, err
	}
	object, _, err := f.stat(ctx, key)
	return object, err
}

func (f *Folder) write(ctx context.Context, name string, from io.Reader, size int64) error {
	to, err := f.create(name)
	if err != nil {
		return err
	}
	if err = copyFile(ctx, to, from, size); err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// Open implements Store.
func (f *Folder) Open(ctx context.Context, key string) (io.ReadCloser, Object, error) {
	file, object, err := f.open(ctx, key)
	if err != nil {
		return nil, Object{}, err
	}
	return file, object, nil
}

func (f *Folder) open(ctx context.Context, key string) (*os.File, Object, error) {
	if err := validKey(key); err != nil {
		return nil, Object{}, err
	}
	if err := ctx.Err(); err != nil {
		return nil, Object{}, err
	}
	file, err := f.root().Open(whole(key))
	if missing(err) {
		return nil, Object{}, cmp.Or(f.inPlace(ctx), notFound(key))
	}
	if err != nil {
		return nil, Object{}, failed(ctx, err, "open object %q", key)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, Object{}, errors.Join(failed(ctx, err, "open object %q", key), file.Close())
	case !info.Mode().IsRegular():
		_ = file.Close()
		return nil, Object{}, notFound(key)
	}
	return file, Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

// stat gives an object, and whether it is there.
func (f *Folder) stat(ctx context.Context, key string) (Object, bool, error) {
	info, err := f.root().Lstat(whole(key))
	switch {
	case missing(err) || err == nil && !info.Mode().IsRegular():
		return Object{}, false, cmp.Or(f.inPlace(ctx), notFound(key))
	case err != nil:
		return Object{}, false, failed(ctx, err, "look at object %q", key)
	}
	return Object{Key: key, Size: info.Size(), Modified: info.ModTime()}, true, nil
}

// Path gives the file that an object is, for reading in place. It must not be
// changed.
func (f *Folder) Path(ctx context.Context, key string) (string, error) {
	if err := validKey(key); err != nil {
		return "", err
	}
	if _, _, err := f.stat(ctx, key); err != nil {
		return "", err
	}
	name := filepath.Join(f.cfg.Dir, wholeTree, filepath.FromSlash(key))
	if _, err := os.Lstat(name); err != nil {
		// The folder that is open is somewhere else now.
		return "", failed(ctx, err, "find object %q", key)
	}
	return name, nil
}

// Fetch implements Store.
func (f *Folder) Fetch(ctx context.Context, key, name string) error {
	from, object, err := f.open(ctx, key)
	if err != nil {
		return err
	}
	defer from.Close()
	return fetch(ctx, object, from, name)
}

// Delete implements Store.
func (f *Folder) Delete(ctx context.Context, key string) error {
	if err := validKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	_, there, err := f.stat(ctx, key)
	if !there {
		if errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		return err
	}
	err = f.root().Remove(whole(key))
	dir := path.Dir(whole(key))
	if err == nil {
		err = f.syncDir(dir)
	}
	if ignoreMissing(err) != nil {
		return failed(ctx, err, "delete object %q", key)
	}
	// Only empty folders can be removed so.
	for ; dir != wholeTree && f.root().Remove(dir) == nil; dir = path.Dir(dir) {
	}
	return nil
}

// List implements Store. It has the names in one folder in memory at a time, and in
// those above it.
func (f *Folder) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if problem := checkPrefix(prefix); problem != "" {
			yield(Object{}, storage.Errorf(storage.ErrInvalid, "the prefix %s", problem))
			return
		}
		if err := f.inPlace(ctx); err != nil {
			yield(Object{}, err)
			return
		}
		dir := prefix[:strings.LastIndexByte(prefix, '/')+1]
		f.walk(ctx, dir, prefix, yield)
	}
}

// walk yields what is below a folder, whose name is "" or ends with a slash. It
// returns whether to go on.
func (f *Folder) walk(ctx context.Context, dir, prefix string, yield func(Object, error) bool) bool {
	keys, err := f.keys(dir)
	if err != nil {
		yield(Object{}, failed(ctx, err, "list the objects in %q", dir))
		return false
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			yield(Object{}, fmt.Errorf("list the objects in %q: %w", dir, context.Cause(ctx)))
			return false
		}
		if !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key) {
			continue
		}
		if strings.HasSuffix(key, "/") {
			if !f.walk(ctx, key, prefix, yield) {
				return false
			}
			continue
		}
		object, there, err := f.stat(ctx, key)
		switch {
		case errors.Is(err, storage.ErrNotFound) || there && !strings.HasPrefix(key, prefix):
			continue
		case err != nil:
			yield(Object{}, err)
			return false
		case !yield(object, nil):
			return false
		}
	}
	return true
}

// keys lists a folder in the order of the keys in it: a folder's, with the slash
// that they go on with, comes after a file's that goes on with a dash.
func (f *Folder) keys(dir string) ([]string, error) {
	file, err := f.root().Open(path.Join(wholeTree, dir))
	if err != nil {
		return nil, ignoreMissing(err)
	}
	entries, err := file.ReadDir(-1)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, ignoreMissing(err)
	}
	keys := make([]string, len(entries))
	for i, entry := range entries {
		keys[i] = dir + entry.Name()
		if entry.IsDir() {
			keys[i] += "/"
		}
	}
	slices.Sort(keys)
	return keys, nil
}
