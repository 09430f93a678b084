package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/internal/domain"
	"parley/internal/lru"
	"parley/internal/sqltext"
	"parley/storage/datasets/joinguard"
	"parley/storage/datasets/sandbox"
	"parley/storage/datasets/sqlcheck"
)

// maxGuardTime limits the measurements of the join guard. A statement for which they take
// longer runs unguarded.
const maxGuardTime = 5 * time.Second

// errUnguarded says that the guard's measurements ended the worker.
var errUnguarded = errors.New("the join guard could not measure")

// guard has a checked statement pass the join guard, which may replace it. After errUnguarded
// it may run as it is, in another worker.
func (p *Pool) guard(ctx context.Context, w *queryWorker, q Query, s *statement) (keep bool, err error) {
	limited, cancel := context.WithTimeout(ctx, maxGuardTime)
	defer cancel()
	e := &guardEngine{worker: w, query: q, tables: s.Tables, threads: p.config.Threads, facts: p.facts, keep: true}
	guarded, err := joinguard.Guard(limited, s.Tree, columnsOf(q.Tables), e)
	if err != nil {
		// A fault of a measurement says nothing about the statement.
		var known *domain.Error
		late := limited.Err() != nil && errors.Is(err, limited.Err())
		if ctx.Err() == nil && (late || !e.keep && !errors.Is(err, errWorkerGone) && !errors.As(err, &known)) {
			err = fmt.Errorf("%w: %w", errUnguarded, err)
		}
		return e.keep, err
	}
	s.notes = guarded.Notes
	if guarded.SQL == "" {
		return true, nil
	}
	if err := sqlcheck.CheckRequest(guarded.SQL, columnsOf(q.Tables)); err != nil {
		return true, err
	}
	checked, keep, err := w.check(ctx, guarded.SQL, q.Tables)
	if err == nil {
		s.Checked, s.rewritten = checked, true
	}
	return keep, err
}

// guardEngine is a worker as the join guard uses it.
type guardEngine struct {
	worker *queryWorker
	query  Query
	// tables are those of the guarded statement.
	tables  []string
	threads int
	facts   *lru.Cache[string, json.RawMessage]
	// keep says that the worker can be reused.
	keep bool
}

var _ joinguard.Engine = (*guardEngine)(nil)

func (e *guardEngine) Parse(ctx context.Context, sql string) (tree []byte, err error) {
	tree, e.keep, err = e.worker.parse(ctx, sql)
	return tree, err
}

func (e *guardEngine) Query(ctx context.Context, sql string, lasting bool) (json.RawMessage, error) {
	key := e.key(sql)
	if row, ok := e.facts.Get(key); ok && lasting {
		return row, nil
	}
	var checked sqlcheck.Checked
	var err error
	if checked, e.keep, err = e.worker.check(ctx, sql, e.query.Tables); err != nil {
		return nil, err
	}
	row, err := e.row(ctx, checked)
	if err == nil && lasting {
		e.facts.Put(key, row, len(key)+len(row))
	}
	return row, err
}

// key identifies a statement over versions of tables.
func (e *guardEngine) key(sql string) string {
	h := sha256.New()
	for _, t := range e.query.Tables {
		if slices.Contains(e.tables, t.Name) {
			fmt.Fprintf(h, "%s\n%s\n", t.Name, t.Version)
		}
	}
	h.Write([]byte(sql))
	return string(h.Sum(nil))
}

func (e *guardEngine) Print(ctx context.Context, tree []byte) (string, error) {
	row, err := e.row(ctx, sqlcheck.Checked{Tables: e.tables, SQL: "SELECT json_deserialize_sql(" + sqltext.Text(string(tree)) + ") AS sql"})
	if err != nil {
		return "", err
	}
	var printed struct {
		SQL string `json:"sql"`
	}
	err = json.Unmarshal(row, &printed)
	return printed.SQL, err
}

// row runs a statement that gives one row.
func (e *guardEngine) row(ctx context.Context, checked sqlcheck.Checked) (json.RawMessage, error) {
	q := e.query
	q.MaxRows, q.MaxBytes = 1, sqlcheck.MaxTree
	result, keep, err := e.worker.run(ctx, q, checked, e.threads)
	e.keep = keep
	if err != nil {
		return nil, err
	}
	if len(result.Rows) != 1 {
		return nil, &sandbox.Fault{Kind: sandbox.FaultQuery, Message: "no row"}
	}
	return result.Rows[0], nil
}
