package lake

import (
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
	// Tables are all that exists as far as the query is concerned.
	Tables []Table
	// Source gives the tables' files while the query runs; nil when the tables have
	// them.
	Source Source
	// MaxRows and MaxBytes bound the result; zero stands for the defaults.
	MaxRows  int
	MaxBytes int64
	// Timeout bounds the work, but not the waiting for a worker; zero stands for
	// the default.
	Timeout time.Duration
	// User is whose query it is: users take turns, and share no worker.
	User string
}

// Source gives files of tables, by the tables' names, which can be read until
// release is called.
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

// Result is the rows of a query, as far as they were kept.
type Result struct {
	// Columns are those of the rows, without the score.
	Columns []storage.Column
	// Rows are JSON objects with a key for each column, and "__metadata" with
	// the row's score last.
	Rows     []json.RawMessage
	RowCount int
	// Truncated says that there were more rows than the bounds let through.
	Truncated bool
	// SQL is what ran: the query's own text, or what it became when a score
	// was added to it.
	SQL string
}

func (q Query) withDefaults() Query {
	if q.MaxRows <= 0 {
		q.MaxRows = DefaultMaxRows
	}
	if q.MaxBytes <= 0 {
		q.MaxBytes = DefaultMaxBytes
	}
	if q.Timeout <= 0 {
		q.Timeout = DefaultTimeout
	}
	if q.Source == nil {
		q.Source = tableFiles(q.Tables)
	}
	return q
}
