package datasets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/storage/datasets/engine"
)

// shelf is a Source that counts who holds what of it. What was held once is at
// hand.
type shelf struct {
	files map[string][]string
	mu    sync.Mutex
	here  map[string]bool
	holds map[string]int
	// fetched are the tables that had to be, in order, given those whose files were
	// asked for, each time.
	fetched, given []string
	err            error
}

// shelved takes the files out of the tables of a setup.
func (s *setup) shelved() *shelf {
	all := &shelf{files: map[string][]string{}, here: map[string]bool{}, holds: map[string]int{}}
	for i, t := range s.tables {
		all.files[t.Name] = t.Files
		s.tables[i].Files = nil
	}
	return all
}

func (s *shelf) Hold(_ context.Context, tables []string) (func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range tables {
		if s.err != nil {
			return nil, s.err
		}
		if !s.here[name] {
			s.fetched = append(s.fetched, name)
		}
		s.here[name] = true
	}
	_, release := s.give(tables)
	return release, nil
}

func (s *shelf) Ready(tables []string) (map[string][]string, func(), bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(tables, func(name string) bool { return !s.here[name] }) {
		return nil, nil, false
	}
	files, release := s.give(tables)
	return files, release, true
}

func (s *shelf) Verify(context.Context, []string) error { return nil }

func (s *shelf) give(tables []string) (map[string][]string, func()) {
	files := map[string][]string{}
	for _, name := range tables {
		files[name] = s.files[name]
		s.holds[name]++
		s.given = append(s.given, name)
	}
	return files, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name := range files {
			s.holds[name]--
		}
	})
}

// held returns the tables that somebody holds, and all that were fetched.
func (s *shelf) held() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var held []string
	for _, name := range slices.Sorted(maps.Keys(s.holds)) {
		if s.holds[name] > 0 {
			held = append(held, fmt.Sprint(name, ":", s.holds[name]))
		}
	}
	return strings.Join(held, " ") + " of " + strings.Join(s.fetched, " ")
}

func (s *setup) from(t testing.TB, source Source, sql string) (domain.QueryResult, error) {
	t.Helper()
	return s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, Source: source, Timeout: 20 * time.Second})
}

// TestFilesWhenNeeded fetches the files of the tables that statements read, and of no
// others, holds them while a query runs, and gives them to the worker that is there.
func TestFilesWhenNeeded(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	for _, step := range []struct{ sql, held string }{
		{`SELECT 1`, " of "},
		{`SELECT count(*) FROM orders`, " of orders"},
		{`SELECT 'notes' AS notes, max(id) FROM Orders`, " of orders"},
		{`WITH notes AS (SELECT 1) SELECT * FROM notes`, " of orders"},
		{`SELECT count(*) FROM orders JOIN "order-items.v2" ON id = order_id`, " of orders order-items.v2"},
		{`SELECT count(*) FROM orders`, " of orders order-items.v2"},
		{`SELECT count(*) FROM (SELECT * FROM notes)`, " of orders order-items.v2 notes"},
	} {
		if _, err := s.from(t, source, step.sql); err != nil {
			t.Fatalf("%s: %v", step.sql, err)
		}
		if got := source.held(); got != step.held || s.pool.Stats().Started != 1 {
			t.Errorf("%s: %d started; held are %q, want %q", step.sql, s.pool.Stats().Started, got, step.held)
		}
	}
	// What is wrong with a statement is found without any file.
	source.given = nil
	for _, wrong := range []string{"SELECT * FROM nothing", "SELECT none FROM notes", "SELECT FROM"} {
		if _, err := s.from(t, source, wrong); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	// What is in memory needs no files.
	if _, err := s.from(t, source, `SELECT count(*) FROM notes, orders`); err != nil || len(source.given) > 0 {
		t.Errorf("%v; files of %q were asked for", err, source.given)
	}
	if result, err := s.pool.Passages(t.Context(), "", s.tables[2], source, "fox", 1); err != nil || len(result.Rows) != 1 {
		t.Errorf("passages: %v", err)
	}
	if got := source.held(); !strings.HasPrefix(got, " of ") {
		t.Errorf("after the end: %q", got)
	}
}

// A table that is too large for memory is read from its files each time, which are held
// for that.
func TestFilesOfLargeTables(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.tables[0].RowCount = engine.MaxNativeRows + 1
	source := s.shelved()
	for range 3 {
		if result, err := s.from(t, source, "SELECT count(*) AS n FROM orders"); err != nil || !strings.Contains(string(result.Rows[0]), "1000") {
			t.Fatalf("%s, %v", result.Rows, err)
		}
	}
	if got := strings.Join(source.given, " ") + source.held(); got != "orders orders orders orders of orders" {
		t.Error(got)
	}
	if stats := s.pool.Stats(); stats.Started != 1 {
		t.Errorf("%+v", stats)
	}
}

// openFiles returns what the kernel says of a worker's descriptors.
func openFiles(t *testing.T, w *idleWorker) (paths []string) {
	t.Helper()
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", w.PID))
	if err != nil || len(links) == 0 {
		t.Skip("the kernel does not say")
	}
	for _, link := range links {
		path, err := os.Readlink(link)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Between queries a worker has no file of a table, open or to be opened, and it is for
// nobody who may not read what it has read.
func TestWorkerHasOnlyItsFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Dir = t.TempDir() })
	s.tables[0].RowCount = engine.MaxNativeRows + 1
	source := s.shelved()
	for _, sql := range []string{"SELECT count(*) FROM orders", "SELECT count(*) FROM notes"} {
		if _, err := s.from(t, source, sql); err != nil {
			t.Fatal(err)
		}
	}
	own := s.tables
	s.tables = own[:1] // what another token may read
	if _, err := s.from(t, source, "SELECT count(*) FROM orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.from(t, source, "SELECT count(*) FROM notes"); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a table of others: %v", err)
	}
	if len(s.pool.idle) != 2 {
		t.Errorf("%d workers", len(s.pool.idle))
	}
	// A worker can inherit what DuckDB in this process writes for another test.
	folders := filepath.Dir(s.dir)
	for _, w := range s.pool.idle {
		for _, path := range openFiles(t, w) {
			if strings.HasPrefix(path, folders) && strings.HasSuffix(path, ".parquet") {
				t.Errorf("%s is open", path)
			}
		}
	}
	if links, err := filepath.Glob(filepath.Join(s.pool.config.Dir, "work-*", "*")); err != nil || len(links) > 0 {
		t.Errorf("links are left: %q, %v", links, err)
	}
	s.pool.Close()
	if left, err := filepath.Glob(filepath.Join(s.pool.config.Dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("folders are left: %q, %v", left, err)
	}
}

// An append to one dataset, and a new dataset, leave the workers of others warm, and their
// descriptors are as many as before.
func TestAppendsLeaveWorkersWarm(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.rows(t, "SELECT count(*) FROM orders")
	before := len(openFiles(t, s.pool.idle[0]))
	for i := range 50 {
		other := s.tables[1]
		other.Name, other.ID = fmt.Sprint("other", i), fmt.Sprint("other", i)
		s.tables = append(s.tables, other)
		s.tables[1].Version = fmt.Sprint("appended", i)
		s.rows(t, "SELECT count(*) FROM orders")
		s.rows(t, fmt.Sprintf("SELECT count(*) FROM other%d", i))
	}
	if stats := s.pool.Stats(); stats.Started != 1 {
		t.Errorf("%+v", stats)
	}
	if open := openFiles(t, s.pool.idle[0]); len(open) > before+2 {
		t.Errorf("%d files were open, now %d: %q", before, len(open), open)
	}
}

func TestFilesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	source.err = domain.Errorf(domain.ErrUnavailable, "the data cannot be read now; try again")
	for range 2 {
		if _, err := s.from(t, source, "SELECT count(*) FROM orders"); !errors.Is(err, domain.ErrUnavailable) || err.Error() != source.err.Error() {
			t.Errorf("%v", err)
		}
	}
	source.err = nil
	if _, err := s.from(t, source, "SELECT count(*) FROM orders"); err != nil {
		t.Error(err)
	}
	if stats := s.pool.Stats(); stats.Started != 1 || stats.Idle != 1 {
		t.Errorf("%+v", stats)
	}
}
