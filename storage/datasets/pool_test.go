package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/storage/datasets/engine"
	"parley/storage/datasets/sandbox"
	"parley/storage/datasets/sqlcheck"
)

// endless is a query that runs until it is stopped.
const endless = "SELECT sum(hash(i)) FROM range(100000000000000) r(i)"

// begin starts an endless query and waits until it runs.
func (s *setup) begin(t *testing.T, ctx context.Context, running int) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := s.pool.Query(ctx, Query{SQL: endless, Tables: s.tables, Timeout: time.Minute})
		done <- err
	}()
	waittest.Until(t, "the query runs", func() bool { return s.pool.Stats().Running == running })
	return done
}

// holdShort takes the slots for short queries, so that a query waits for a usual worker.
func (s *setup) holdShort() {
	for i := range s.pool.config.shortWorkers() {
		s.pool.lanes.short.AcquireUnbounded(fmt.Sprint("other", i))
	}
}

func TestCaps(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for _, c := range []struct {
		rows      int
		bytes     int64
		want      int
		truncated bool
	}{
		{1000, 1 << 20, 1000, false}, {999, 1 << 20, 999, true}, {1, 1 << 20, 1, true}, {2000, 1 << 20, 1000, false},
		{1000, 100, 1, true}, {1000, 10, 0, true},
	} {
		result, err := s.pool.Query(t.Context(), Query{SQL: "SELECT * FROM orders", Tables: s.tables, MaxRows: c.rows, MaxBytes: c.bytes})
		if err != nil || len(result.Rows) != c.want || result.Truncated != c.truncated {
			t.Errorf("%+v: got %d, %v, %v", c, len(result.Rows), result.Truncated, err)
		}
		if want := int64(1000); c.truncated && result.Total != want || !c.truncated && result.Total != 0 {
			t.Errorf("%+v: %d rows in all, want %d", c, result.Total, want)
		}
	}
	// Rows that are not kept are not made either, and counted only if that is quick.
	result, err := s.query(t, "SELECT i FROM range(100000000000000) r(i)")
	if err != nil || len(result.Rows) != DefaultMaxRows || !result.Truncated || result.Total != 0 {
		t.Errorf("a long result: %d, %v, %d, %v", len(result.Rows), result.Truncated, result.Total, err)
	}
	result, err = s.query(t, "SELECT o.id FROM orders o, orders p ORDER BY 1 -- all pairs\n;")
	if err != nil || !result.Truncated || result.Total != 1_000_000 {
		t.Errorf("pairs: %v, %d, %v", result.Truncated, result.Total, err)
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Workers, c.Queue = 1, 1 })
	s.holdShort()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first := s.begin(t, ctx, 1)
	waittest.Until(t, "its worker has started", func() bool { return s.pool.Stats().Started == 1 })
	second := make(chan error, 1)
	go func() {
		_, err := s.query(t, "SELECT 1")
		second <- err
	}()
	waittest.Until(t, "the second waits", func() bool { return s.pool.Stats().Waiting == 1 })
	if _, err := s.query(t, "SELECT 1"); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("the third: %v", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first: %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second: %v", err)
	}
	// The first one's worker ends, unless it was canceled before the worker had the query.
	if stats := s.pool.Stats(); stats.Refused != 1 || stats.Started-stats.Ended != 1 {
		t.Errorf("%+v", stats)
	}
}

// Waiting for a worker takes none of a query's time, and lasts as long as whoever
// asks waits.
func TestWaitingForAWorker(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Workers = 1 })
	s.holdShort()
	s.begin(t, t.Context(), 1)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.pool.Query(ctx, Query{SQL: "SELECT 1", Timeout: time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// One user's slow queries keep nobody else waiting.
func TestUsersTakeTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Workers, c.UserWorkers, c.UserQueue = 2, 1, 1 })
	s.holdShort()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		go func() {
			_, _ = s.pool.Query(ctx, Query{SQL: endless, Tables: s.tables, Timeout: time.Minute, User: "flood"})
		}()
	}
	waittest.Until(t, "one runs, one waits", func() bool { stats := s.pool.Stats(); return stats.Running == 1 && stats.Waiting == 1 })
	if _, err := s.pool.Query(ctx, Query{SQL: "SELECT 1", User: "flood"}); !errors.Is(err, domain.ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	for range 3 {
		if _, err := s.pool.Query(ctx, Query{SQL: "SELECT 1", User: "alice"}); err != nil {
			t.Errorf("another user: %v", err)
		}
	}
}

// A short query is answered while others have all workers. A long one starts on the same
// worker, and again on a usual one, where its priority becomes lower.
func TestShortQueryWhileWorkersAreBusy(t *testing.T) {
	t.Parallel()
	lower := slices.Max(priorities(t, os.Getpid())) - 10
	if lower < 1 {
		t.Skip("these tests have so low a priority themselves that the lower one is none")
	}
	s := newSetup(t, func(c *PoolConfig) { c.Workers = 1 })
	s.pool.lanes.slice, s.pool.lanes.most = time.Hour, time.Hour
	other := s.pool.lanes.usual.AcquireUnbounded("other")
	s.rows(t, "SELECT count(*) FROM orders")
	if stats := s.pool.Stats(); stats.Waiting != 0 || s.idle().slow {
		t.Errorf("%+v, slow: %v", stats, s.idle().slow)
	}
	first := s.idle()
	s.pool.lanes.slice = time.Millisecond
	var used []*queryWorker
	err := s.pool.lease(t.Context(), Query{Tables: s.tables}.withDefaults(), func(ctx context.Context, w *queryWorker) (bool, error) {
		used = append(used, w)
		if len(used) == 1 {
			_, _, err := w.ask(ctx, sandbox.Request{Op: sandbox.OpRun, SQL: endless}, nil)
			other.Release()
			return false, err
		}
		waittest.Until(t, "the priority is lower", func() bool {
			if _, _, err := w.ask(ctx, sandbox.Request{Op: sandbox.OpParse, SQL: "SELECT 1", MaxBytes: sqlcheck.MaxTree}, nil); err != nil {
				t.Fatal(err)
			}
			return slices.Max(priorities(t, w.PID)) == lower
		})
		return true, ctx.Err()
	})
	if err != nil || len(used) != 2 || used[0] != first || used[1] == first || s.idle() != used[1] {
		t.Fatalf("%v with workers %v", err, used)
	}
	// A slow worker is for usual queries.
	s.rows(t, "SELECT 1")
	s.pool.lanes.usual.AcquireUnbounded("other")
	s.pool.lanes.slice = time.Hour
	s.rows(t, "SELECT 1")
	if stats := s.pool.Stats(); stats.Started != 3 || stats.Idle != 2 {
		t.Errorf("%+v", stats)
	}
}

// A user is charged for the processor time of a query that is canceled, whose worker ends.
func TestCanceledQueryIsCharged(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Workers = 1 })
	s.pool.lanes.slice, s.pool.lanes.usage = time.Hour, fair.NewUsage(24*time.Hour)
	const used = 50 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended *queryWorker
	err := s.pool.lease(ctx, Query{User: "ann", Tables: s.tables}.withDefaults(), func(ctx context.Context, w *queryWorker) (bool, error) {
		ended = w
		before := w.ProcessorTime()
		go func() {
			waittest.Until(t, "it has used some time", func() bool { return w.ProcessorTime() > before+2*used })
			cancel()
		}()
		_, _, err := w.ask(ctx, sandbox.Request{Op: sandbox.OpRun, SQL: endless}, nil)
		return false, err
	})
	if charged := s.pool.lanes.usage.Of("ann"); !errors.Is(err, context.Canceled) || charged < used || charged > time.Hour {
		t.Errorf("%v, charged %v", err, charged)
	}
	atEnd := ended.ProcessorTime()
	ended.Kill()
	if after := ended.ProcessorTime(); after < atEnd || after > atEnd+time.Hour {
		t.Errorf("used %v, and %v after its end", atEnd, after)
	}
}

// priorities returns 20 less the nice value of each thread of a process.
func priorities(t *testing.T, pid int) (all []int) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil || len(threads) < 2 {
		t.Fatalf("threads: %v, %v", threads, err)
	}
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		if priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, id); err == nil {
			all = append(all, priority)
		}
	}
	return all
}

// A panic in what uses a worker ends the worker, frees its slot, and goes on.
func TestPanicFreesTheSlot(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"on a usual worker": false, "on a worker for short queries": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, func(c *PoolConfig) { c.Workers = 1 })
			s.pool.lanes.slice = time.Hour
			if busy {
				s.pool.lanes.usual.AcquireUnbounded("other")
			}
			var used *queryWorker
			for range 3 {
				func() {
					defer func() {
						if got := recover(); got != "fault" {
							t.Errorf("recovered %v", got)
						}
					}()
					_ = s.pool.lease(t.Context(), Query{Tables: s.tables}.withDefaults(), func(_ context.Context, w *queryWorker) (bool, error) {
						used = w
						panic("fault")
					})
				}()
			}
			s.rows(t, "SELECT 1")
			if used.Alive() {
				t.Error("the worker is left")
			}
			s.pool.Close()
			if stats := s.pool.Stats(); stats.Running != 0 || stats.Ended != 3 {
				t.Errorf("%+v", stats)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	_, err := s.pool.Query(t.Context(), Query{SQL: endless, Tables: s.tables, Timeout: 300 * time.Millisecond})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "longer than 300ms") {
		t.Error(err)
	}
	s.rows(t, "SELECT 1")
}

func TestWorkersAreReused(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for range 5 {
		s.rows(t, "SELECT id FROM orders LIMIT 1")
	}
	// What is wrong with a query before it runs costs no worker.
	for _, wrong := range []string{"SELECT nothing FROM orders", "SELECT FROM", "SELECT sum(total), id FROM orders"} {
		if _, err := s.query(t, wrong); err == nil {
			t.Errorf("%s: no error", wrong)
		}
	}
	if stats := s.pool.Stats(); stats.Started != 1 || stats.Idle != 1 {
		t.Errorf("after queries of the same tables: %+v", stats)
	}
	for version := range 4 {
		s.tables[0].Version = fmt.Sprint("new", version)
		s.rows(t, "SELECT id FROM orders LIMIT 1")
	}
	if stats := s.pool.Stats(); stats.Started != 1 || stats.Idle != 1 {
		t.Errorf("after queries of other versions: %+v", stats)
	}
	// One that has read what a query may not read is not for it.
	s.tables = s.tables[1:]
	s.rows(t, "SELECT 1")
	if stats := s.pool.Stats(); stats.Started != 2 || stats.Idle != 2 {
		t.Errorf("after a query of fewer tables: %+v", stats)
	}
}

// Where there are enough workers, that of the user ends who has used most.
func TestWorkerOfTheBusiestUserEnds(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for _, user := range []string{"ann", "bob", "eve"} {
		if _, err := s.pool.Query(t.Context(), Query{SQL: "SELECT 1", User: user}); err != nil {
			t.Fatal(err)
		}
	}
	s.pool.lanes.usage.Add("bob", time.Hour)
	if _, err := s.pool.Query(t.Context(), Query{SQL: "SELECT 1", User: "joe"}); err != nil {
		t.Fatal(err)
	}
	var users []string
	for _, w := range s.pool.idle {
		users = append(users, w.user)
	}
	if !slices.Equal(users, []string{"ann", "eve", "joe"}) {
		t.Errorf("there are workers of %s", users)
	}
}

// A worker answers from the version of a dataset that the query has, whichever it had
// before: in memory or in files, with other columns, under another name, or gone.
func TestWorkersFollowVersions(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	versions := []Table{
		parquetTable(t, s.dir, "v1", "SELECT 1 AS a"),
		parquetTable(t, s.dir, "v2", "SELECT 2 AS a, 'x' AS b"),
		{},
	}
	versions[2] = versions[1]
	versions[2].Files = append(slices.Clone(versions[0].Files), versions[1].Files...)
	versions[2].RowCount = engine.MaxNativeRows + 1
	for i, want := range []string{`{"a":1,`, `{"a":2,"b":"x",`, `{"a":1,"b":null,`, `{"a":2,"b":"x",`, `{"a":1,`} {
		at := min(i, 4-i)
		v := versions[at]
		v.Name, v.ID, v.Version = "thing", "thing", fmt.Sprint(at)
		s.tables[2] = v
		for range 2 {
			if got := s.rows(t, "SELECT * FROM thing ORDER BY a LIMIT 1"); !strings.HasPrefix(got, want) {
				t.Errorf("version %d: %s", at, got)
			}
		}
	}
	s.tables[2].Name = "renamed"
	if got := s.rows(t, "SELECT * FROM Renamed"); !strings.HasPrefix(got, `{"a":1,`) {
		t.Error(got)
	}
	if _, err := s.query(t, "SELECT * FROM thing"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("under its old name: %v", err)
	}
	if stats := s.pool.Stats(); stats.Started != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Idle = time.Millisecond })
	s.rows(t, "SELECT 1")
	waittest.Until(t, "no worker is left", func() bool { return s.pool.Stats().Idle == 0 })
	s.rows(t, "SELECT 1")
}

func TestDeadIdleWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for range 5 {
		s.rows(t, "SELECT 1")
		pid := s.idle().PID
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.pool.Passages(t.Context(), "", s.tables[2], nil, "fox", 1); err != nil {
		t.Error(err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.rows(t, "SELECT 1")
	idle := s.idle()
	done := s.begin(t, t.Context(), 1)
	s.pool.Close()
	s.pool.Close()
	if err := <-done; !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a running query: %v", err)
	}
	if _, err := s.query(t, "SELECT 1"); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("a new query: %v", err)
	}
	if idle.Alive() {
		t.Error("a worker is left")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	checked, err := s.pool.Check(t.Context(), "", `SELECT * FROM ORDERS, (SELECT 1 FROM "order-items.v2")`, s.tables)
	if err != nil || strings.Join(checked.Tables, " ") != "orders order-items.v2" {
		t.Errorf("%v, %v", checked, err)
	}
	if _, err := s.pool.Check(t.Context(), "", "SELECT totl FROM orders", s.tables); !errors.Is(err, domain.ErrInvalid) {
		t.Error(err)
	}
}

// TestAdviceStaysInside provokes messages in which the engine speaks of its
// settings, which whoever asks cannot change.
func TestAdviceStaysInside(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for sql, want := range map[string]string{
		"SELECT 1" + strings.Repeat("+1", 20_000): "Max expression depth limit of 1000 exceeded.",
		"SELECT (SELECT id FROM orders)":          "More than one row returned by a subquery used as an expression - scalar subqueries can only return a single row.",
		"SELECT id FROM orders ORDER BY 'id'":     "ORDER BY non-integer literal has no effect.",
	} {
		if _, err := s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables}); err == nil || err.Error() != want {
			t.Errorf("%.60s: %v", sql, err)
		}
	}
}

// Large tables are read from their files.
func TestLargeTables(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	orders := &s.tables[0]
	orders.RowCount = engine.MaxNativeRows + 1
	if got := s.rows(t, "SELECT count(*) AS n, sum(id) AS ids FROM orders"); got != `{"n":1000,"ids":499500,"__metadata":{"score":1.0}}` {
		t.Error(got)
	}
	if err := os.Remove(orders.Files[0]); err != nil {
		t.Fatal(err)
	}
	orders.Version = "2"
	_, err := s.query(t, "SELECT count(*) FROM orders")
	var shown *domain.Error
	if err == nil || errors.As(err, &shown) {
		t.Errorf("a missing file is our fault, not the query's: %v", err)
	}
}

// A file that the worker's user may not read is our fault too, and no reason to
// read it with the server's rights.
func TestUnreadableFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root starts workers as another user")
	}
	s := newSetup(t, nil)
	if err := os.Chmod(s.tables[0].Files[0], 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := s.query(t, "SELECT id FROM orders")
	var shown *domain.Error
	if err == nil || errors.As(err, &shown) || !strings.Contains(err.Error(), "open table") {
		t.Error(err)
	}
	if got := s.rows(t, "SELECT count(*) AS n FROM notes"); got != `{"n":4,"__metadata":{"score":1.0}}` {
		t.Error(got)
	}
}

func TestEmptyTables(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.tables = append(s.tables, Table{Name: "nothing", Columns: []domain.Column{{Name: "a", Type: "BIGINT"}, {Name: "b", Type: "VARCHAR"}}})
	if got := s.rows(t, "SELECT count(a) AS n, max(b) AS b FROM nothing"); got != `{"n":0,"b":null,"__metadata":{"score":1.0}}` {
		t.Error(got)
	}
}

// Columns that came with a later file are NULL in earlier rows, and numbers
// widen.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	one, two := parquetTable(t, s.dir, "one", "SELECT 1 AS a"), parquetTable(t, s.dir, "two", "SELECT 2.5::DOUBLE AS a, 'x' AS b")
	both := Table{Name: "mixed", Columns: two.Columns, Files: append(one.Files, two.Files...), RowCount: 2}
	for _, rows := range []int64{2, engine.MaxNativeRows + 1} {
		both.RowCount = rows
		s.tables = []Table{both}
		if got := s.rows(t, "SELECT * FROM mixed ORDER BY a"); got != `{"a":1,"b":null,"__metadata":{"score":1.0}}`+"\n"+`{"a":2.5,"b":"x","__metadata":{"score":1.0}}` {
			t.Error(got)
		}
	}
}

// A worker that ends at its start, killed perhaps, is no fault of the query: it can
// be sent again.
func TestWorkerEndsAtItsStart(t *testing.T) {
	t.Parallel()
	pool, err := NewPool(PoolConfig{Command: func() (string, []string, []string) { return "/bin/false", nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Query(t.Context(), Query{SQL: "SELECT 1"}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}

// A canceled check gives its worker and its slot back.
func TestCanceledCheckFreesTheSlot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Workers = 1 })
	s.rows(t, "SELECT 1")
	for name, c := range map[string]struct {
		timeout time.Duration
		cancel  bool
		want    error
	}{
		"the client is gone": {time.Minute, true, context.Canceled},
		"the time is up":     {100 * time.Millisecond, false, errDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := s.pool.lease(ctx, Query{Tables: s.tables, Timeout: c.timeout}.withDefaults(), func(ctx context.Context, w *queryWorker) (bool, error) {
				_, err := sqlcheck.Check(ctx, "SELECT id FROM orders", columnsOf(s.tables), func(sql string) ([]byte, error) {
					tree, _, err := w.parse(ctx, sql)
					if c.cancel {
						cancel()
					}
					<-ctx.Done()
					return tree, err
				})
				return true, err
			})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if stats := s.pool.Stats(); stats.Running != 0 || stats.Idle != 1 || stats.Ended != 0 {
				t.Errorf("%+v", stats)
			}
			s.rows(t, "SELECT id FROM orders LIMIT 1")
		})
	}
	if stats := s.pool.Stats(); stats.Started != 1 {
		t.Errorf("%d workers were started", stats.Started)
	}
}

// They are not only let through: they run.
func TestQuestionsRun(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	for _, sql := range datasetstest.Questions {
		if _, err := s.query(t, sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
