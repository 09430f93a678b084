package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/fsync"
	"parley/internal/lru"
)

// The two trees in a folder, on one file system so that files can be renamed.
const (
	objectTree = "objects" // objects by key
	stageTree  = "staging" // a folder for each upload, a file for each running PutFile
)

const (
	minSecret = 32 // bytes of a signing key
	// objectMode prevents writes. Workers, which may be another user, can read.
	objectMode = 0o444
)

// defaultQueue lets a user send four files at once, as clients do, and bounds the
// memory for the parts of all users to 16 MiB, and 64 KiB for each user beyond. Clients that send
// slowly keep nobody else waiting.
var defaultQueue = fair.Config{What: "parts of uploads", Slots: 256, SlotsPerUser: 16, MaxQueued: 1024, MaxQueuedPerUser: 64, FirstImmediately: true}

// FolderConfig is the configuration of a Folder.
type FolderConfig struct {
	// Dir is the folder. It is created if it does not exist.
	Dir string
	// Secret signs the addresses of parts; at least 32 bytes.
	Secret []byte
	// BaseURL returns the address under which clients reach Parley, such as
	// https://example.com/api/v1. It gets the context of PartURL.
	BaseURL func(ctx context.Context) string
	// Queue limits the parts that are received at once and that wait; zero for
	// defaultQueue.
	Queue fair.Config
	// QueueTimeout is how long a part waits; 0 for ten seconds, less than clients wait.
	QueueTimeout time.Duration
	// Stall is how long a client may take for 64 KiB; 0 for a minute.
	Stall time.Duration
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// PartPath is where, below FolderConfig.BaseURL, ServePart must be served.
const PartPath = "/objects/parts"

// Folder is a Store in a folder on disk. What it has confirmed survives a loss of power.
type Folder struct {
	opened atomic.Pointer[os.Root]
	cfg    FolderConfig
	locks  locks
	queue  *fair.Queue
	// receiving counts the bytes of the parts that come in.
	receiving atomic.Int64
}

var _ Store = (*Folder)(nil)

// OpenFolder opens the Folder in cfg.Dir. Several processes may share it.
func OpenFolder(cfg FolderConfig) (*Folder, error) {
	switch {
	case len(cfg.Secret) < minSecret:
		return nil, fmt.Errorf("open the object folder: the signing key must have at least %d bytes", minSecret)
	case cfg.BaseURL == nil:
		return nil, errors.New("open the object folder: no base URL was given")
	}
	cfg.Stall = cmp.Or(cfg.Stall, time.Minute)
	cfg.Queue = cmp.Or(cfg.Queue, defaultQueue)
	cfg.QueueTimeout = cmp.Or(cfg.QueueTimeout, 10*time.Second)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the object folder: %w", err)
	}
	root, err := os.OpenRoot(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the object folder: %w", err)
	}
	f := &Folder{cfg: cfg, queue: fair.New(cfg.Queue)}
	f.opened.Store(root)
	if err := cmp.Or(f.mkdir(".", objectTree), f.mkdir(".", stageTree)); err != nil {
		return nil, errors.Join(fmt.Errorf("make the object folder: %w", err), root.Close())
	}
	return f, nil
}

func (f *Folder) root() *os.Root { return f.opened.Load() }

// checkPresent is ErrUnavailable when the folder, or a tree in it, has vanished: a new one
// would lack the recorded objects. It opens a folder that is back.
func (f *Folder) checkPresent(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := os.Stat(f.cfg.Dir)
	for _, tree := range []string{objectTree, stageTree} {
		if err == nil {
			_, err = os.Stat(filepath.Join(f.cfg.Dir, tree))
		}
	}
	if err != nil {
		return failed(ctx, err, "find the object folder")
	}
	old := f.root()
	if opened, err := old.Stat("."); err == nil && os.SameFile(opened, now) {
		return nil
	}
	root, err := os.OpenRoot(f.cfg.Dir)
	if err != nil {
		return failed(ctx, err, "open the object folder")
	}
	if !f.opened.CompareAndSwap(old, root) {
		_ = root.Close() // another goroutine was faster
	}
	// The old one may be in use: the garbage collector closes it.
	return failed(ctx, errors.New("another folder is in its place now"), "use the object folder")
}

// Close closes the folder. No operation may be running.
func (f *Folder) Close() error { return f.root().Close() }

// QueueStats returns the numbers of parts that are being received and that wait.
func (f *Folder) QueueStats() fair.Stats { return f.queue.Stats() }

// Bucket implements Store.
func (f *Folder) Bucket() string { return "local" }

// Name implements Store.
func (f *Folder) Name(key string) string { return key }

// Ping implements Store: it writes a file.
func (f *Folder) Ping(ctx context.Context) error {
	if err := f.checkPresent(ctx); err != nil {
		return err
	}
	probe := path.Join(stageTree, "put-"+rand.Text())
	err := f.root().WriteFile(probe, nil, 0o600)
	if err == nil {
		err = f.root().Remove(probe)
	}
	return failed(ctx, err, "write to the object folder")
}

func objectPath(key string) string { return objectTree + "/" + key }

// write creates a file of what fill writes and makes it safe against power loss. After
// an error it removes the file.
func (f *Folder) write(name string, mode fs.FileMode, fill func(*os.File) error) error {
	file, err := f.root().OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if err = file.Chmod(mode); err == nil { // whatever the umask
		err = fill(file)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		_ = f.root().Remove(name) // what stays is swept
	}
	return err
}

// publish renames a finished file to its object's name, safe against power loss.
func (f *Folder) publish(ctx context.Context, from, key string) error {
	to := objectPath(key)
	for {
		err := f.mkdirs(path.Dir(to))
		if err == nil {
			err = f.root().Rename(from, to)
		}
		if err == nil {
			// A missing folder means that the object has been deleted again.
			err = ignoreMissing(f.syncDir(path.Dir(to)))
		}
		switch {
		case err == nil:
			return nil
		case blocked(err):
			return domain.Errorf(domain.ErrConflict, "another object's key is the beginning of %q, or it of theirs", key)
		case ctx.Err() == nil && missing(err) && f.exists(from) && f.exists(objectTree):
			// Delete has just removed a folder that had become empty.
		default:
			return failed(ctx, err, "publish object %q", key)
		}
	}
}

// mkdirs creates the folders of a tree, which must exist, down to dir.
func (f *Folder) mkdirs(dir string) error {
	info, err := f.root().Stat(dir)
	if err == nil && info.IsDir() {
		return nil
	}
	at, below, nested := strings.Cut(dir, "/")
	if !nested {
		return err
	}
	for segment := range strings.SplitSeq(below, "/") {
		if err := f.mkdir(at, segment); err != nil {
			return err
		}
		at = path.Join(at, segment)
	}
	return nil
}

// mkdir creates a folder unless it exists, safe against power loss.
func (f *Folder) mkdir(in, name string) error {
	err := f.root().Mkdir(path.Join(in, name), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.syncDir(in)
}

// syncDir makes the names in a folder safe against power loss.
func (f *Folder) syncDir(name string) error {
	dir, err := f.root().Open(name)
	if err != nil {
		return err
	}
	return fsync.Close(dir)
}

func (f *Folder) exists(name string) bool {
	_, err := f.root().Lstat(name)
	return err == nil
}

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

// ReadStart implements Store.
func (f *Folder) ReadStart(ctx context.Context, key string, n int) ([]byte, int64, error) {
	body, size, err := f.Open(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	defer body.Close()
	start, err := io.ReadAll(io.LimitReader(body, int64(n)))
	return start, size, failed(ctx, err, "read object %q", key)
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

// Path returns the file of an object, for reading only.
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
		if errors.Is(err, domain.ErrNotFound) {
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

// Source returns the path of an object.
func (f *FolderFiles) Source(ctx context.Context, key, _ string) (string, error) {
	return f.folder.Path(ctx, key)
}

// Delete removes an object, if it exists.
func (f *FolderFiles) Delete(ctx context.Context, key string) error { return f.folder.Delete(ctx, key) }
