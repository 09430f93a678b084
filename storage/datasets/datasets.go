package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/disk"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/jobs"
	"parley/internal/lru"
	"parley/internal/words"
	"parley/storage/datasets/ingest"
)

// Records stores which files a dataset has. Package sqlstore describes the methods.
type Records interface {
	jobs.Leases
	DatasetData(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetData, error)
	RowRules(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) ([]domain.RowRule, error)
	SetRowRule(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, rule domain.RowRule) error
	DatasetDataByID(ctx context.Context, caller domain.Caller, id string) (domain.DatasetData, error)
	NamespaceData(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef) ([]domain.DatasetData, error)
	CommitVersion(ctx context.Context, change domain.VersionChange) error
	UnnamedObjects(ctx context.Context, keys []string) ([]string, error)
	AddOrphanedObjects(ctx context.Context, keys []string, lasts time.Duration) error
	OrphanedObjects(ctx context.Context, within time.Duration, limit int) ([]string, error)
	ForgetOrphanedObject(ctx context.Context, key string) error
	ClaimIngestion(ctx context.Context, holder string, lease time.Duration, smallest bool, except []string) (domain.IngestionJob, error)
	RenewIngestion(ctx context.Context, job domain.IngestionJob, lease time.Duration, bytes, rows int64) error
	ReleaseIngestion(ctx context.Context, job domain.IngestionJob) error
	FailIngestion(ctx context.Context, job domain.IngestionJob, message string) error
	ConversationData(ctx context.Context, caller domain.Caller, conversationID string) ([]domain.DatasetData, error)
	CountAttachments(ctx context.Context, caller domain.Caller, conversationID string) (int, error)
	PendingAttachments(ctx context.Context, caller domain.Caller, runID string) ([]domain.Attachment, error)
	CommitAttachment(ctx context.Context, caller domain.Caller, id string, datasets []domain.DatasetData) error
	OrphanAttachments(ctx context.Context) error
	Profile(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error)
	NamespaceLinks(ctx context.Context, caller domain.Caller, in domain.NamespaceRef) ([]domain.Link, error)
}

// Objects stores the files of datasets.
type Objects interface {
	// Put stores a copy of a local file.
	Put(ctx context.Context, key, path string) error
	// Hold returns local paths of files, which stay until release. It fetches missing ones.
	Hold(ctx context.Context, files []domain.DataFile) (paths []string, release func(), err error)
	// Ready is Hold for files that are all here. It reports whether they are.
	Ready(files []domain.DataFile) (paths []string, release func(), ok bool)
	// Check reports whether files are there. It may read them to compare them with the records. A
	// missing or damaged one is domain.ErrNotFound.
	Check(ctx context.Context, files []domain.DataFile) error
	// Verify compares files with the records, now or with the next Hold, after they could not be
	// read. A damaged one is domain.ErrNotFound; Check, Hold and Ready then refuse it until it is
	// right.
	Verify(ctx context.Context, files []domain.DataFile) error
	// Compare is Verify that always reads the files, which are held.
	Compare(ctx context.Context, files []domain.DataFile) error
	// Source returns a local path of an object that is read once, fetched into dir if needed.
	Source(ctx context.Context, key, dir string) (string, error)
	Delete(ctx context.Context, key string) error
}

// Config is what Datasets needs.
type Config struct {
	Records  Records
	Objects  Objects
	Pool     *Pool
	Ingester *Ingester
	// Dir is for temporary files, on the disk of Space; nil for no limit.
	Dir   string
	Space *disk.Space
	Log   *slog.Logger
	// MaxRows, MaxBytes and Timeout bound a query.
	MaxRows  int
	MaxBytes int64
	Timeout  time.Duration
	// Ingestions limits those at once, one user's to all but one of more than two. One more runs
	// that is short, while these are in use. Lease is how long this process holds one without a renewal.
	Ingestions int
	Lease      time.Duration
	// Extract makes rows of texts for datasets whose definition has fields; without it,
	// texts become passages.
	Extract Extract
}

// Datasets queries datasets and adds to them. Rows are in immutable files; the records
// name the files of a dataset, and change in one transaction.
type Datasets struct {
	config Config
	// usual searches for ingestions, short for short ones, of which shortClaims counts the searches.
	usual, short *jobs.Loop
	shortClaims  *atomic.Uint32
	// claims counts the running ingestions of each user.
	claims *fair.Counter
	// holder names this process in leases.
	holder string
	links  linkCache
	// counts has the numbers of rows that row rules let through, by contents.
	counts *lru.Cache[string, int64]
}

// NewDatasets makes a Datasets.
func NewDatasets(cfg Config) (*Datasets, error) {
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of datasets: %w", err)
	}
	return &Datasets{
		config: cfg, usual: jobs.NewLoop(idle), short: jobs.NewLoop(idle), shortClaims: new(atomic.Uint32), claims: new(fair.Counter),
		holder: domain.NewID(), links: newLinkCache(), counts: lru.New[string, int64](maxCachedCounts),
	}, nil
}

// Query runs a statement over the datasets of a scope that the caller may read.
func (d *Datasets) Query(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string) (domain.QueryResult, error) {
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return domain.QueryResult{}, err
	}
	return d.QueryOver(ctx, caller, all, sql)
}

// QueryGuarded is Query for a statement that a program wrote: the join guard may rewrite or
// refuse it, and says in the result's notes what it did.
func (d *Datasets) QueryGuarded(ctx context.Context, caller domain.Caller, in domain.DataScope, sql string) (domain.QueryResult, error) {
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return domain.QueryResult{}, err
	}
	return d.query(ctx, caller, all, Query{SQL: sql, Guard: true})
}

// QueryOver is Query over datasets that [Datasets.Datasets] gave the caller shortly before.
func (d *Datasets) QueryOver(ctx context.Context, caller domain.Caller, all []domain.DatasetData, sql string) (domain.QueryResult, error) {
	return d.query(ctx, caller, all, Query{SQL: sql})
}

func (d *Datasets) query(ctx context.Context, caller domain.Caller, all []domain.DatasetData, q Query) (domain.QueryResult, error) {
	q.Tables, q.Source = d.tables(all)
	return d.queryTables(ctx, caller, all, q)
}

func (d *Datasets) queryTables(ctx context.Context, caller domain.Caller, all []domain.DatasetData, q Query) (domain.QueryResult, error) {
	q.MaxRows, q.MaxBytes, q.Timeout, q.User = d.config.MaxRows, d.config.MaxBytes, d.config.Timeout, caller.Username
	result, err := d.config.Pool.Query(ctx, q)
	for _, data := range all {
		if err == nil && slices.Contains(result.Tables, data.Name) {
			result.Sources = append(result.Sources, data.Source())
		}
	}
	return result, err
}

// QueryDatasets returns the ids of the datasets of a namespace that statements read, without
// running them. Errors are those of Query.
func (d *Datasets) QueryDatasets(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, statements ...string) ([]string, error) {
	datasets, err := d.datasets(ctx, caller, domain.DataScope{Namespace: in})
	if err != nil {
		return nil, err
	}
	tables, _ := d.tables(datasets)
	read := map[string]bool{}
	for _, sql := range statements {
		checked, err := d.config.Pool.Check(ctx, caller.Username, sql, tables)
		if err != nil {
			return nil, err
		}
		for _, table := range tables {
			read[table.ID] = read[table.ID] || slices.Contains(checked.Tables, table.Name)
		}
	}
	ids := []string{}
	for _, table := range tables {
		if read[table.ID] {
			ids = append(ids, table.ID)
		}
	}
	return ids, nil
}

// NamedDatasets returns the ids of the datasets of a namespace that a text names, by their
// name, a word of it, their display name or a column that those in except do not have. Those in except are left out.
func (d *Datasets) NamedDatasets(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, text string, except []string) ([]string, error) {
	datasets, err := d.datasets(ctx, caller, domain.DataScope{Namespace: in})
	if err != nil {
		return nil, err
	}
	spaced := func(text string) string { return " " + strings.Join(words.Of(text), " ") + " " }
	known := map[string]bool{spaced(""): true}
	for _, data := range datasets {
		for _, column := range data.Columns {
			known[spaced(column.Name)] = known[spaced(column.Name)] || slices.Contains(except, data.ID)
		}
	}
	text = spaced(text)
	// Answers call rows by a part of the dataset's name, or as its owner does.
	parts := func(data domain.DatasetData) []string {
		name := data.Name
		if data.Definition.DisplayName != nil {
			name += " " + *data.Definition.DisplayName
		}
		return slices.DeleteFunc(words.Of(name), func(part string) bool { return len(part) < 3 })
	}
	for _, data := range datasets {
		for _, part := range parts(data) {
			known[spaced(part)] = known[spaced(part)] || slices.Contains(except, data.ID)
		}
	}
	var named []string
	for _, data := range datasets {
		isNamed := strings.Contains(text, spaced(data.Name)) || slices.ContainsFunc(parts(data), func(part string) bool {
			return !known[spaced(part)] && strings.Contains(text, spaced(part))
		}) || slices.ContainsFunc(data.Columns, func(column domain.Column) bool {
			name := spaced(column.Name)
			return !known[name] && strings.Contains(text, name)
		})
		if isNamed && !slices.Contains(except, data.ID) {
			named = append(named, data.ID)
		}
	}
	return named, nil
}

// Search ranks the passages of a dataset of a scope by how well they match some words.
// A wrong request, also an unknown dataset, is ErrInvalid.
func (d *Datasets) Search(ctx context.Context, caller domain.Caller, in domain.DataScope, dataset, words string, limit int) (domain.QueryResult, error) {
	all, err := d.datasets(ctx, caller, in)
	if err != nil {
		return domain.QueryResult{}, err
	}
	at := slices.IndexFunc(all, func(data domain.DatasetData) bool { return strings.EqualFold(data.Name, dataset) })
	if at < 0 {
		return domain.QueryResult{}, domain.Errorf(domain.ErrInvalid, "there is no dataset `%.128s` to search", dataset)
	}
	tables, source := d.tables(all[at : at+1])
	if d.config.MaxRows > 0 {
		limit = min(limit, d.config.MaxRows)
	}
	result, err := d.config.Pool.Passages(ctx, caller.Username, tables[0], source, words, limit)
	result.Total = 0 // that of a query with a limit
	return result, err
}

// IngestStats returns the state of the Ingester's queue.
func (d *Datasets) IngestStats() fair.Stats { return d.config.Ingester.Stats() }

// tables returns datasets as the engine reads them, and a source of their files.
func (d *Datasets) tables(all []domain.DatasetData) ([]Table, Source) {
	tables := make([]Table, len(all))
	for i, data := range all {
		tables[i] = Table{
			Name:     data.Name,
			Columns:  data.Columns,
			ID:       data.ID,
			Version:  data.Contents(),
			RowCount: data.RowCount,
			Filter:   data.RowFilter,
		}
		if data.RowFilter != "" {
			tables[i].RowCount = 0 // it may be counted, and the table stays the same
		}
	}
	return tables, newSource(d.config.Objects, all)
}

// asDamaged turns ErrNotFound of a file that a dataset names into ErrDamaged: nothing that the
// caller named is missing.
func asDamaged(err error) error {
	if errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("%w: %v", domain.ErrDamaged, err)
	}
	return err
}

// readError is err of work that read files, unless a damaged file is the cause: that is
// ErrDamaged.
func readError(ctx context.Context, err error, verify func(context.Context) error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if damaged := verify(ctx); errors.Is(damaged, domain.ErrNotFound) {
		return fmt.Errorf("%w: %v", asDamaged(damaged), err)
	}
	return err
}

// commit adds new files to a dataset, after those that it has, or in place of the first
// that it drops.
func (d *Datasets) commit(ctx context.Context, change domain.VersionChange, files []ingest.File) error {
	change.Add = make([]domain.DataFile, len(files))
	keys, paths := make([]string, len(files)), make([]string, len(files))
	for i, file := range files {
		id := domain.NewID()
		keys[i], paths[i] = "datasets/"+change.DatasetID+"/"+id+".parquet", file.Path
		if len(change.Drop) > 0 && i == 0 {
			id = change.Drop[0].ID
		}
		change.Add[i] = domain.DataFile{ID: id, Key: keys[i], Rows: file.Rows, Bytes: file.Bytes, SHA256: file.SHA256}
	}
	if err := d.put(ctx, keys, paths); err != nil {
		return err
	}
	return d.config.Records.CommitVersion(ctx, change)
}

// put stores files under keys. They are listed as orphaned before, so that they are removed
// unless a record names them.
func (d *Datasets) put(ctx context.Context, keys, paths []string) error {
	if err := d.config.Records.AddOrphanedObjects(ctx, keys, commitTime); err != nil {
		return err
	}
	for i, key := range keys {
		if err := d.config.Objects.Put(ctx, key, paths[i]); err != nil {
			return fmt.Errorf("keep a file: %w", err)
		}
	}
	return nil
}

// commitTime limits the time to store files and commit them.
const commitTime = time.Hour

// RemoveOrphans removes the files that belong to no dataset or attachment. It goes on after a failure.
func (d *Datasets) RemoveOrphans(ctx context.Context) error {
	const batch = 1000
	if err := d.config.Records.OrphanAttachments(ctx); err != nil {
		return err
	}
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
		err = fmt.Errorf("%w: %w", domain.ErrUnavailable, err)
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

// RemoveWork removes the work folders of an earlier process, at the start.
func (d *Datasets) RemoveWork() error {
	left, err := filepath.Glob(filepath.Join(d.config.Dir, "work-*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}
