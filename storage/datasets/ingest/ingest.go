package ingest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

const (
	// defaultMaxUnpacked is for Job.MaxUnpacked. The limit of a small source is
	// lower.
	defaultMaxUnpacked = 10 << 30
	// defaultMaxFileBytes is for Job.MaxFileBytes.
	defaultMaxFileBytes = 512 << 20
)

// Source is a file to ingest.
type Source struct {
	// Path is where the file is.
	Path string
	// Name is the owner's name for it. Its extension tells the format, and
	// messages use it.
	Name string
	// Extracted says that the file at Path holds rows that were extracted from
	// the file of that name, a JSON object a line.
	Extracted bool
}

// Job is what to ingest, and into what.
type Job struct {
	// Sources are read in order, all or none.
	Sources []Source
	// Rows, instead of Sources, is the path of a file with a JSON object a
	// line. Messages name its lines "row 1" and so on.
	Rows string
	// Options say how the sources are read.
	Options domain.IngestOptions
	// Have is the dataset's columns now; nil when it is empty or replaced.
	Have []domain.Column
	// OutDir is the folder for the Parquet files. Run creates it if missing,
	// overwrites nothing in it, and leaves nothing in it when it fails. A
	// process that dies leaves a folder whose name starts with ".ingest-".
	OutDir string
	// MaxUnpacked limits what a packed source may unpack to; 10 GiB when 0.
	MaxUnpacked int64
	// MaxFileBytes is about the most bytes of a Parquet file: more rows make more
	// files, each of at least one row group. 512 MiB when 0.
	MaxFileBytes int64
	// Progress, unless nil, is called with the progress of the job every 100 ms
	// or less often, by one goroutine at a time.
	Progress func(Progress)
}

// Progress is how much of a job is done. The check of the sources counts for the
// first half of their bytes, writing for the second.
type Progress struct {
	Bytes int64
	Total int64
	// Rows is how many rows have been checked.
	Rows int64
}

// File is a Parquet file that was written and synced to the disk.
type File struct {
	Path   string
	Rows   int64
	Bytes  int64
	SHA256 string
}

// Result is the outcome of a job.
type Result struct {
	// Files hold the rows of the sources, in order.
	Files []File
	// Columns are the dataset's columns after the job: the earlier ones in their
	// order, with types that may be wider, then the new ones.
	Columns []domain.Column
	Rows    int64
	// Report says how the sources were read.
	Report domain.IngestReport
	// Profile says what the files hold, nil where it is not known, and ProfileFault why.
	Profile      *domain.Profile
	ProfileFault string
}

// Run ingests the sources of a job with DuckDB, which must be able to read the
// sources and to write the output folder, and preserve insertion order (its
// default). A source that breaks a rule makes it fail with a *domain.Error of
// kind ErrInvalid whose message is meant for the source's owner; every other
// error is a fault of ours or of the machine.
func Run(ctx context.Context, db *sql.DB, job Job) (Result, error) {
	if err := os.MkdirAll(job.OutDir, 0o755); err != nil {
		return Result{}, fmt.Errorf("create output folder: %w", err)
	}
	work, err := os.MkdirTemp(job.OutDir, ".ingest-*")
	if err != nil {
		return Result{}, fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)

	if err := checkOrder(ctx, db); err != nil {
		return Result{}, err
	}
	r := newRun(db, job, work)
	tables, err := r.check(ctx)
	if err != nil {
		return Result{}, err
	}
	columns, err := evolve(job.Have, tables)
	if err != nil {
		return Result{}, err
	}
	files, err := r.write(ctx, tables, columns)
	if err != nil {
		return Result{}, err
	}
	if files, err = publish(files, job.OutDir); err != nil {
		return Result{}, err
	}
	r.progress.finish()
	report := reportOf(tables, columns)
	report.Warnings = slices.Concat(r.files.Warnings, retyped(job.Have, columns), report.Warnings)
	return Result{Files: files, Columns: columns, Rows: sumRows(files), Report: report}, nil
}

// run is the state of a job.
type run struct {
	db       *sql.DB
	job      Job
	files    source.Reader
	progress meter
	// known are the types of the columns of the dataset and of the tables so far, by folded name.
	known map[string]string
	// uploaded is the size of the sources up to the one in work, decoded the size of
	// the values of those before it.
	uploaded, decoded int64
}

func newRun(db *sql.DB, job Job, work string) *run {
	job.MaxFileBytes = cmp.Or(job.MaxFileBytes, defaultMaxFileBytes)
	files := source.Reader{Dir: work, Options: job.Options, MaxUnpacked: cmp.Or(job.MaxUnpacked, defaultMaxUnpacked)}
	r := &run{db: db, job: job, files: files, known: map[string]string{}}
	r.know(job.Have)
	return r
}

// start measures the sources.
func (r *run) start(sources []Source) error {
	err := r.progress.start(r.job.Progress, sources)
	r.files.Size = r.progress.now.Total
	return err
}

// table is a checked source, or a part of one.
type table struct {
	// name is the source's name in messages.
	name    string
	columns []domain.Column
	rows    int64
	// decoded is how many bytes the values take.
	decoded int64
	// groupRows is the most rows of a row group of a Parquet file, 0 of files whose
	// rows cannot be chosen by number.
	groupRows int64
	// report says how the source was read, its columns in their order.
	report domain.IngestReport
	// spelled counts, by column, the cells that are missing unless the column becomes text.
	spelled []int64
	// read returns the SQL that reads the source: a FROM clause, and for each
	// column an expression of the physical form of the type that is wanted.
	// With sequential, the source is read on one core.
	read func(want []string, sequential bool) (from string, exprs []string)
}

// check checks all sources.
func (r *run) check(ctx context.Context) ([]*table, error) {
	sources := r.job.Sources
	if r.job.Rows != "" {
		sources = []Source{{Path: r.job.Rows, Name: "the data"}}
	}
	if len(sources) == 0 {
		return nil, refuse("there is nothing to ingest")
	}
	if err := checkOptions(r.job.Options); err != nil {
		return nil, err
	}
	if err := r.start(sources); err != nil {
		return nil, err
	}
	tables := make([]*table, 0, len(sources))
	for _, source := range sources {
		if strings.ContainsAny(source.Path, `*?[`) {
			return nil, fmt.Errorf("ingest %q: DuckDB would read the path as a pattern", source.Path)
		}
		found, err := r.checkTables(ctx, source)
		if err != nil {
			return nil, err
		}
		tables = append(tables, found...)
	}
	if err := r.checkTypes(tables); err != nil {
		return nil, err
	}
	if err := r.checkUnion(tables); err != nil {
		return nil, err
	}
	if err := r.checkAppended(tables); err != nil {
		return nil, err
	}
	return tables, checkUnits(tables)
}

// checkTables checks a source, that its tables have rows, and that they do not decode
// to too much.
func (r *run) checkTables(ctx context.Context, source Source) ([]*table, error) {
	info, err := os.Stat(source.Path)
	if err != nil {
		return nil, fmt.Errorf("stat source: %w", err)
	}
	r.uploaded += info.Size()
	r.files.Encoding = ""
	tables, err := r.checkSource(ctx, source)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		if t.rows == 0 {
			return nil, refuse("%s has no rows", t.name)
		}
		decoded := max(float64(t.decoded), float64(t.rows)*float64(len(t.columns))*valueBytes)
		if err := r.checkDecoded(t.name, decoded); err != nil {
			return nil, err
		}
		r.decoded += int64(decoded)
		t.report.Encoding = r.files.Encoding
	}
	return tables, nil
}

// checkSource checks a source: one table, or the chosen parts of a container.
func (r *run) checkSource(ctx context.Context, from Source) ([]*table, error) {
	if r.job.Rows != "" || from.Extracted {
		t, err := r.checkJSON(ctx, source.Input{Path: from.Path, Name: from.Name})
		return []*table{t}, err
	}
	in, f, err := r.files.Open(ctx, from.Path, from.Name)
	if err != nil {
		return nil, err
	}
	c, err := r.files.Unpack(ctx, in, f)
	if err != nil {
		return nil, err
	}
	if c != nil {
		defer c.Close()
		return r.checkParts(ctx, c, in.Name)
	}
	if sheet := r.job.Options.Sheet; sheet != "" {
		return nil, refuse("%s is one table, so %s cannot be chosen", in.Name, quote(source.Excerpt(sheet)))
	}
	t, err := r.checkFormat(ctx, f, in)
	return []*table{t}, err
}

// checkOrder checks that DuckDB preserves the order of rows: without it results
// would be wrong without an error.
func checkOrder(ctx context.Context, db *sql.DB) error {
	var preserved bool
	if err := db.QueryRowContext(ctx, "SELECT current_setting('preserve_insertion_order')").Scan(&preserved); err != nil {
		return fmt.Errorf("read DuckDB's settings: %w", err)
	}
	if !preserved {
		return errors.New("DuckDB must preserve insertion order")
	}
	return nil
}

// refuse returns an error for the owner of a source.
func refuse(format string, args ...any) *domain.Error {
	return domain.Errorf(domain.ErrInvalid, format, args...)
}

func sumRows(files []File) (rows int64) {
	for _, f := range files {
		rows += f.Rows
	}
	return rows
}

const reportInterval = 100 * time.Millisecond

// meter counts what has been checked and reports it.
type meter struct {
	report   func(Progress)
	now      Progress
	reported time.Time
}

func (m *meter) start(report func(Progress), sources []Source) error {
	m.report = report
	for _, source := range sources {
		info, err := os.Stat(source.Path)
		if err != nil {
			return fmt.Errorf("stat source: %w", err)
		}
		m.now.Total += info.Size()
	}
	return nil
}

// checked counts bytes of a source, as its owner sent it, and rows in them.
func (m *meter) checked(bytes, rows int64) {
	m.now.Rows += rows
	m.now.Bytes = min(m.now.Bytes+bytes/2, m.now.Total/2)
	if m.report != nil && time.Since(m.reported) >= reportInterval {
		m.reported = time.Now()
		m.report(m.now)
	}
}

func (m *meter) finish() {
	m.now.Bytes = m.now.Total
	if m.report != nil {
		m.report(m.now)
	}
}
