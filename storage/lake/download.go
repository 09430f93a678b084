package lake

import (
	"context"
	"fmt"
	"os"
	"time"

	"parley/storage"
)

// Limits of a download, which is a file on this server's disk until it is sent.
const (
	maxDownload     = 16 << 30
	downloadTimeout = 10 * time.Minute
)

// Download writes all rows of a dataset into a file. The file has no name: it is gone when it
// is closed, or with this process. A dataset that is too large, or has no rows, is
// ErrInvalid.
func (d *Datasets) Download(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, as storage.Download) (*os.File, error) {
	data, err := d.config.Records.DatasetData(ctx, caller, ref)
	if err != nil {
		return nil, err
	}
	if len(data.Columns) == 0 {
		return nil, storage.Errorf(storage.ErrInvalid, "the dataset has no rows yet")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, downloadTimeout,
		storage.Errorf(storage.ErrInvalid, "the file took longer than %v to write; read the rows in parts with queries", downloadTimeout))
	defer cancel()
	dir, done, err := d.workDir()
	if err != nil {
		return nil, err
	}
	defer done()
	paths, release, err := d.config.Objects.Hold(ctx, data.Files)
	if err != nil {
		return nil, asUnavailable(err)
	}
	defer release()
	path, err := d.config.Ingester.Export(ctx, Admission{User: caller.Username}, paths, data.Columns, as, maxDownload, dir)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open a download: %w", err)
	}
	return file, nil
}
