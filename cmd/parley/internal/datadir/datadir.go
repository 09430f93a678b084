// Package datadir has the layout of the data folder, and locks it.
package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// The content of a data folder.
const (
	// DatabaseFile is the embedded database.
	DatabaseFile = "parley.db"
	// ObjectsDir has uploads and the files of datasets.
	ObjectsDir = "objects"
	// CacheDir has cached files of datasets that are in a bucket.
	CacheDir = "cache"
	// WorkDir has the files of running ingestions.
	WorkDir = "work"
	// LockFile is locked by the process that uses the folder.
	LockFile = "lock"
	// RestoringDir exists while the folder is being restored.
	RestoringDir = "restoring"
)

// Lock creates the data folder if it does not exist, and locks it against other processes
// until release or the end of this one.
func Lock(dir string) (release func() error, err error) {
	release, err = LockForRestore(dir)
	if err == nil && RestoreIncomplete(dir) {
		return nil, errors.Join(fmt.Errorf("a restore into the data folder %s was interrupted: run it again, or remove the folder", dir), release())
	}
	return release, err
}

// LockForRestore is Lock for a folder that may be in the middle of a restore.
func LockForRestore(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, LockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("the data folder %s is in use by another parley; stop it, or choose another folder with --data", dir)
	}
	return lock.Unlock, nil
}

// RestoreIncomplete reports whether a restore was interrupted. It restores the database
// last.
func RestoreIncomplete(dir string) bool {
	_, restoring := os.Lstat(filepath.Join(dir, RestoringDir))
	_, database := os.Lstat(filepath.Join(dir, DatabaseFile))
	return restoring == nil && database != nil
}

// WriteFile writes a file for its owner alone, atomically.
func WriteFile(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
