package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gofrs/flock"
)

const (
	// lockFile is in the data folder, and held by who uses it.
	lockFile = "lock"
	// restoringDir is in a data folder that is being restored.
	restoringDir = "restoring"
)

// lockData makes the data folder when there is none and holds it against every
// other process until it is released, or this one ends.
func lockData(dir string) (release func() error, err error) {
	release, err = holdData(dir)
	if err == nil && restoreCutOff(dir) {
		return nil, errors.Join(fmt.Errorf("a restore into the data folder %s was cut off: run it again, or remove the folder", dir), release())
	}
	return release, err
}

// holdData is lockData for a folder that may be in the middle of a restore.
func holdData(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("the data folder %s is in use by another parley; stop that one, or give this one a folder of its own with --data", dir)
	}
	return lock.Unlock, nil
}

// restoreCutOff reports whether a restore into a folder did not end. The
// database is the last that it puts there.
func restoreCutOff(dir string) bool {
	_, restoring := os.Lstat(filepath.Join(dir, restoringDir))
	_, database := os.Lstat(filepath.Join(dir, databaseFile))
	return restoring == nil && database != nil
}

// syncFolder makes the names in a folder safe against a loss of power.
func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system that has no need of it
	}
	return errors.Join(err, dir.Close())
}

// writeWhole writes a file for its owner alone, whole or not at all, also when the
// power fails.
func writeWhole(path string, text []byte) error {
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
