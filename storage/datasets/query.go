package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/sandbox"
	"parley/storage/datasets/sqlcheck"
)

// Query checks a statement and runs it. A wrong statement, and one that needs too much time
// or memory, is domain.ErrInvalid with a message for people and models. A full queue is
// domain.ErrUnavailable, or domain.ErrTooMany for the user's own.
func (p *Pool) Query(ctx context.Context, q Query) (domain.QueryResult, error) {
	q = q.withDefaults()
	if err := sqlcheck.CheckRequest(q.SQL, columnsOf(q.Tables)); err != nil {
		return domain.QueryResult{}, err
	}
	result, err := p.run(ctx, q, nil)
	if errors.Is(err, errUnguarded) {
		p.config.Log.Debug("query runs without the join guard", "error", err)
		q.Guard = false
		result, err = p.run(ctx, q, nil)
		result.Notes = []string{"Whether the joins repeat rows, or leave some out, was not checked: it could not be measured."}
	}
	return result, explain(err, q.Timeout)
}

// statement is a checked statement, and what the join guard notes about it.
type statement struct {
	sqlcheck.Checked
	rewritten bool
	notes     []string
}

// errNotReady says that files of a query must be fetched.
var errNotReady = domain.Errorf(domain.ErrUnavailable, "the data has just changed on disk; try again")

// run checks a statement, unless it has been checked, and runs it. No worker waits for
// files that must be fetched.
func (p *Pool) run(ctx context.Context, q Query, checked *statement) (domain.QueryResult, error) {
	result, checked, err := p.try(ctx, q, checked)
	if errors.Is(err, errNotReady) {
		release, err := p.fetch(ctx, q, checked.Tables)
		if err != nil {
			return domain.QueryResult{}, err
		}
		defer release()
		result, _, err = p.try(ctx, q, checked)
		return result, p.readError(ctx, q, checked, err)
	}
	return result, p.readError(ctx, q, checked, err)
}

// readError is err, unless it was found while rows were read and a damaged file is the cause.
func (p *Pool) readError(ctx context.Context, q Query, checked *statement, err error) error {
	fault, ok := errors.AsType[*sandbox.Fault](err)
	if checked == nil || ok && (fault.Kind == sandbox.FaultQuery || fault.Kind == sandbox.FaultMemory) || !ok && !sandbox.Gone(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	return readError(ctx, err, func(ctx context.Context) error { return q.Source.Verify(ctx, checked.Tables) })
}

// fetch holds the files of tables. It takes at most the time of a query.
func (p *Pool) fetch(ctx context.Context, q Query, tables []string) (release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, q.Timeout)
	defer cancel()
	defer context.AfterFunc(p.closed, cancel)()
	release, err = q.Source.Hold(ctx, tables)
	if p.closed.Err() != nil && err != nil {
		err = errClosed
	}
	return release, err
}

// try checks a statement in a worker, unless it has been checked, guards it, and runs it there.
func (p *Pool) try(ctx context.Context, q Query, known *statement) (result domain.QueryResult, checked *statement, err error) {
	checked = known
	err = p.leaseWithRetry(ctx, q, func(ctx context.Context, w *queryWorker) (keep bool, err error) {
		switch {
		case checked != nil:
		case p.config.unchecked:
			checked = &statement{Checked: sqlcheck.Checked{SQL: q.SQL}}
			for _, t := range q.Tables {
				checked.Tables = append(checked.Tables, t.Name)
			}
		default:
			found, keep, err := w.check(ctx, q.SQL, q.Tables)
			if err != nil {
				return keep, err
			}
			checked = &statement{Checked: found}
		}
		if q.Guard && checked.Tree != nil {
			if keep, err := p.guard(ctx, w, q, checked); err != nil {
				return keep, err
			}
		}
		checked.Tree = nil
		result, keep, err = w.run(ctx, q, checked.Checked, p.config.Threads)
		result.Rewritten, result.Notes = checked.rewritten, checked.notes
		return keep, err
	})
	return result, checked, err
}

// Check checks a statement of a user without running it. Errors are those of Query.
func (p *Pool) Check(ctx context.Context, user, sql string, tables []Table) (sqlcheck.Checked, error) {
	if err := sqlcheck.CheckRequest(sql, columnsOf(tables)); err != nil {
		return sqlcheck.Checked{}, err
	}
	var checked sqlcheck.Checked
	err := p.leaseWithRetry(ctx, Query{Tables: tables, User: user}.withDefaults(), func(ctx context.Context, w *queryWorker) (keep bool, err error) {
		checked, keep, err = w.check(ctx, sql, tables)
		return keep, err
	})
	return checked, explain(err, DefaultTimeout)
}

// Passages ranks the passages of a table, which has the columns document, passage and
// text, by how well they match some words. Source and errors are those of Query.
func (p *Pool) Passages(ctx context.Context, user string, table Table, source Source, words string, limit int) (domain.QueryResult, error) {
	q := Query{Tables: []Table{table}, Source: source, MaxRows: limit, User: user}.withDefaults()
	if !utf8.ValidString(words) || strings.ContainsRune(words, 0) || len(words) > sqlcheck.MaxSQL {
		return domain.QueryResult{}, domain.Errorf(domain.ErrInvalid, "the search must be UTF-8 text of at most %d bytes", sqlcheck.MaxSQL)
	}
	for _, name := range []string{"document", "passage", "text"} {
		if !slices.ContainsFunc(table.Columns, func(c domain.Column) bool { return strings.EqualFold(c.Name, name) }) {
			return domain.QueryResult{}, domain.Errorf(domain.ErrInvalid, "`%s` holds no passages: it has no column `%s`", table.Name, name)
		}
	}
	q.SQL = passagesSQL(table, words, q.MaxRows)
	result, err := p.run(ctx, q, &statement{Checked: sqlcheck.Checked{Tables: []string{table.Name}, SQL: q.SQL}})
	return result, explain(err, q.Timeout)
}

// leaseWithRetry is lease, with another worker when an idle one has died.
func (p *Pool) leaseWithRetry(ctx context.Context, q Query, f func(context.Context, *queryWorker) (bool, error)) error {
	err := p.lease(ctx, q, f)
	if errors.Is(err, errWorkerGone) {
		err = p.lease(ctx, q, f)
	}
	return err
}

func columnsOf(tables []Table) []sqlcheck.Table {
	all := make([]sqlcheck.Table, len(tables))
	for i, t := range tables {
		all[i] = sqlcheck.Table{Name: t.Name, Columns: t.Columns}
	}
	return all
}

// check has a statement parsed in the worker and checks its tree here.
func (w *queryWorker) check(ctx context.Context, sql string, tables []Table) (checked sqlcheck.Checked, keep bool, err error) {
	keep = true
	checked, err = sqlcheck.Check(ctx, sql, columnsOf(tables), func(sql string) (tree []byte, err error) {
		tree, keep, err = w.parse(ctx, sql)
		return tree, err
	})
	return checked, keep, err
}

func (w *queryWorker) parse(ctx context.Context, sql string) (tree []byte, keep bool, err error) {
	head, _, err := w.ask(ctx, sandbox.Request{Op: sandbox.OpParse, SQL: sql, MaxBytes: sqlcheck.MaxTree}, nil)
	if err != nil {
		return nil, false, err
	}
	if head.Fault != nil {
		return nil, head.Fault.Kind == sandbox.FaultQuery, head.Fault
	}
	return []byte(head.Tree), true, nil
}

func (w *queryWorker) run(ctx context.Context, q Query, checked sqlcheck.Checked, threads int) (result domain.QueryResult, keep bool, err error) {
	drop, need := w.compare(q.Tables, checked.Tables)
	names := make([]string, len(need))
	for i, t := range need {
		names[i] = t.Name
	}
	files, release, ok := q.Source.Ready(names)
	if !ok {
		return result, true, errNotReady
	}
	defer release()
	for _, name := range drop {
		delete(w.tables, strings.ToLower(name))
		delete(w.inMemory, strings.ToLower(name))
	}
	for i, t := range need {
		w.tables[strings.ToLower(t.Name)] = t
		need[i].Files = files[t.Name]
	}
	req := sandbox.Request{
		Op: sandbox.OpRun, SQL: checked.SQL, Drop: drop, Tables: need,
		MaxRows: q.MaxRows, MaxBytes: q.MaxBytes, CPU: q.Timeout * time.Duration(threads),
	}
	var each func([]json.RawMessage) error
	if q.Sink != nil {
		req.Stream, each = true, q.Sink.Write
		if err := q.Sink.Reset(); err != nil {
			return result, true, err
		}
	}
	head, rows, err := w.ask(ctx, req, each)
	if err != nil {
		return result, false, err
	}
	for _, name := range head.InMemory {
		w.inMemory[strings.ToLower(name)] = true
	}
	if head.Fault != nil {
		return result, head.Fault.Kind == sandbox.FaultQuery, head.Fault
	}
	if q.Sink != nil {
		err, rows = q.Sink.Write(rows), nil
	}
	return domain.QueryResult{Columns: head.Columns, Rows: rows, Truncated: head.Truncated, Total: head.Total, SQL: checked.SQL}, true, err
}

// explain returns an error whose cause is the query a message for its author.
func explain(err error, timeout time.Duration) error {
	var f *sandbox.Fault
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDeadline):
		return domain.Errorf(domain.ErrInvalid, "the query took longer than %s and was stopped; ask for less at once", timeout)
	case errors.As(err, &f):
		switch f.Kind {
		case sandbox.FaultMemory:
			return domain.Errorf(domain.ErrInvalid, "the query needs more memory than it may use; ask for less at once")
		case sandbox.FaultTables:
			return fmt.Errorf("query: %w", f)
		}
		return domain.Errorf(domain.ErrInvalid, "%s", sqlcheck.Reason(f.Message))
	case sandbox.Gone(err):
		return domain.Errorf(domain.ErrInvalid, "the query could not be finished: it most likely needs more memory than it may use")
	case errors.Is(err, errClosed):
		return errClosed
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return domain.Errorf(domain.ErrUnavailable, "the server has too many files and connections open; try again shortly")
	}
	if known, ok := errors.AsType[*domain.Error](err); ok && known != domain.ErrDamaged {
		return known
	}
	return fmt.Errorf("query: %w", err)
}
