package datasets

import (
	"context"
	"errors"

	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/datasets/ingest"
)

const (
	// compactFrom is how many small files in a row are merged.
	compactFrom = 32
	// smallFile is the size, in bytes, below which a file is small.
	smallFile = 16 << 20
)

// compactSoon merges the small files of a dataset when there are many and no process does
// so. When it fails, the next addition tries again.
func (d *Datasets) compactSoon(ctx context.Context, datasetID, owner string, files int) {
	if files < compactFrom {
		return
	}
	caller := domain.Caller{Username: owner}
	data, err := d.config.Records.DatasetDataByID(ctx, caller, datasetID)
	if err == nil && len(smallFiles(data)) >= compactFrom {
		err = jobs.RunTask(ctx, d.config.Records, jobs.Task{
			Name: "chore/compact/" + datasetID, Holder: d.holder, TTL: d.config.Lease,
			Run: func(ctx context.Context) error { return d.compact(ctx, caller, datasetID) },
		})
	}
	expected := errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrTooMany)
	if err != nil && !expected && ctx.Err() == nil {
		d.config.Log.WarnContext(ctx, "compaction failed", "error", err)
	}
}

// smallFiles returns the small files at the end of a dataset.
func smallFiles(data domain.DatasetData) []domain.DataFile {
	from := len(data.Files)
	for from > 0 && data.Files[from-1].Bytes < smallFile {
		from--
	}
	return data.Files[from:]
}

// compact merges the small files at the end of a dataset, if they are still there. The new
// file takes the place of the first, so that rows keep their order.
func (d *Datasets) compact(ctx context.Context, owner domain.Caller, datasetID string) error {
	data, err := d.config.Records.DatasetDataByID(ctx, owner, datasetID)
	if err != nil {
		return err
	}
	small := smallFiles(data)
	if len(small) < compactFrom {
		return nil
	}
	dir, done, err := d.workDir()
	if err != nil {
		return err
	}
	defer done()
	paths, release, err := d.config.Objects.Hold(ctx, small)
	if err != nil {
		return asDamaged(err)
	}
	defer release()
	file, err := d.config.Ingester.Compact(ctx, Admission{User: owner.Username}, paths, data.Columns, dir)
	if err != nil {
		return err
	}
	// After the merge they are gone: nothing else could find that the new file has wrong rows.
	if err := d.config.Objects.Compare(ctx, small); err != nil {
		return asDamaged(err)
	}
	change := domain.VersionChange{Caller: owner, DatasetID: data.ID, Have: data.Columns, Columns: data.Columns, Drop: small}
	return d.commit(ctx, change, []ingest.File{file})
}
