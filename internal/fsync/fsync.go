// Package fsync makes the names in a folder safe against power loss.
package fsync

import (
	"errors"
	"os"
	"syscall"
)

// Dir makes the names in a folder safe.
func Dir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return Close(dir)
}

// Close makes the names in an open folder safe, and closes it.
func Close(dir *os.File) error {
	err := dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // a file system that has no need of it
	}
	return errors.Join(err, dir.Close())
}
