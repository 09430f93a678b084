package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sync/singleflight"

	"parley/internal/domain"
	"parley/internal/lru"
)

// FolderFiles has the files of datasets in a [Folder]. It compares them with the records: their
// sizes always, their hashes at the first use in this process and when they have changed, and
// by Verify when they could not be read. It trusts those that it has stored. A file whose hash is
// wrong is compared again at each use, until it is right. It is safe for concurrent use.
type FolderFiles struct {
	folder *Folder
	seen   *lru.Cache[string, seenFile]
	// hashes are those that run. hashing admits a few of them, so that they do not load the disk.
	hashes  singleflight.Group
	hashing chan struct{}
}

// seenFile is what is known of a file.
type seenFile struct {
	// modified is the modification time that this is about.
	modified time.Time
	// hashed says that the hash was compared, damaged that it was wrong. Neither: this process
	// has stored the file.
	hashed, damaged bool
}

const (
	// maxSeen limits the files that are known.
	maxSeen = 100_000
	// maxHashes limits the files that are read at once to compare their hashes.
	maxHashes = 2
)

// NewFolderFiles makes a FolderFiles.
func NewFolderFiles(folder *Folder) *FolderFiles {
	return &FolderFiles{folder: folder, seen: lru.New[string, seenFile](maxSeen), hashing: make(chan struct{}, maxHashes)}
}

// Hold returns the paths of files, in order. A missing or damaged one is domain.ErrNotFound.
func (f *FolderFiles) Hold(ctx context.Context, files []domain.DataFile) (paths []string, release func(), err error) {
	paths = make([]string, len(files))
	for i, file := range files {
		if paths[i], err = f.check(ctx, file, ifChanged); err != nil {
			return nil, nil, err
		}
	}
	return paths, func() {}, nil
}

// Ready is Hold for files that need not be read before. It reports whether they are such.
func (f *FolderFiles) Ready(files []domain.DataFile) (paths []string, release func(), ok bool) {
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
func (f *FolderFiles) Check(ctx context.Context, files []domain.DataFile) error {
	if _, _, err := f.Hold(ctx, files); err != nil {
		return err
	}
	return Check(ctx, f.folder, files)
}

// Verify compares the hashes of files, after a failure to read them. It reads a file that it has
// read before only if that has changed. A damaged one is domain.ErrNotFound.
func (f *FolderFiles) Verify(ctx context.Context, files []domain.DataFile) error {
	for _, file := range files {
		if _, err := f.check(ctx, file, unlessHashed); err != nil {
			return err
		}
	}
	return nil
}

// Compare compares the hashes of files, always. A damaged one is domain.ErrNotFound.
func (f *FolderFiles) Compare(ctx context.Context, files []domain.DataFile) error {
	for _, file := range files {
		if _, err := f.check(ctx, file, always); err != nil {
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
	always
)

func (f *FolderFiles) check(ctx context.Context, file domain.DataFile, when hashWhen) (path string, err error) {
	if path, err = f.folder.Path(ctx, file.Key); err != nil {
		return "", err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", failed(ctx, err, "find object %q", file.Key)
	}
	if info.Size() != file.Bytes {
		return "", fmt.Errorf("%w: the file %s is damaged: %d bytes, not %d", domain.ErrNotFound, file.Key, info.Size(), file.Bytes)
	}
	seen, known := f.seen.Get(file.Key)
	changed := !known || !seen.modified.Equal(info.ModTime())
	switch {
	case changed && when == never:
		return "", fmt.Errorf("%w: the file %s is new or has changed", domain.ErrUnavailable, file.Key)
	// A damaged file may have been restored with its time.
	case changed, when == always, when == unlessHashed && !seen.hashed, when != never && seen.damaged:
		if seen, err = f.hash(ctx, file, when == always); err != nil {
			return "", err
		}
	}
	if seen.damaged {
		return "", fmt.Errorf("%w: the file %s is damaged: its hash is wrong", domain.ErrNotFound, file.Key)
	}
	return path, nil
}

// hash reads a file and records whether its hash is right. It does so once for all callers, and
// goes on when they have ended: a file that takes longer than a query may is readable for the next.
func (f *FolderFiles) hash(ctx context.Context, file domain.DataFile, always bool) (seenFile, error) {
	result := f.hashes.DoChan(fmt.Sprint(always, file.Key), func() (any, error) {
		f.hashing <- struct{}{}
		defer func() { <-f.hashing }()
		return f.compare(context.WithoutCancel(ctx), file, always)
	})
	select {
	case r := <-result:
		seen, _ := r.Val.(seenFile)
		return seen, r.Err
	case <-ctx.Done():
		return seenFile{}, waitError(ctx)
	}
}

func (f *FolderFiles) compare(ctx context.Context, file domain.DataFile, always bool) (seenFile, error) {
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
	if !always && known && seen.hashed && !seen.damaged && seen.modified.Equal(info.ModTime()) {
		return seen, nil // by another caller
	}
	err = copyVerified(io.Discard, &slotReader{Reader: body, slots: f.hashing, left: copyStep}, file)
	if err != nil && !errors.Is(err, errWrong) {
		return seenFile{}, failed(ctx, err, "read object %q", file.Key)
	}
	seen = seenFile{modified: info.ModTime(), hashed: true, damaged: err != nil}
	f.seen.Put(file.Key, seen, 1)
	return seen, nil
}

// slotReader reads while it has one of the slots. After each copyStep it waits for another, behind
// those that wait already: a small file does not wait for all of a large one.
type slotReader struct {
	io.Reader
	slots chan struct{}
	left  int
}

func (r *slotReader) Read(to []byte) (int, error) {
	if r.left <= 0 {
		<-r.slots
		r.slots <- struct{}{}
		r.left = copyStep
	}
	n, err := r.Reader.Read(to)
	r.left -= n
	return n, err
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
