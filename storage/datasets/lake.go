package datasets

import (
	"cmp"
	"context"
	"time"

	"parley/storage/datasets/sandbox"
)

// Table is a dataset as a query may see it.
type Table = sandbox.Table

// Query is a statement and what it may see and use.
type Query struct {
	SQL string
	// Tables are all that the query may read.
	Tables []Table
	// Source returns the tables' files; nil when the tables have them.
	Source Source
	// MaxRows and MaxBytes bound the result; zero stands for the defaults.
	MaxRows  int
	MaxBytes int64
	// Timeout bounds the run, not the wait for a worker; zero stands for the default.
	Timeout time.Duration
	// User owns the query: users queue fairly, and share no worker.
	User string
	// Guard has the statement pass the join guard (see joinguard), which may rewrite or
	// refuse it.
	Guard bool
	// lines, unless nil, takes all rows of the result, which has none then. MaxRows and
	// MaxBytes do not bound it.
	lines *lineFile
}

// Source returns the files of named tables, which stay until release.
type Source interface {
	// Hold fetches the files that are not here.
	Hold(ctx context.Context, tables []string) (release func(), err error)
	// Ready returns the files when all are here. It reports whether they are.
	Ready(tables []string) (files map[string][]string, release func(), ok bool)
	// Verify compares the files with the records, after they could not be read. A damaged one
	// is domain.ErrNotFound.
	Verify(ctx context.Context, tables []string) error
}

// The bounds of a query that sets none.
const (
	DefaultMaxRows  = 1_000
	DefaultMaxBytes = 1 << 20
	DefaultTimeout  = 30 * time.Second
)

// The bounds of a batch of rows: their number, and what the largest row may have, in bytes.
const (
	batchRows = 1_000
	maxRow    = 16 << 20
)

func (q Query) withDefaults() Query {
	q.MaxRows = cmp.Or(q.MaxRows, DefaultMaxRows)
	q.MaxBytes = cmp.Or(q.MaxBytes, DefaultMaxBytes)
	q.Timeout = cmp.Or(q.Timeout, DefaultTimeout)
	if q.lines != nil {
		q.MaxRows, q.MaxBytes = batchRows, maxRow
	}
	if q.Source == nil {
		q.Source = tableFiles(q.Tables)
	}
	return q
}
