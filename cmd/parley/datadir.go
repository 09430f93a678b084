package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockData makes the data folder when there is none and holds it against every
// other process until it is released, or this one ends.
func lockData(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("the data folder %s is in use by another parley; stop that one, or give this one a folder of its own with --data", dir)
	}
	return lock.Unlock, nil
}
