package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"parley/internal/lru"
	"parley/storage"
)

// FolderFiles has the files of datasets in a [Folder]. It compares them with the records: their
// sizes always, their hashes when they have changed, and by Verify when they could not be
// read. A file whose hash is wrong is compared again at each use, until it is right. It is safe
// for concurrent use.
type FolderFiles struct {
	folder *Folder
	// mu is for changes that depend on what is seen.
	mu   sync.Mutex
	seen *lru.Cache[string, seenFile]
	// hashes are those that run. hashing admits one of them, so that many failures do not load the
	// disk.
	hashes  singleflight.Group
	hashing chan struct{}
}

// seenFile is what is known of a file.
type seenFile struct {
	// modified is the modification time that this is about.
	modified time.Time
	// hashed says that the hash was compared, damaged that it was wrong.
	hashed, damaged bool
}

// maxSeen limits the files that are known.
const maxSeen = 100_000

// NewFolderFiles makes a FolderFiles.
func NewFolderFiles(folder *Folder) *FolderFiles {
	return &FolderFiles{folder: folder, seen: lru.New[string, seenFile](maxSeen), hashing: make(chan struct{}, 1)}
}

// Hold returns the paths of files, in order. A missing or damaged one is storage.ErrNotFound.
func (f *FolderFiles) Hold(ctx context.Context, files []storage.DataFile) (paths []string, release func(), err error) {
	paths = make([]string, len(files))
	for i, file := range files {
		if paths[i], err = f.check(ctx, file, ifChanged); err != nil {
			return nil, nil, err
		}
	}
	return paths, func() {}, nil
}

// Ready is Hold for files that need not be read before. It reports whether they are such.
func (f *FolderFiles) Ready(files []storage.DataFile) (paths []string, release func(), ok bool) {
	paths = make([]string, len(files))
	for i, file := range files {
		var err error
		if paths[i], err = f.check(context.Background(), file, never); err != nil {
			return nil, nil, false
		}
	}
	return paths, func() {}, true
}

// Check is Hold that also looks at the first bytes of files.
func (f *FolderFiles) Check(ctx context.Context, files []storage.DataFile) error {
	if _, _, err := f.Hold(ctx, files); err != nil {
		return err
	}
	return Check(ctx, f.folder, files)
}

// Verify compares the hashes of files, after a failure to read them. It reads a file that it has
// read before only if that has changed. A damaged one is storage.ErrNotFound.
func (f *FolderFiles) Verify(ctx context.Context, files []storage.DataFile) error {
	for _, file := range files {
		if _, err := f.check(ctx, file, unlessHashed); err != nil {
			return err
		}
	}
	return nil
}

// hashWhen says when a check compares the hash.
type hashWhen int

const (
	never hashWhen = iota
	ifChanged
	unlessHashed
)

func (f *FolderFiles) check(ctx context.Context, file storage.DataFile, when hashWhen) (path string, err error) {
	if path, err = f.folder.Path(ctx, file.Key); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", failed(ctx, err, "find object %q", file.Key)
	}
	if info.Size() != file.Bytes {
		return "", fmt.Errorf("%w: the file %s is damaged: %d bytes, not %d", storage.ErrNotFound, file.Key, info.Size(), file.Bytes)
	}
	f.mu.Lock()
	seen, known := f.seen.Get(file.Key)
	if !known {
		seen = seenFile{modified: info.ModTime()}
		f.seen.Put(file.Key, seen, 1)
	}
	f.mu.Unlock()
	changed := !seen.modified.Equal(info.ModTime())
	switch {
	case changed && when == never:
		return "", fmt.Errorf("%w: the file %s has changed", storage.ErrUnavailable, file.Key)
	// A damaged file may have been restored with its time.
	case changed, when == unlessHashed && !seen.hashed, when != never && seen.damaged:
		if seen, err = f.hash(ctx, file); err != nil {
			return "", err
		}
	}
	if seen.damaged {
		return "", fmt.Errorf("%w: the file %s is damaged: its hash is wrong", storage.ErrNotFound, file.Key)
	}
	return path, nil
}

// hash reads a file and records whether its hash is right. It does so once for all callers, and
// goes on when they have ended: a file that takes longer than a query may is readable for the next.
func (f *FolderFiles) hash(ctx context.Context, file storage.DataFile) (seenFile, error) {
	result := f.hashes.DoChan(file.Key, func() (any, error) {
		f.hashing <- struct{}{}
		defer func() { <-f.hashing }()
		return f.compare(context.WithoutCancel(ctx), file)
	})
	select {
	case r := <-result:
		seen, _ := r.Val.(seenFile)
		return seen, r.Err
	case <-ctx.Done():
		return seenFile{}, ctx.Err()
	}
}

func (f *FolderFiles) compare(ctx context.Context, file storage.DataFile) (seenFile, error) {
	body, _, err := f.folder.Open(ctx, file.Key)
	if err != nil {
		return seenFile{}, err
	}
	defer body.Close()
	info, err := body.(*os.File).Stat()
	if err != nil {
		return seenFile{}, failed(ctx, err, "find object %q", file.Key)
	}
	seen, known := f.seen.Get(file.Key)
	if known && seen.hashed && !seen.damaged && seen.modified.Equal(info.ModTime()) {
		return seen, nil // by another caller
	}
	err = copyVerified(io.Discard, body, file)
	if err != nil && !errors.Is(err, errWrong) {
		return seenFile{}, failed(ctx, err, "read object %q", file.Key)
	}
	seen = seenFile{modified: info.ModTime(), hashed: true, damaged: err != nil}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.Put(file.Key, seen, 1)
	return seen, nil
}

// Put stores a copy of a local file.
func (f *FolderFiles) Put(ctx context.Context, key, path string) error {
	if err := f.folder.PutFile(ctx, key, path); err != nil {
		return err
	}
	if path, err := f.folder.Path(ctx, key); err == nil {
		if info, err := os.Lstat(path); err == nil {
			f.seen.Put(key, seenFile{modified: info.ModTime()}, 1)
		}
	}
	return nil
}
