package lake

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"parley/storage"
	"parley/storage/lake/worker"
)

// Table is a dataset as a query may see it.
type Table = worker.Table

// Query is a statement and what it may see and use.
type Query struct {
	SQL string
	// Tables are all that the query may read.
	Tables []Table
	// Source gives the tables' files; nil when the tables have them.
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
}

// Source gives the files of named tables, which stay until release.
type Source interface {
	// Hold fetches the files that are not here.
	Hold(ctx context.Context, tables []string) (release func(), err error)
	// Ready gives the files when all are here. It reports whether they are.
	Ready(tables []string) (files map[string][]string, release func(), ok bool)
}

// The bounds of a query that sets none.
const (
	DefaultMaxRows  = 1_000
	DefaultMaxBytes = 1 << 20
	DefaultTimeout  = 30 * time.Second
)

// Result has the rows of a query, within its bounds.
type Result struct {
	// Columns are those of the rows, without the score.
	Columns []storage.Column
	// Rows are JSON objects with a key for each column, and "__metadata" with
	// the row's score last.
	Rows     []json.RawMessage
	RowCount int
	// Truncated says that there were more rows than the bounds let through.
	Truncated bool
	// Total counts the rows of a truncated result; 0 if that took too long.
	Total int64
	// SQL is the statement that ran: the query's own, perhaps with a score added or
	// rewritten by the join guard.
	SQL       string
	Rewritten bool
	// Notes are sentences of the join guard about the result.
	Notes []string
}

func (q Query) withDefaults() Query {
	q.MaxRows = cmp.Or(q.MaxRows, DefaultMaxRows)
	q.MaxBytes = cmp.Or(q.MaxBytes, DefaultMaxBytes)
	q.Timeout = cmp.Or(q.Timeout, DefaultTimeout)
	if q.Source == nil {
		q.Source = tableFiles(q.Tables)
	}
	return q
}
