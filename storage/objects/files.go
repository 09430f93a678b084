package objects

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/internal/fsync"
)

// copyStep is how much is copied between two checks of the context.
const copyStep = 32 << 20

// copyFile copies exactly size bytes. Between files the kernel copies where it can.
func copyFile(ctx context.Context, to *os.File, from io.Reader, size int64) error {
	for size > 0 && ctx.Err() == nil {
		n, err := io.CopyN(to, from, min(size, copyStep))
		size -= n
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// openFile opens a local file for PutFile. Its absence is the caller's fault, not the
// store's.
func openFile(name string) (*os.File, int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file to store: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open the file to store: %w", err), file.Close())
	}
	return file, info.Size(), nil
}

// createFile creates a local file, which must not exist.
func createFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// Fetch copies an object to a local file. After an error that is as it was before.
func Fetch(ctx context.Context, from Store, key, path string) error {
	body, size, err := from.Open(ctx, key)
	if err != nil {
		return err
	}
	defer body.Close()
	dir := filepath.Dir(path)
	tmp := filepath.Join(dir, ".fetch-"+rand.Text())
	to, err := createFile(tmp)
	if err == nil {
		err = copyFile(ctx, to, body, size)
		if err == nil {
			err = to.Sync()
		}
		err = cmp.Or(err, to.Close())
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
		return failed(ctx, err, "fetch object %q", key)
	}
	return failed(ctx, fsync.Dir(dir), "fetch object %q", key)
}
