// Package admin has the commands of an operator: backup and restore of a data folder,
// migration of the database, tokens.
package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/fsync"
	"parley/storage/objects"
	"parley/storage/sqlstore"
)

// Backup is `parley backup`.
type Backup struct {
	File string `arg:"" help:"The archive to write. It must not exist."`
	embeddedSettings
}

// embeddedSettings are those of a command that supports only data folders. The settings
// of databases and buckets are read to refuse them.
type embeddedSettings struct {
	Data        string `default:"./parley-data" placeholder:"DIR" help:"The data folder (${default})."`
	DatabaseURL string `hidden:""`
	Objects     string `hidden:""`
}

func (s embeddedSettings) read(c *command.Checker) {
	if s.Data == "" {
		c.Refuse("data", "must name a folder")
	}
	const elsewhere = "is set: this is for data folders alone; docs/running.md#backup-and-restore says how databases and buckets are backed up"
	if s.DatabaseURL != "" {
		c.Refuse("database-url", elsewhere)
	}
	if s.Objects != "" {
		c.Refuse("objects", elsewhere)
	}
}

const (
	// holdFor is for how long a server is kept from removing files at a time.
	holdFor = time.Minute
	// backupAttempts is how often a backup starts again because a file was removed.
	backupAttempts = 5
	// progressInterval is how often the progress is printed.
	progressInterval = 2 * time.Second
)

// Run writes the archive in a folder beside it, verifies it and then renames it: a file of
// that name is a complete backup.
func (b *Backup) Run(ctx context.Context, env command.Env) (err error) {
	c := env.NewChecker()
	b.embeddedSettings.read(c)
	c.NotEmpty("FILE", b.File)
	if err := c.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(b.File); err == nil {
		return fmt.Errorf("%s is there already", b.File)
	}
	if _, err := os.Stat(filepath.Join(b.Data, datadir.DatabaseFile)); err != nil {
		return fmt.Errorf("the data folder %s has no database: %w", b.Data, err)
	}
	store, err := sqlstore.Open(ctx, sqlstore.Config{Path: filepath.Join(b.Data, datadir.DatabaseFile)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	dir, done, err := partial(b.File)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	stop, err := keepFiles(ctx, store)
	if err != nil {
		return err
	}
	defer stop()
	w := backup{version: env.Version, data: b.Data, dir: dir, store: store, progress: env.Stderr}
	if err := w.create(ctx); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if err := w.publish(b.File); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	fmt.Fprintf(env.Stderr, "%s: %d files, %s, checked\n", b.File, w.files, console.Bytes(w.bytes))
	return nil
}

// partial creates and locks the folder in which a file is prepared, beside it. It clears
// what an earlier process left.
func partial(file string) (dir string, done func() error, err error) {
	dir = file + ".partial"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make a folder for the backup: %w", err)
	}
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	locked, err := lock.TryLock()
	if err != nil {
		return "", nil, fmt.Errorf("lock the folder for the backup: %w", err)
	}
	if !locked {
		return "", nil, fmt.Errorf("another backup to %s is being made", file)
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return dir, func() error { return errors.Join(os.RemoveAll(dir), lock.Close()) }, err
}

// keepFiles keeps a server from removing orphaned files, until stop.
func keepFiles(ctx context.Context, store *sqlstore.Store) (stop func(), err error) {
	if err := store.KeepOrphans(ctx, holdFor); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(holdFor / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				// If it fails and a file is removed, the backup starts again.
				_ = store.KeepOrphans(ctx, holdFor)
			}
		}
	}()
	return func() { cancel(); <-ended }, nil
}

// backup is a running backup.
type backup struct {
	version   string
	data, dir string
	store     *sqlstore.Store
	progress  io.Writer

	files      int
	bytes      int64
	lastReport time.Time
}

// create writes the archive and verifies it. If a server removes a file before it was
// copied, the backup starts again with the current records.
func (b *backup) create(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := b.write(ctx)
		if err == nil {
			return b.verify(ctx)
		}
		if !errors.Is(err, domain.ErrNotFound) || ctx.Err() != nil {
			return err
		}
		if attempt == backupAttempts {
			return fmt.Errorf("the records refer to a file that is not in the data folder (are the files in a bucket?): %w", err)
		}
		fmt.Fprintln(b.progress, "a file was removed during the backup; starting again")
	}
}

func (b *backup) path(name string) string { return filepath.Join(b.dir, name) }

func (b *backup) write(ctx context.Context) (err error) {
	b.files, b.bytes, b.lastReport = 0, 0, time.Now()
	if err := os.RemoveAll(b.path(datadir.DatabaseFile)); err != nil {
		return err
	}
	fmt.Fprintln(b.progress, "copying the database")
	if err := b.store.Snapshot(ctx, b.path(datadir.DatabaseFile)); err != nil {
		return err
	}
	archive, err := os.OpenFile(b.path("archive"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, archive.Close()) }()
	sums, err := os.OpenFile(b.path(archiveSums), os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer sums.Close()
	to, err := newArchive(archive, sums, b.version)
	if err != nil {
		return err
	}
	if err := b.addObjects(ctx, to); err != nil {
		return err
	}
	if err := to.addFile(datadir.DatabaseFile, b.path(datadir.DatabaseFile)); err != nil {
		return err
	}
	err = to.addFile(auth.LocalKeyFile, filepath.Join(b.data, auth.LocalKeyFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // there is none if tokens have another source
		return err
	}
	if err := to.close(); err != nil {
		return err
	}
	return archive.Sync()
}

func (b *backup) addObjects(ctx context.Context, to *archiveWriter) error {
	copied, err := sqlstore.Open(ctx, sqlstore.Config{Path: b.path(datadir.DatabaseFile)})
	if err != nil {
		return err
	}
	folder, err := openForReading(filepath.Join(b.data, datadir.ObjectsDir))
	if err != nil {
		return errors.Join(err, copied.Close())
	}
	err = copied.EachObject(ctx, func(object sqlstore.StoredObject) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return b.addObject(ctx, to, folder, object)
	})
	// The database file is complete only when it is closed.
	return errors.Join(err, folder.Close(), copied.Close())
}

func (b *backup) addObject(ctx context.Context, to *archiveWriter, folder *objects.Folder, object sqlstore.StoredObject) error {
	content, size, err := folder.Open(ctx, object.Key)
	if err != nil {
		return err
	}
	defer content.Close()
	path, err := folder.Path(ctx, object.Key)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(b.data, path)
	if err != nil {
		return err
	}
	hash, err := to.add(filepath.ToSlash(name), size, content)
	if err != nil {
		return err
	}
	if size != object.Bytes || object.SHA256 != "" && hash != object.SHA256 {
		return fmt.Errorf("%s is damaged: it does not match the records; restore it from an earlier backup, or replace or delete its dataset", path)
	}
	b.copied(size)
	return nil
}

// openForReading opens a folder of objects to read them, without signed URLs.
func openForReading(dir string) (*objects.Folder, error) {
	return objects.OpenFolder(objects.FolderConfig{
		Dir:     dir,
		Secret:  []byte(rand.Text() + rand.Text()),
		BaseURL: func(context.Context) string { return "" },
	})
}

func (b *backup) copied(size int64) {
	b.files, b.bytes = b.files+1, b.bytes+size
	if time.Since(b.lastReport) > progressInterval {
		b.lastReport = time.Now()
		fmt.Fprintf(b.progress, "copied %d files, %s\n", b.files, console.Bytes(b.bytes))
	}
}

func (b *backup) verify(ctx context.Context) error {
	fmt.Fprintln(b.progress, "reading it back")
	archive, err := os.Open(b.path("archive"))
	if err != nil {
		return err
	}
	defer archive.Close()
	sums, err := os.CreateTemp(b.dir, "sums-")
	if err != nil {
		return err
	}
	defer sums.Close()
	return readArchive(archive, sums, func(string, io.Reader) error { return ctx.Err() })
}

// publish gives the archive its name, durably. It overwrites no other file.
func (b *backup) publish(file string) error {
	if err := os.Link(b.path("archive"), file); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already", file)
		}
		// Not every file system has links.
		if err := os.Rename(b.path("archive"), file); err != nil {
			return err
		}
	}
	return fsync.Dir(filepath.Dir(file))
}
