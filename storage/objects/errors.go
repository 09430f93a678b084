package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"parley/storage"
)

// failed makes ErrUnavailable of an error and says what was attempted. It passes on nil
// and errors that are classified already. The end of the context is not the store's
// failure.
func failed(ctx context.Context, err error, format string, args ...any) error {
	var classified *storage.Error
	if err == nil || errors.As(err, &classified) || errors.Is(err, storage.ErrUnavailable) {
		return err
	}
	what := fmt.Sprintf(format, args...)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w: %w", what, storage.ErrUnavailable, err)
}

func notFound(key string) error {
	return storage.Errorf(storage.ErrNotFound, "there is no object %q", key)
}

func noUpload() error {
	return storage.Errorf(storage.ErrNotFound, "there is no such upload")
}

// missing reports whether a file does not exist: nothing can be below a file either.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

// blocked reports whether there is a folder in the place of a file, or a file in the
// place of a folder.
func blocked(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTEMPTY)
}
