package lake

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

	"parley/storage"
)

// shelf is a Source that counts who holds what of it. What was held once is at
// hand.
type shelf struct {
	files map[string][]string
	mu    sync.Mutex
	here  map[string]bool
	holds map[string]int
	// fetched are the tables that had to be, in order.
	fetched []string
	err     error
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

func (s *shelf) Hold(_ context.Context, tables []string) (map[string][]string, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range tables {
		if s.err != nil {
			return nil, nil, s.err
		}
		if !s.here[name] {
			s.fetched = append(s.fetched, name)
		}
		s.here[name] = true
	}
	files, release := s.give(tables)
	return files, release, nil
}

func (s *shelf) Ready(tables []string) (map[string][]string, func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.give(tables)
}

func (s *shelf) give(tables []string) (map[string][]string, func()) {
	files := map[string][]string{}
	for _, name := range tables {
		if _, done := files[name]; s.here[name] && !done {
			files[name] = s.files[name]
			s.holds[name]++
		}
	}
	return files, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name := range files {
			s.holds[name]--
		}
	})
}

// held gives the tables that somebody holds, and all that were fetched.
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

func (s *setup) from(t testing.TB, source Source, sql string) (Result, error) {
	t.Helper()
	return s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, Source: source, Timeout: 20 * time.Second})
}

// TestFilesWhenNeeded fetches the files of the tables that statements read, and
// of no others, and gives them to workers, which grow.
func TestFilesWhenNeeded(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	started := int64(0)
	for _, step := range []struct {
		sql    string
		starts int64
		held   string
	}{
		{`SELECT 1`, 1, " of "},
		// The worker there is gives way to one that has the table.
		{`SELECT count(*) FROM orders`, 1, "orders:1 of orders"},
		{`SELECT 'notes' AS notes, max(id) FROM Orders`, 0, "orders:1 of orders"},
		{`SELECT 1`, 0, "orders:1 of orders"},
		{`WITH notes AS (SELECT 1) SELECT * FROM notes`, 0, "orders:1 of orders"},
		{`SELECT count(*) FROM orders JOIN "order-items.v2" ON id = order_id`, 1, "order-items.v2:1 orders:1 of orders order-items.v2"},
		{`SELECT count(*) FROM orders`, 0, "order-items.v2:1 orders:1 of orders order-items.v2"},
		{`SELECT count(*) FROM (SELECT * FROM notes)`, 1, "notes:1 order-items.v2:1 orders:1 of orders order-items.v2 notes"},
	} {
		if _, err := s.from(t, source, step.sql); err != nil {
			t.Fatalf("%s: %v", step.sql, err)
		}
		started += step.starts
		if got := source.held(); got != step.held || s.pool.Stats().Started != started {
			t.Errorf("%s: %d started, want %d; held are %q, want %q", step.sql, s.pool.Stats().Started, started, got, step.held)
		}
	}
	// What is wrong with a statement is found without any file.
	for _, wrong := range []string{"SELECT * FROM nothing", "SELECT none FROM notes", "SELECT FROM"} {
		if _, err := s.from(t, source, wrong); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	s.pool.ReleaseFiles()
	if got := source.held(); !strings.HasPrefix(got, " of ") || s.pool.Stats().Idle != 0 {
		t.Errorf("after letting go: %q", got)
	}
	// What is at hand, and seems to be named, comes with the first start.
	if _, err := s.from(t, source, `SELECT count(*) FROM notes WHERE text <> 'orders'`); err != nil || s.pool.Stats().Started != started+1 {
		t.Errorf("%v, %d started", err, s.pool.Stats().Started)
	}
	if result, err := s.pool.Passages(t.Context(), "", s.tables[2], source, "fox", 1); err != nil || len(result.Rows) != 1 {
		t.Errorf("passages: %v", err)
	}
	s.pool.Close()
	if got := source.held(); !strings.HasPrefix(got, " of ") {
		t.Errorf("after the end: %q", got)
	}
}

// A worker has the files of its tables open, and nobody else's.
func TestWorkerHasOnlyItsFiles(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	for _, sql := range []string{"SELECT count(*) FROM orders", "SELECT count(*) FROM notes"} {
		if _, err := s.from(t, source, sql); err != nil {
			t.Fatal(err)
		}
	}
	own := s.tables
	s.tables = own[:1] // what another may read
	if _, err := s.from(t, source, "SELECT count(*) FROM orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.from(t, source, "SELECT count(*) FROM notes"); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("a table of others: %v", err)
	}
	var got []string
	for _, w := range s.pool.idle {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", w.PID))
		if err != nil || len(links) == 0 {
			t.Skip("the kernel does not say")
		}
		var open []string
		for _, link := range links {
			// Those of other tests, which make theirs in this process, may have been
			// open when the worker was started.
			if path, err := os.Readlink(link); err == nil && strings.HasSuffix(path, ".parquet") && strings.HasPrefix(path, s.dir) {
				open = append(open, filepath.Base(path))
			}
		}
		slices.Sort(open)
		got = append(got, strings.Join(slices.Compact(open), " "))
	}
	if fmt.Sprint(got) != "[notes.parquet orders.parquet orders.parquet]" {
		t.Errorf("open are %q", got)
	}
}

// A worker that is at work when the files are wanted back ends with its query.
func TestLetGoAtWork(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	if _, err := s.from(t, source, "SELECT count(*) FROM orders"); err != nil {
		t.Fatal(err)
	}
	q := Query{Tables: s.tables, Source: source}.withDefaults()
	err := s.pool.lease(t.Context(), q, demand{tables: []string{"orders"}, all: true}, func(context.Context, *queryWorker) (bool, error) {
		s.pool.ReleaseFiles()
		if got := source.held(); got != "orders:1 of orders" {
			t.Errorf("at work: %q", got)
		}
		return true, nil
	})
	if err != nil {
		t.Error(err)
	}
	eventually(t, "its files are let go of", func() bool { return source.held() == " of orders" })
	if idle := s.pool.Stats().Idle; idle != 0 {
		t.Errorf("%d workers are kept", idle)
	}
}

func TestFilesThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	source := s.shelved()
	source.err = storage.Errorf(storage.ErrUnavailable, "the data cannot be read now; try again")
	for range 2 {
		if _, err := s.from(t, source, "SELECT count(*) FROM orders"); !errors.Is(err, storage.ErrUnavailable) || err.Error() != source.err.Error() {
			t.Errorf("%v", err)
		}
	}
	source.err = nil
	if _, err := s.from(t, source, "SELECT count(*) FROM orders"); err != nil {
		t.Error(err)
	}
	if stats := s.pool.Stats(); stats.Started != 2 || stats.Idle != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestGuess(t *testing.T) {
	t.Parallel()
	tables := []Table{{Name: "orders"}, {Name: "order-items.v2"}, {Name: "Größen"}, {Name: "a"}}
	for sql, want := range map[string]string{
		`SELECT * FROM orders`:                          "[orders]",
		`select*from"order-items.v2"o,ORDERS`:           "[order-items.v2 orders]",
		`SELECT * FROM GRÖSSEN, "größen"`:               "[Größen]",
		`SELECT "unclosed FROM orders`:                  "[]",
		`SELECT banana, x.a FROM orders_2 -- "orders" `: "[a orders]",
		``:                "[]",
		"\xff\xfe \"\xff": "[]",
	} {
		if got := fmt.Sprint(Query{SQL: sql, Tables: tables, Source: &shelf{}}.guess()); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
