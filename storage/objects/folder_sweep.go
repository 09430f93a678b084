package objects

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Sweep implements Store: uploads and files that have not changed since.
func (f *Folder) Sweep(ctx context.Context, before time.Time) (int, error) {
	if err := f.checkPresent(ctx); err != nil {
		return 0, err
	}
	entries, err := fs.ReadDir(f.root().FS(), stageTree)
	if err != nil {
		return 0, failed(ctx, err, "list the uploads")
	}
	removed := 0
	for _, entry := range entries {
		swept, err := f.sweepOne(ctx, path.Join(stageTree, entry.Name()), entry.IsDir(), before)
		if err != nil {
			return removed, failed(ctx, err, "remove a stale upload")
		}
		removed += swept
	}
	return removed, nil
}

// sweepOne removes what is stale of one entry of the staging tree, and returns how many
// unfinished things that were.
func (f *Folder) sweepOne(ctx context.Context, name string, isDir bool, before time.Time) (int, error) {
	if !isDir {
		return f.sweepFile(name, before)
	}
	if strings.HasPrefix(path.Base(name), discardedDirs) {
		return 0, f.root().RemoveAll(name) // an interrupted Abort
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
	entries, err := fs.ReadDir(f.root().FS(), dir)
	if err != nil {
		return 0, ignoreMissing(err)
	}
	done := false
	latest := info.ModTime()
	for _, entry := range entries {
		done = done || entry.Name() == doneFile
		// A part that comes in slowly changes its file and not the folder.
		if info, err := entry.Info(); err == nil && info.ModTime().After(latest) {
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
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), incomingFiles) || strings.HasPrefix(entry.Name(), assemblyFiles) {
			swept, fileErr := f.sweepFile(path.Join(dir, entry.Name()), before)
			removed += swept
			err = errors.Join(err, fileErr)
		}
	}
	return removed, err
}

// sweepFile removes a file that was last changed before the given time.
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
