package datasets

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// commitTries limits the attempts after concurrent changes of the columns.
const commitTries = 5

// AppendRows adds JSON objects to a dataset, all or none, for its owner and editors. It calls
// beforeCommit, unless that is nil, once: when the rows have been read. beforeCommit may create
// the dataset. Rows that cannot be read change nothing; what beforeCommit did remains if the
// commit fails.
func (d *Datasets) AppendRows(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rows []json.RawMessage, options domain.IngestOptions, beforeCommit func() error) error {
	return d.withRows(rows, func(dir, path string) error {
		data, err := d.config.Records.DatasetData(ctx, caller, ref)
		if err != nil && (beforeCommit == nil || !errors.Is(err, domain.ErrNotFound)) {
			return err
		}
		a := addition{caller: caller, datasetID: data.ID, rows: path, options: options, dir: dir}
		if beforeCommit != nil {
			a.beforeCommit = func() (datasetID string, err error) {
				if err := beforeCommit(); err != nil {
					return "", err
				}
				// It has changed the dataset that has this name now.
				ctx, done := withoutCancel(ctx)
				defer done()
				data, err = d.config.Records.DatasetData(ctx, caller, ref)
				return data.ID, err
			}
		}
		if err := d.add(ctx, a); err != nil {
			return err
		}
		d.compactSoon(ctx, data.ID, data.Owner, len(data.Files)+1)
		return nil
	})
}

// withRows calls f with a folder, and with a file in it that has the rows.
func (d *Datasets) withRows(rows []json.RawMessage, f func(dir, path string) error) error {
	dir, done, err := d.workDir()
	if err != nil {
		return err
	}
	defer done()
	path := filepath.Join(dir, "rows.ndjson")
	if err := writeRows(path, rows); err != nil {
		return err
	}
	return f(dir, path)
}

// writeRows writes rows a line each.
func writeRows(path string, rows []json.RawMessage) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	w := bufio.NewWriter(file)
	for _, row := range rows {
		line, err := json.Marshal(row) // in one line
		if err != nil {
			return fmt.Errorf("write rows: %w", err)
		}
		_, _ = w.Write(line)
		_ = w.WriteByte('\n')
	}
	return w.Flush()
}

// addition is what becomes rows of a dataset.
type addition struct {
	caller domain.Caller
	// datasetID is empty for a dataset that beforeCommit creates.
	datasetID string
	rows      string
	sources   []ingest.Source
	options   domain.IngestOptions
	replace   bool
	// short is an ingestion in the slot for short ones.
	short bool
	// dir is for temporary files.
	dir       string
	progress  func(ingest.Progress)
	ingestion *domain.IngestionEnd
	// extracted gets the share of a source that is done, and the rows of all so far.
	extracted func(source int, share float64, rows int64)
	// beforeCommit, if set, is called once, when the rows have been read. It gives the dataset's
	// id.
	beforeCommit func() (datasetID string, err error)
}

func (a addition) admission() Admission {
	return Admission{User: a.caller.Username, Unbounded: a.ingestion != nil, short: a.short}
}

// add ingests and commits files, again when the dataset's columns have changed meanwhile.
func (d *Datasets) add(ctx context.Context, a addition) error {
	if err := d.config.Space.CheckFiles(ctx, a.caller.Username, 0); err != nil {
		return err
	}
	for try := 1; ; try++ {
		have, err := d.columnsFor(ctx, a)
		if err != nil {
			return err
		}
		result, err := d.ingestOnce(ctx, have, a, filepath.Join(a.dir, fmt.Sprint("try", try)))
		if err != nil {
			return err
		}
		if a.beforeCommit != nil && try == 1 {
			if a.datasetID, err = a.beforeCommit(); err != nil {
				return err
			}
			// The rows follow what beforeCommit did, even if the client has gone.
			var done context.CancelFunc
			ctx, done = withoutCancel(ctx)
			defer done()
		}
		err = d.commitAddition(ctx, have, a, result)
		if !errors.Is(err, domain.ErrConflict) || ctx.Err() != nil || a.replace || try == commitTries {
			return err
		}
	}
}

// withoutCancel returns a context with the values and the deadline of another, which is not
// canceled with it.
func withoutCancel(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, has := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if !has {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline)
}

// columnsFor returns the columns of the dataset that an addition is for. It refuses those who
// may not add to it, and rows for a dataset that cannot be read: they could not be either.
func (d *Datasets) columnsFor(ctx context.Context, a addition) ([]domain.Column, error) {
	if a.datasetID == "" {
		return nil, nil
	}
	data, err := d.config.Records.DatasetDataByID(ctx, a.caller, a.datasetID)
	if err != nil {
		return nil, err
	}
	if err := data.MayEdit(); err != nil || a.replace {
		return data.Columns, err
	}
	return data.Columns, asDamaged(d.config.Objects.Check(ctx, data.Files))
}

// ingestOnce makes files for a dataset with these columns.
func (d *Datasets) ingestOnce(ctx context.Context, have []domain.Column, a addition, out string) (ingest.Result, error) {
	if err := os.Mkdir(out, 0o700); err != nil {
		return ingest.Result{}, fmt.Errorf("make a folder for new files: %w", err)
	}
	job := ingest.Job{Sources: a.sources, Rows: a.rows, Options: a.options, OutDir: out, Progress: a.progress}
	if !a.replace {
		job.Have = have
	}
	return d.config.Ingester.Ingest(ctx, a.admission(), job)
}

// commitAddition commits files that were made for these columns.
func (d *Datasets) commitAddition(ctx context.Context, have []domain.Column, a addition, result ingest.Result) error {
	change := domain.VersionChange{
		Caller: a.caller, DatasetID: a.datasetID, Have: have, Columns: result.Columns, Replace: a.replace, Ingestion: a.ingestion,
		Profile: profileOf(result),
	}
	if result.ProfileFault != "" {
		d.config.Log.WarnContext(ctx, "column profile failed", "dataset", a.datasetID, "error", result.ProfileFault)
	}
	if a.ingestion != nil {
		change.Ingestion.Rows, change.Ingestion.Report = result.Rows, result.Report.Fit()
	}
	return d.commit(ctx, change, result.Files)
}

// profileOf returns the profile of new files, with the units of their columns.
func profileOf(result ingest.Result) *domain.Profile {
	if result.Profile == nil {
		return nil
	}
	for _, report := range result.Report.Columns {
		for i := range result.Profile.Columns {
			if c := &result.Profile.Columns[i]; c.Name == report.Name {
				c.Unit = report.Unit
			}
		}
	}
	return result.Profile
}
