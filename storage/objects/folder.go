package objects

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/fair"
	"parley/internal/fsync"
	"parley/storage"
)

// The two trees in a folder, on one file system so that files can be renamed from
// one to the other.
const (
	wholeTree = "objects" // objects by key
	stageTree = "staging" // a folder for each upload, a file for each PutFile at work
)

const (
	// minSecret is the least a signing key has to have.
	minSecret = 32
	// objectMode lets nobody write to an object, once it is there, and processes of
	// another user read one that they are shown.
	objectMode = 0o444
	// defaultStall is how long 64 KiB may take to come in.
	defaultStall = time.Minute
	// defaultQueueTimeout is less than clients wait for a sign of life.
	defaultQueueTimeout = 10 * time.Second
)

// defaultQueue lets a user send four files at once, as clients do it, and takes 16
// MiB for the parts that all of them send.
var defaultQueue = fair.Config{What: "parts of uploads", Slots: 256, SlotsPerUser: 16, MaxQueued: 1024, MaxQueuedPerUser: 64}

// FolderConfig says where a Folder is and how its parts reach it.
type FolderConfig struct {
	// Dir is the folder. It is made when it does not exist.
	Dir string
	// Secret signs the addresses of parts; at least 32 bytes.
	Secret []byte
	// BaseURL gives the address under which clients reach Parley, such as
	// https://example.com/api/v1. Parts go to BaseURL + PartPath. It gets the
	// context of PartURL.
	BaseURL func(ctx context.Context) string
	// Queue says how many parts come in at once, and how many may wait for that
	// without being read; 256, of one user 16, and 1,024, of one user 64, when it is
	// the zero value.
	Queue fair.Config
	// QueueTimeout is how long one waits before it is to be sent again later; ten seconds
	// when 0.
	QueueTimeout time.Duration
	// Stall is how long a client may take for 64 KiB before it is cut off; a minute
	// when 0.
	Stall time.Duration
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// PartPath is where, below FolderConfig.BaseURL, Handler must be served.
const PartPath = "/objects/parts"

// Folder is a Store in a folder on disk. What it has said it keeps, it keeps
// through a loss of power.
type Folder struct {
	opened atomic.Pointer[os.Root]
	cfg    FolderConfig
	locks  locks
	queue  *fair.Queue
}

var _ Store = (*Folder)(nil)

// OpenFolder opens the Folder in cfg.Dir. Several processes may have the same one
// open.
func OpenFolder(cfg FolderConfig) (*Folder, error) {
	switch {
	case cfg.Dir == "":
		return nil, errors.New("open the object folder: no folder was named")
	case len(cfg.Secret) < minSecret:
		return nil, fmt.Errorf("open the object folder: the signing key must have at least %d bytes", minSecret)
	case cfg.BaseURL == nil:
		return nil, errors.New("open the object folder: no base URL was given")
	}
	if cfg.Stall <= 0 {
		cfg.Stall = defaultStall
	}
	if cfg.Queue == (fair.Config{}) {
		cfg.Queue = defaultQueue
	}
	if cfg.QueueTimeout <= 0 {
		cfg.QueueTimeout = defaultQueueTimeout
	}
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
	for _, tree := range []string{wholeTree, stageTree} {
		if err := f.mkdir(".", tree); err != nil {
			return nil, errors.Join(fmt.Errorf("make the object folder: %w", err), root.Close())
		}
	}
	return f, nil
}

// root is the folder that is open.
func (f *Folder) root() *os.Root { return f.opened.Load() }

// inPlace is ErrUnavailable when the folder, or a tree in it, is gone. Neither is
// made anew: what the records name would be missing in it. One that is back is
// opened, for the next operation.
func (f *Folder) inPlace(ctx context.Context) error {
	there, err := os.Stat(f.cfg.Dir)
	if err != nil {
		return failed(ctx, err, "find the object folder")
	}
	for _, tree := range []string{wholeTree, stageTree} {
		if _, err := os.Stat(filepath.Join(f.cfg.Dir, tree)); err != nil {
			return failed(ctx, err, "find the object folder's %s", tree)
		}
	}
	was := f.root()
	if opened, err := was.Stat("."); err == nil && os.SameFile(opened, there) {
		return nil
	}
	root, err := os.OpenRoot(f.cfg.Dir)
	if err != nil {
		return failed(ctx, err, "open the object folder")
	}
	if !f.opened.CompareAndSwap(was, root) {
		_ = root.Close() // somebody else was faster
	}
	// The old one may still be in use, and is closed when it is not.
	return failed(ctx, errors.New("another folder is in its place now"), "use the object folder")
}

// Close lets go of the folder. Nothing may be under way.
func (f *Folder) Close() error { return f.root().Close() }

// QueueStats says how many parts are coming in, and how many wait for that.
func (f *Folder) QueueStats() fair.Stats { return f.queue.Stats() }

// Bucket implements Store.
func (f *Folder) Bucket() string { return "local" }

// Name implements Store.
func (f *Folder) Name(key string) string { return key }

// Ping implements Store: a file can be written.
func (f *Folder) Ping(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := f.inPlace(ctx); err != nil {
		return err
	}
	probe := path.Join(stageTree, "put-"+rand.Text())
	if err := f.root().WriteFile(probe, nil, 0o600); err != nil {
		return failed(ctx, err, "write to the object folder")
	}
	if err := f.root().Remove(probe); err != nil {
		return failed(ctx, err, "write to the object folder")
	}
	return nil
}

// checkUpload reports whether an upload is one that Begin can have made.
func checkUpload(upload Upload) error {
	if err := validKey(upload.Key); err != nil {
		return err
	}
	if upload.ID == "" || len(upload.ID) > maxKey || checkText(upload.ID) != "" {
		return noUpload()
	}
	return nil
}

// stage is the folder of an upload. As its name is made from the key too, an upload
// is found under its own key alone.
func stage(upload Upload) string {
	sum := sha256.Sum256([]byte(upload.ID + "\n" + upload.Key))
	return path.Join(stageTree, "up-"+hex.EncodeToString(sum[:16]))
}

func whole(key string) string { return wholeTree + "/" + key }

// create makes the file that becomes an object. The umask does not count.
func (f *Folder) create(name string) (*os.File, error) {
	file, err := f.root().OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, objectMode)
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(objectMode); err != nil {
		return nil, errors.Join(err, file.Close(), f.root().Remove(name))
	}
	return file, nil
}

// place moves a finished file to where objects are, safe against power loss.
func (f *Folder) place(ctx context.Context, from, key string) error {
	to := whole(key)
	for {
		err := f.mkdirs(path.Dir(to))
		if err == nil {
			err = f.root().Rename(from, to)
		}
		if err == nil {
			// Gone again means deleted again, folder and all.
			err = ignoreMissing(f.syncDir(path.Dir(to)))
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return failed(ctx, err, "put object %q in its place", key)
		case missing(err) && !blocked(err) && f.exists(from) && f.exists(wholeTree):
			// Delete has just removed a folder that had become empty.
		case blocked(err):
			return storage.Errorf(storage.ErrConflict, "another object's key is the beginning of %q, or it of theirs", key)
		default:
			return failed(ctx, err, "put object %q in its place", key)
		}
	}
}

// mkdirs makes the folders of a tree, which must be there, down to dir.
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

// mkdir makes a folder unless it is there, safe against power loss.
func (f *Folder) mkdir(in, name string) error {
	err := f.root().Mkdir(path.Join(in, name), 0o700)
	if errors.Is(err, os.ErrExist) {
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
