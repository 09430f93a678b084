package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"parley/storage"
)

// failed says what was attempted when the home failed. A caller who went away is
// no failure of the home.
func failed(ctx context.Context, err error, format string, args ...any) error {
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

// missing reports whether a file is not there. Where a file is in the way of a
// folder, nothing can be below it.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// blocked reports whether a folder is in the way of a file, or a file in the way of
// a folder.
func blocked(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTEMPTY)
}
