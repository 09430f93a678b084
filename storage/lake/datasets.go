package lake

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/internal/fair"
	"parley/storage"
	"parley/storage/lake/ingest"
)

// Records is what the lake keeps of datasets elsewhere.
type Records interface {
	storage.Lake
	storage.Ingestions
	storage.Leases
}

// Objects is where the files of datasets are.
type Objects interface {
	// Put keeps a copy of a local file.
	Put(ctx context.Context, key, path string) error
	// Hold gives paths under which files can be read from this machine until
	// release is called. It fetches those that must be, once for all who ask.
	Hold(ctx context.Context, files []storage.DataFile) (paths []string, release func(), err error)
	// Ready is Hold when nothing needs to be waited for. It reports whether.
	Ready(files []storage.DataFile) (paths []string, release func(), ok bool)
	// Source gives a path for an object that is read once: where it must be
	// fetched, it goes into dir.
	Source(ctx context.Context, key, dir string) (string, error)
	Delete(ctx context.Context, key string) error
}

// DatasetsConfig is what Datasets needs.
type DatasetsConfig struct {
	Records  Records
	Objects  Objects
	Pool     *Pool
	Ingester *Ingester
	// Dir is for files that are being made.
	Dir string
	Log *slog.Logger
	// MaxRows, MaxBytes and Timeout bound a query.
	MaxRows  int
	MaxBytes int64
	Timeout  time.Duration
	// Ingestions is how many run at once, of one user all but one where they are more
	// than two; Lease how long one is this process's without a sign of life.
	Ingestions int
	Lease      time.Duration
	// Extract makes rows of texts, for datasets whose definition says what the
	// rows are; nil where nobody can, and texts become passages.
	Extract Extract
}

// Datasets queries datasets and adds to them. Rows are in immutable files; which
// files make up a dataset is in the records, and changes there at once.
type Datasets struct {
	config DatasetsConfig
	wake   chan struct{}
	claims claims
	// holder names this process to others.
	holder string
}

// NewDatasets makes a Datasets.
func NewDatasets(cfg DatasetsConfig) (*Datasets, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the lake's folder: %w", err)
	}
	return &Datasets{config: cfg, wake: make(chan struct{}, 1), claims: claims{users: map[string]int{}}, holder: newHolder()}, nil
}

// Query runs a statement over the datasets of a namespace that the caller may
// read.
func (d *Datasets) Query(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, sql string) (storage.QueryResult, error) {
	all, err := d.config.Records.NamespaceData(ctx, caller, in)
	if err != nil {
		return storage.QueryResult{}, err
	}
	return d.QueryOver(ctx, caller, all, sql)
}

// QueryOver is Query over datasets that [Datasets.Datasets] gave the caller shortly before.
func (d *Datasets) QueryOver(ctx context.Context, caller storage.Caller, all []storage.DatasetData, sql string) (storage.QueryResult, error) {
	tables, source := d.tables(all)
	result, err := d.config.Pool.Query(ctx, Query{SQL: sql, Tables: tables, Source: source, MaxRows: d.config.MaxRows, MaxBytes: d.config.MaxBytes, Timeout: d.config.Timeout, User: caller.Username})
	if err != nil {
		return storage.QueryResult{}, err
	}
	return storage.QueryResult{SQL: result.SQL, Columns: result.Columns, Rows: result.Rows, Truncated: result.Truncated}, nil
}

// Datasets gives the datasets of a namespace that the caller may read.
func (d *Datasets) Datasets(ctx context.Context, caller storage.Caller, in storage.NamespaceRef) ([]storage.DatasetData, error) {
	return d.config.Records.NamespaceData(ctx, caller, in)
}

// Search gives the passages of a dataset, of those in a namespace that the
// caller may read, that match some words best. What is wrong with the request, a
// dataset that is not there among it, is ErrInvalid.
func (d *Datasets) Search(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, dataset, words string, limit int) (storage.QueryResult, error) {
	all, err := d.config.Records.NamespaceData(ctx, caller, in)
	if err != nil {
		return storage.QueryResult{}, err
	}
	at := slices.IndexFunc(all, func(data storage.DatasetData) bool { return strings.EqualFold(data.Name, dataset) })
	if at < 0 {
		return storage.QueryResult{}, storage.Errorf(storage.ErrInvalid, "there is no dataset `%.128s` to search", dataset)
	}
	tables, source := d.tables(all[at : at+1])
	if d.config.MaxRows > 0 {
		limit = min(limit, d.config.MaxRows)
	}
	result, err := d.config.Pool.Passages(ctx, caller.Username, tables[0], source, words, limit)
	if err != nil {
		return storage.QueryResult{}, err
	}
	return storage.QueryResult{SQL: result.SQL, Columns: result.Columns, Rows: result.Rows, Truncated: result.Truncated}, nil
}

// IngestStats says how many jobs of the Ingester are done, and how many wait.
func (d *Datasets) IngestStats() fair.Stats { return d.config.Ingester.Stats() }

// tables gives datasets as the engine reads them, and a source of their files.
func (d *Datasets) tables(all []storage.DatasetData) ([]Table, Source) {
	tables := make([]Table, len(all))
	for i, data := range all {
		tables[i] = Table{
			Name:     data.Name,
			Columns:  data.Columns,
			ID:       data.ID,
			Version:  data.ID + "/" + strconv.FormatInt(data.Version, 10),
			RowCount: data.RowCount,
		}
	}
	return tables, newSource(d.config.Objects, all)
}

// lost turns ErrNotFound of a file that a dataset names into ErrUnavailable: it has
// vanished, and nothing that the caller named is missing.
func lost(err error) error {
	if errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%w: %s", storage.ErrUnavailable, err)
	}
	return err
}

// commit makes files that were just written part of a dataset, after those that
// it has, or in place of the first that it drops. Each is listed as orphaned before
// it is kept, so that one whose commit never comes goes.
func (d *Datasets) commit(ctx context.Context, change storage.VersionChange, files []ingest.File) error {
	change.Add = make([]storage.DataFile, len(files))
	keys := make([]string, len(files))
	for i, file := range files {
		id := storage.NewID()
		keys[i] = "datasets/" + change.DatasetID + "/" + id + ".parquet"
		if len(change.Drop) > 0 && i == 0 {
			id = change.Drop[0].ID
		}
		change.Add[i] = storage.DataFile{ID: id, Key: keys[i], Rows: file.Rows, Bytes: file.Bytes, SHA256: file.SHA256}
	}
	if err := d.config.Records.AddOrphanedObjects(ctx, keys, commitTime); err != nil {
		return err
	}
	for i, file := range files {
		if err := d.config.Objects.Put(ctx, keys[i], file.Path); err != nil {
			return fmt.Errorf("keep a dataset's file: %w", err)
		}
	}
	return d.config.Records.CommitVersion(ctx, change)
}

// commitTime is how long keeping files and committing them may take.
const commitTime = time.Hour

// RemoveOrphans removes the files that belong to no dataset any more. One that
// cannot be removed keeps none of the others.
func (d *Datasets) RemoveOrphans(ctx context.Context) error {
	const batch = 1000
	for {
		keys, err := d.config.Records.OrphanedObjects(ctx, 0, batch)
		if err != nil {
			return err
		}
		var failed error
		for _, key := range keys {
			err := d.config.Objects.Delete(ctx, key)
			if err == nil {
				err = d.config.Records.ForgetOrphanedObject(ctx, key)
			}
			failed = errors.Join(failed, err)
		}
		if failed != nil {
			return fmt.Errorf("remove orphaned files: %w", failed)
		}
		if len(keys) < batch {
			return nil
		}
	}
}

// workDir makes a folder for one piece of work; done removes it.
func (d *Datasets) workDir() (dir string, done func(), err error) {
	return makeWorkDir(d.config.Dir, d.config.Log)
}

// makeWorkDir makes a folder in another; remove removes it. It is ErrUnavailable when the
// data folder is gone.
func makeWorkDir(parent string, log *slog.Logger) (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp(parent, "work-")
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.Mkdir(parent, 0o700) // and not what it is in
		dir, err = os.MkdirTemp(parent, "work-")
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", storage.ErrUnavailable, err)
	}
	if err != nil {
		return "", nil, fmt.Errorf("make a work folder: %w", err)
	}
	return dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("work folder not removed", "error", err)
		}
	}, nil
}

// RemoveWork removes the work folders that an earlier process left behind. It
// is for the start, when nothing is at work.
func (d *Datasets) RemoveWork() error {
	left, err := filepath.Glob(filepath.Join(d.config.Dir, "work-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
