package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/sandbox"
	"parley/storage/datasets/sqlcheck"
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
		result.Rewritten, result.Notes, result.Tables = checked.rewritten, checked.notes, checked.Tables
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
	if q.lines != nil {
		req.Stream, each = true, q.lines.write
		if err := q.lines.reset(); err != nil {
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
	if q.lines != nil {
		err, rows = q.lines.write(rows), nil
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

// queryWorker is a worker process of a pool.
type queryWorker struct {
	*sandbox.Process
	user string
	// tables are those in its DuckDB, by name in lower case; of those inMemory it needs
	// no files.
	tables    map[string]Table
	inMemory  map[string]bool
	removeDir func()
	// uses counts its queries, replies its replies in the current one.
	uses, replies int
	// slow says that its priority is lower.
	slow bool
}

// errWorkerGone says that a worker ended while idle, so the query can be repeated.
var errWorkerGone = errors.New("worker ended while idle")

// ask is Ask, with errWorkerGone.
func (w *queryWorker) ask(ctx context.Context, req sandbox.Request, each func([]json.RawMessage) error) (sandbox.ReplyHead, []json.RawMessage, error) {
	head, rows, err := w.Ask(ctx, req, each)
	if sandbox.Gone(err) && w.uses > 0 && w.replies == 0 {
		err = errWorkerGone
	}
	w.replies++
	return head, rows, err
}

// kill ends the worker, waits until it is gone, and removes its folder.
func (w *queryWorker) kill() {
	w.Kill()
	w.removeDir()
}

// mayServe reports whether the worker is the user's, and the query may read every dataset
// that the worker has read.
func (w *queryWorker) mayServe(user string, readable map[string]bool) bool {
	if w.user != user {
		return false
	}
	for _, t := range w.tables {
		if !readable[t.ID] {
			return false
		}
	}
	return true
}

// compare returns the worker's tables that differ from the query's, to drop, and those of
// the named ones whose files it needs.
func (w *queryWorker) compare(tables []Table, named []string) (drop []string, need []Table) {
	current := make(map[string]Table, len(tables))
	for _, t := range tables {
		current[strings.ToLower(t.Name)] = t
	}
	stale := map[string]bool{}
	for key, t := range w.tables {
		// A filtered table is in memory, whatever its size: only while it is used.
		isUsed := slices.ContainsFunc(named, func(name string) bool { return strings.EqualFold(name, t.Name) })
		if !reflect.DeepEqual(t, current[key]) || t.Filter != "" && !isUsed {
			drop, stale[key] = append(drop, t.Name), true
		}
	}
	for _, name := range named {
		if key := strings.ToLower(name); stale[key] || !w.inMemory[key] {
			need = append(need, current[key])
		}
	}
	return drop, need
}

// acquire returns an idle worker that may serve the query, for a short one with the usual
// priority, or starts one. Where there are enough, that of the user who has used most lately ends
// first: others would wait for a new one before each of their queries.
func (p *Pool) acquire(ctx context.Context, q Query, short bool) (*queryWorker, error) {
	readable := make(map[string]bool, len(q.Tables))
	for _, t := range q.Tables {
		readable[t.ID] = true
	}
	for {
		w, victim := p.pick(q.User, readable, short)
		switch {
		case victim != nil:
			victim.kill()
		case w == nil:
			w, err := p.start(ctx, q.User)
			if err == nil {
				p.lanes.usage.Add(q.User, w.ProcessorTime())
			}
			return w, err
		case w.Alive():
			return w, nil
		default:
			w.kill()
		}
	}
}

// pick takes an idle worker that may serve the query. When there is none, and no room for
// a new one, it takes one that must end.
func (p *Pool) pick(user string, readable map[string]bool, short bool) (w, victim *queryWorker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, idle := range slices.Backward(p.idle) {
		if idle.mayServe(user, readable) && !(short && idle.slow) {
			return p.take(i), nil
		}
	}
	// The caller counts as running, and has no worker yet.
	if len(p.idle)+p.stats.Running > p.config.Workers+p.config.shortWorkers() && len(p.idle) > 0 {
		most := 0
		for i, idle := range p.idle {
			if p.lanes.usage.Of(idle.user) > p.lanes.usage.Of(p.idle[most].user) {
				most = i
			}
		}
		return nil, p.take(most)
	}
	return nil, nil
}

// take removes an idle worker from the list. The caller holds the lock.
func (p *Pool) take(i int) *queryWorker {
	w := p.idle[i]
	w.timer.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return w.queryWorker
}

// park adds a worker to the idle ones, false when the pool is closed.
func (p *Pool) park(w *queryWorker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return false
	}
	idle := &idleWorker{queryWorker: w}
	idle.timer = time.AfterFunc(p.config.Idle, func() {
		p.mu.Lock()
		at := slices.Index(p.idle, idle)
		if at >= 0 {
			p.take(at)
			p.work.Add(1)
			defer p.work.Done()
		}
		p.mu.Unlock()
		if at >= 0 {
			w.kill()
		}
	})
	p.idle = append(p.idle, idle)
	p.stats.Running--
	return true
}

func (p *Pool) retire(w *queryWorker) {
	w.kill()
	p.mu.Lock()
	p.stats.Ended++
	p.mu.Unlock()
	p.config.Log.Debug("worker ended", "pid", w.PID, "uses", w.uses, "crash", w.CrashReport())
}

func (p *Pool) start(ctx context.Context, user string) (*queryWorker, error) {
	dir, removeDir, err := makeWorkDir(p.config.Dir, p.config.Log)
	if err != nil {
		return nil, err
	}
	// A worker of a root server has another user: it can open files by name, not list them.
	if err = os.Chmod(dir, 0o711); err != nil {
		removeDir()
		return nil, fmt.Errorf("open a folder to a worker: %w", err)
	}
	path, args, env := p.config.Command()
	process, err := sandbox.StartQuery(ctx, sandbox.Spec{
		Path: path, Args: args, Tables: dir,
		// An arena for each thread would exceed the limit of address space.
		Env:        append([]string{"MALLOC_ARENA_MAX=2"}, env...),
		Unconfined: p.config.unconfined,
	}, sandbox.OpenRequest{Memory: p.config.Memory, Threads: p.config.Threads, Exposed: p.config.exposed})
	if err != nil {
		removeDir()
		return nil, err
	}
	w := &queryWorker{Process: process, user: user, tables: map[string]Table{}, inMemory: map[string]bool{}, removeDir: removeDir}
	p.mu.Lock()
	p.stats.Started++
	p.mu.Unlock()
	if len(w.Lacks) > 0 {
		p.warned.Do(func() {
			p.config.Log.Warn("query workers run without some protections that this system does not allow",
				"missing", strings.Join(w.Lacks, ", "))
		})
	}
	return w, nil
}
