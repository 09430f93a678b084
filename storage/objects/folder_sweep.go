package objects

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// Sweep implements Store: uploads and files to which nothing has been added since.
func (f *Folder) Sweep(ctx context.Context, before time.Time) (int, error) {
	if err := f.inPlace(ctx); err != nil {
		return 0, err
	}
	names, err := f.names(stageTree)
	if err != nil {
		return 0, failed(ctx, err, "look for stale uploads")
	}
	removed := 0
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("sweep: %w", context.Cause(ctx))
		}
		swept, err := f.sweepOne(ctx, path.Join(stageTree, name), before)
		if err != nil {
			return removed, failed(ctx, err, "remove a stale upload")
		}
		removed += swept
	}
	return removed, nil
}

// sweepOne removes what is stale of one entry of the staging tree, and returns how
// many unfinished things that were.
func (f *Folder) sweepOne(ctx context.Context, name string, before time.Time) (int, error) {
	info, err := f.root().Lstat(name)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	if !info.IsDir() {
		return f.sweepFile(name, before)
	}
	if strings.HasPrefix(path.Base(name), "gone-") {
		// Abort, or the process it ran in, did not get to the end.
		return 0, f.root().RemoveAll(name)
	}
	unlock, err := f.locks.lock(ctx, name)
	if err != nil {
		return 0, err
	}
	defer unlock()
	return f.sweepUpload(name, before)
}

func (f *Folder) sweepUpload(dir string, before time.Time) (int, error) {
	info, err := f.root().Lstat(dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	names, err := f.names(dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	done := false
	latest := info.ModTime()
	for _, name := range names {
		done = done || name == doneFile
		// A part that is coming in slowly changes its file and not the folder.
		if info, err := f.root().Lstat(path.Join(dir, name)); err == nil && info.ModTime().After(latest) {
			latest = info.ModTime()
		}
	}
	if latest.Before(before) {
		if err := f.discard(dir); err != nil || done {
			return 0, err
		}
		return 1, nil
	}
	removed := 0
	for _, name := range names {
		if strings.HasPrefix(name, incomingFiles) || strings.HasPrefix(name, assemblyFiles) {
			swept, fileErr := f.sweepFile(path.Join(dir, name), before)
			removed += swept
			err = errors.Join(err, fileErr)
		}
	}
	return removed, err
}

// sweepFile removes a file that was last written to before the given time.
func (f *Folder) sweepFile(name string, before time.Time) (int, error) {
	info, err := f.root().Lstat(name)
	if err != nil || !info.ModTime().Before(before) {
		return 0, ignoreMissing(err)
	}
	if err := f.root().Remove(name); err != nil {
		return 0, ignoreMissing(err)
	}
	return 1, nil
}
