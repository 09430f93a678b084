package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"parley/storage"
)

// DefaultMaxUnpacked is how many bytes a gzipped source may unpack to at most
// unless the job says otherwise; a small one may unpack to less.
const DefaultMaxUnpacked = 10 << 30

// DefaultMaxFileBytes is about how large a Parquet file gets unless the job says
// otherwise.
const DefaultMaxFileBytes = 512 << 20

// Source is a file to ingest.
type Source struct {
	// Path is where the file is.
	Path string
	// Name is the name its owner gave it: it tells the format by its extension,
	// and is what messages call the file.
	Name string
	// Extracted says that the file at Path holds the rows that were extracted
	// from the one with that name, a JSON object a line.
	Extracted bool
}

// Job is what to ingest, and into what.
type Job struct {
	// Sources are read in order, all or none.
	Sources []Source
	// Rows, instead of Sources, is the path of a file with a JSON object a
	// line, which messages call "row 1" and so on.
	Rows string
	// Have is the dataset's columns now; nil when it is empty or replaced.
	Have []storage.Column
	// OutDir is the folder for the Parquet files, made when missing. Nothing in
	// it is overwritten, and nothing is left in it when Run fails. A process
	// that dies leaves a folder there whose name starts with ".ingest-".
	OutDir string
	// MaxUnpacked is the most bytes a gzipped source may unpack to;
	// DefaultMaxUnpacked when 0.
	MaxUnpacked int64
	// MaxFileBytes is about the most bytes of a Parquet file: more rows make more
	// files, each of at least one row group. DefaultMaxFileBytes when 0.
	MaxFileBytes int64
	// Progress, unless nil, is told now and then how far the job is, from one
	// goroutine at a time.
	Progress func(Progress)
}

// Progress says how far a job is. Checking the sources counts for the first half
// of their bytes, writing for the second.
type Progress struct {
	Bytes int64
	Total int64
	// Rows is how many rows have been checked.
	Rows int64
}

// File is a Parquet file that was written, and is on disk for good.
type File struct {
	Path   string
	Rows   int64
	Bytes  int64
	SHA256 string
}

// Result is what a job made.
type Result struct {
	// Files hold the rows of the sources, in order.
	Files []File
	// Columns are the dataset's columns from now on: those it had, in their
	// order, then the new ones. Types may be wider than they were.
	Columns []storage.Column
	Rows    int64
}

// Run ingests the sources of a job with DuckDB, which must be able to read the
// sources and to write the output folder, and preserve insertion order (its
// default). A source that breaks a rule makes it fail with a *storage.Error of
// kind ErrInvalid whose message is meant for the source's owner; every other
// error is a fault of ours or of the machine.
func Run(ctx context.Context, db *sql.DB, job Job) (Result, error) {
	if err := os.MkdirAll(job.OutDir, 0o755); err != nil {
		return Result{}, fmt.Errorf("make output folder: %w", err)
	}
	work, err := os.MkdirTemp(job.OutDir, ".ingest-*")
	if err != nil {
		return Result{}, fmt.Errorf("make work folder: %w", err)
	}
	defer os.RemoveAll(work)

	if err := checkOrder(ctx, db); err != nil {
		return Result{}, err
	}
	r := &run{db: db, job: job, work: work}
	if r.job.MaxUnpacked <= 0 {
		r.job.MaxUnpacked = DefaultMaxUnpacked
	}
	if r.job.MaxFileBytes <= 0 {
		r.job.MaxFileBytes = DefaultMaxFileBytes
	}
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
	return Result{Files: files, Columns: columns, Rows: sumRows(files)}, nil
}

// run is a job under way.
type run struct {
	db       *sql.DB
	job      Job
	work     string
	temps    int
	progress meter
	// unpacked is what gzipped sources have unpacked to, uploaded the size of the
	// sources up to the one that is being checked, as they were sent, decoded what
	// the values of those before it take.
	unpacked, uploaded, decoded int64
}

// table is a source that has been checked.
type table struct {
	// name is what messages call the source.
	name    string
	columns []storage.Column
	rows    int64
	bytes   int64
	// content is how many bytes its values have, decoded what they take in
	// memory.
	content, decoded int64
	// read gives the SQL that reads the source: a FROM clause, and for each
	// column an expression of the physical form of the type that is wanted.
	// Careful asks for the slow and sure way, where there is one.
	read func(want []string, careful bool) (from string, exprs []string)
}

// check decides what every source is and proves it.
func (r *run) check(ctx context.Context) ([]*table, error) {
	sources := r.job.Sources
	if r.job.Rows != "" {
		sources = []Source{{Path: r.job.Rows}}
	}
	if len(sources) == 0 {
		return nil, refuse("there is nothing to ingest")
	}
	if err := r.progress.start(r.job.Progress, sources); err != nil {
		return nil, err
	}
	tables := make([]*table, 0, len(sources))
	for _, source := range sources {
		if strings.ContainsAny(source.Path, `*?[`) {
			return nil, fmt.Errorf("ingest %q: DuckDB would read the path as a pattern", source.Path)
		}
		t, err := r.checkTable(ctx, source)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// checkTable checks a source, and that it has rows, but not too many values for
// its size.
func (r *run) checkTable(ctx context.Context, source Source) (*table, error) {
	info, err := os.Stat(source.Path)
	if err != nil {
		return nil, fmt.Errorf("look at source: %w", err)
	}
	r.uploaded += info.Size()
	t, err := r.checkSource(ctx, source)
	if err != nil {
		return nil, err
	}
	if t.rows == 0 {
		return nil, refuse("%s has no rows", t.name)
	}
	decoded := max(float64(t.decoded), float64(t.rows)*float64(len(t.columns))*valueBytes)
	if err := r.checkDecoded(t.name, decoded); err != nil {
		return nil, err
	}
	r.decoded += int64(decoded)
	return t, nil
}

func (r *run) checkSource(ctx context.Context, source Source) (*table, error) {
	in := input{path: source.Path, name: source.Name}
	if r.job.Rows != "" {
		in.name = "the data"
	}
	if r.job.Rows != "" || source.Extracted {
		return r.checkJSON(ctx, in)
	}
	head, err := readHead(in.path)
	if err != nil {
		return nil, err
	}
	if !isGzip(head) && trimGzip(in.name) != in.name && len(head) > 0 {
		return nil, refuse("%s is not gzipped, as its name says", in.name)
	}
	if in.path, err = r.decode(ctx, in.path, in.name, head); err != nil {
		return nil, err
	}
	if in.head, err = readHead(in.path); err != nil {
		return nil, err
	}
	format, err := sniff(in.name, in.head)
	if err != nil {
		return nil, err
	}
	return format.check(r, ctx, in)
}

// checkOrder proves that DuckDB keeps rows in their order, without which nothing
// would look wrong.
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

// refuse makes the error that tells an owner what is wrong with a source.
func refuse(format string, args ...any) *storage.Error {
	return storage.Errorf(storage.ErrInvalid, format, args...)
}

func sumRows(files []File) (rows int64) {
	for _, f := range files {
		rows += f.Rows
	}
	return rows
}
