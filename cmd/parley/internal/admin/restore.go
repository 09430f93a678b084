package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/datadir"
	"parley/cmd/parley/internal/serve"
	"parley/internal/fsync"
	"parley/storage/sqlstore"
)

// Restore is `parley restore`.
type Restore struct {
	File string `arg:"" help:"An archive that parley backup wrote."`
	embeddedSettings
}

// Run restores a data folder from an archive: completely and verified, or not at all.
func (r *Restore) Run(ctx context.Context, env command.Env) (err error) {
	c := env.NewChecker()
	r.embeddedSettings.read(c)
	if err := c.Err(); err != nil {
		return err
	}
	archive, err := os.Open(r.File)
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	defer archive.Close()
	_, missing := os.Stat(r.Data)
	if err := checkEmpty(r.Data); missing == nil && err != nil {
		return err // before anything is put there
	}
	release, err := datadir.LockForRestore(r.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := clearForRestore(r.Data); err != nil {
		return err
	}
	w := restore{data: r.Data, dir: filepath.Join(r.Data, datadir.RestoringDir)}
	if err := w.run(ctx, archive); err != nil {
		return errors.Join(fmt.Errorf("restore %s: %w", r.File, err), w.undo(missing != nil))
	}
	fmt.Fprintf(env.Stderr, "%s: restored, %d files of datasets and uploads, checked\n", r.Data, w.files)
	return nil
}

// checkEmpty refuses a folder with other files than those of an interrupted restore.
func checkEmpty(data string) error {
	entries, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("look at the data folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() != datadir.LockFile && !datadir.RestoreIncomplete(data) {
			return fmt.Errorf("the data folder %s is not empty (%s): restore into another folder, or move its contents away", data, entry.Name())
		}
	}
	return nil
}

// clearForRestore removes the files of an interrupted restore, its mark last.
func clearForRestore(data string) error {
	if err := checkEmpty(data); err != nil {
		return err
	}
	entries, err := os.ReadDir(data)
	for _, entry := range entries {
		if name := entry.Name(); name != datadir.LockFile && name != datadir.RestoringDir {
			err = errors.Join(err, os.RemoveAll(filepath.Join(data, name)))
		}
	}
	if err != nil {
		return fmt.Errorf("clear the data folder: %w", err)
	}
	return os.RemoveAll(filepath.Join(data, datadir.RestoringDir))
}

// restore is a running restore, in a folder within the data folder, which may be a volume.
type restore struct {
	data, dir string
	files     int
}

// undo removes the files of a failed restore, and the data folder if it did not exist.
func (r *restore) undo(folder bool) error {
	if !datadir.RestoreIncomplete(r.data) {
		return nil // it is complete
	}
	if err := clearForRestore(r.data); err != nil {
		return err
	}
	err := os.Remove(filepath.Join(r.data, datadir.LockFile))
	if folder {
		err = errors.Join(err, os.Remove(r.data))
	}
	return err
}

func (r *restore) run(ctx context.Context, archive *os.File) error {
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	if err := r.unpack(ctx, archive); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	return r.publish()
}

// unpack writes the files of the archive and checks their hashes.
func (r *restore) unpack(ctx context.Context, archive *os.File) (err error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	sums, err := root.OpenFile(archiveSums, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sums.Close(), root.Remove(archiveSums)) }()
	folders := map[string]bool{".": true}
	err = readArchive(archive, sums, func(name string, content io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		for dir := path.Dir(name); !folders[dir]; dir = path.Dir(dir) {
			folders[dir] = true
		}
		if err := root.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
			return err
		}
		return unpackFile(root, name, content)
	})
	if err != nil {
		return err
	}
	for folder := range folders {
		err = errors.Join(err, fsync.Dir(filepath.Join(r.dir, filepath.FromSlash(folder))))
	}
	return err
}

// unpackFile writes a file with its mode in a data folder, regardless of the archive and
// the umask.
func unpackFile(root *os.Root, name string, content io.Reader) error {
	mode := os.FileMode(0o600)
	if strings.HasPrefix(name, datadir.ObjectsDir+"/") {
		mode = 0o444 // as objects are
	}
	file, err := root.OpenFile(filepath.FromSlash(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if err = file.Chmod(mode); err == nil {
		_, err = io.Copy(file, content)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// check verifies the database, its schema, and that all of its files exist.
func (r *restore) check(ctx context.Context) (err error) {
	database := filepath.Join(r.dir, datadir.DatabaseFile)
	if _, err := os.Stat(database); err != nil {
		return errors.New("it has no database")
	}
	store, err := sqlstore.Open(ctx, sqlstore.Config{Path: database})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.CheckIntegrity(ctx); err != nil {
		return err
	}
	if err := serve.CheckSchema(ctx, store); err != nil {
		return err
	}
	folder, err := openForReading(filepath.Join(r.dir, datadir.ObjectsDir))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	return store.EachObject(ctx, func(object sqlstore.StoredObject) error {
		path, err := folder.Path(ctx, object.Key)
		if err != nil {
			return fmt.Errorf("a file that its database names is not in it: %w", err)
		}
		info, err := os.Stat(path)
		if err == nil && info.Size() != object.Bytes {
			err = fmt.Errorf("%s has %d bytes, and its database says %d", object.Key, info.Size(), object.Bytes)
		}
		r.files++
		return err
	})
}

// publish moves everything into its place, the database last: it marks a complete
// restore.
func (r *restore) publish() error {
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		if entry.Name() != datadir.DatabaseFile {
			names = append(names, entry.Name())
		}
	}
	for _, name := range append(names, datadir.DatabaseFile) {
		if err := fsync.Dir(r.data); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(r.dir, name), filepath.Join(r.data, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(r.dir); err != nil {
		return err
	}
	return fsync.Dir(r.data)
}
