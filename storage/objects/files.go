package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"parley/internal/fsync"
)

// copyStep is how much is copied between two looks at the context.
const copyStep = 32 << 20

// copyFile copies exactly size bytes. From file to file the kernel does it by
// itself where it can.
func copyFile(ctx context.Context, to *os.File, from io.Reader, size int64) error {
	for size > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
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

// openFile opens a local file for PutFile. Its absence is a fault of the caller's,
// not of the home's.
func openFile(name string) (*os.File, int64, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file to keep: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open the file to keep: %w", err), file.Close())
	}
	return file, info.Size(), nil
}

// fetch writes an object's bytes to a file beside the one that they are for, and
// gives it that one's name when it is whole.
func fetch(ctx context.Context, object Object, from io.Reader, name string) error {
	dir := filepath.Dir(name)
	tmp := filepath.Join(dir, ".fetch-"+rand.Text())
	to, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("make a file for object %q: %w", object.Key, err)
	}
	if err = copyFile(ctx, to, from, object.Size); err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err == nil {
		if err = os.Rename(tmp, name); err == nil {
			err = fsync.Dir(dir)
		}
	}
	if err != nil {
		_ = os.Remove(tmp)
		return failed(ctx, err, "fetch object %q", object.Key)
	}
	return nil
}
