package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"parley/internal/disk"
	"parley/internal/domain"
	"parley/storage/datasets/sandbox"
)

// Limits of a download, which is a file on this server's disk until it is sent.
const (
	maxDownload     = 16 << 30
	downloadTimeout = 10 * time.Minute
	// maxResult is that of a query's result, resultShare the part of the disk that one may take
	// of what the others leave free.
	maxResult   = 1 << 30
	resultShare = 16
)

// Download writes all rows of a dataset into a file. The file has no name: it is gone when it
// is closed, or with this process. A dataset that is too large, or has no rows, is
// ErrInvalid.
func (d *Datasets) Download(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, as domain.Download) (*os.File, error) {
	data, err := d.config.Records.DatasetData(ctx, caller, ref)
	if err != nil {
		return nil, err
	}
	if len(data.Columns) == 0 {
		return nil, domain.Errorf(domain.ErrInvalid, "the dataset has no rows yet")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout,
		domain.Errorf(domain.ErrInvalid, "the file took longer than %v to write; read the rows in parts with queries", downloadTimeout))
	defer cancel()
	dir, done, err := d.workDir()
	if err != nil {
		return nil, err
	}
	defer done()
	paths, release, err := d.config.Objects.Hold(ctx, data.Files)
	if err != nil {
		return nil, asDamaged(err)
	}
	defer release()
	path, err := d.config.Ingester.Export(ctx, Admission{User: caller.Username}, paths, data.Columns, data.RowFilter, as, maxDownload, dir)
	if err != nil {
		err = readError(ctx, err, func(ctx context.Context) error { return d.config.Objects.Verify(ctx, data.Files) })
		if _, known := errors.AsType[*domain.Error](err); !known && data.RowFilter != "" && sandbox.IsBadRowRule(err) {
			err = domain.Errorf(domain.ErrInvalid, "%s", sandbox.BadRowRule(data.Name))
		}
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a download: %w", err)
	}
	return file, nil
}

// DownloadResult is Query with all rows: it writes them into a file without a name, as lines of
// JSON. The columns are those of a result without rows. A result that is too large is ErrInvalid.
func (d *Datasets) DownloadResult(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string) (_ *os.File, columns []domain.Column, err error) {
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return nil, nil, err
	}
	dir, done, err := d.workDir()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	file, err := os.Create(filepath.Join(dir, "result"))
	if err != nil {
		return nil, nil, fmt.Errorf("make a file for a result: %w", err)
	}
	lines := &lineFile{file: file, free: func() (int64, error) { return disk.Free(dir) }}
	result, err := d.query(ctx, caller, all, Query{SQL: sql, lines: lines})
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	if lines.size == 0 {
		columns = result.Columns
	}
	return file, columns, nil
}

// lineFile writes rows into a file, one a line.
type lineFile struct {
	file *os.File
	// free returns how much of the disk is free now: others write to it too.
	free func() (int64, error)
	size int64
	buf  []byte
}

// reset drops the rows so far: the query runs again.
func (f *lineFile) reset() error {
	f.size = 0
	if _, err := f.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.file.Truncate(0)
}

// write adds the next rows. An error ends the query.
func (f *lineFile) write(rows []json.RawMessage) error {
	f.buf = f.buf[:0]
	for _, row := range rows {
		f.buf = append(append(f.buf, row...), '\n')
	}
	free, err := f.free()
	if err != nil {
		return fmt.Errorf("look at the disk: %w", err)
	}
	share := free/resultShare + f.size/resultShare
	switch f.size += int64(len(f.buf)); {
	case f.size > maxResult:
		return domain.Errorf(domain.ErrInvalid, "the result would be larger than %d MiB; ask for less at once", maxResult>>20)
	case f.size > share:
		return fmt.Errorf("write a result: %w", syscall.ENOSPC)
	}
	if _, err := f.file.Write(f.buf); err != nil {
		return fmt.Errorf("write a result: %w", err)
	}
	return nil
}
