package pgtest

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/cmd/parley/e2e/helpers/servertest"
)

func TestURLIsAnEmptyDatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	first, second := open(t, URL(t)), open(t, URL(t))

	if _, err := first.ExecContext(t.Context(), "CREATE TABLE mine (id INTEGER)"); err != nil {
		t.Fatalf("use the first database: %v", err)
	}
	for db, want := range map[*sql.DB]int{first: 1, second: 0} {
		var tables int
		err := db.QueryRowContext(t.Context(), `
			SELECT count(*)
			FROM information_schema.tables
			WHERE table_schema = 'public'`).Scan(&tables)
		if err != nil {
			t.Fatalf("count tables: %v", err)
		}
		if tables != want {
			t.Errorf("database has %d tables, want %d", tables, want)
		}
	}
}

func TestURLInParallel(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen = map[string]bool{}
	)
	t.Run("tests", func(t *testing.T) {
		for range 8 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				var name string
				if err := open(t, URL(t)).QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
					t.Fatalf("ask for the database's name: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if seen[name] {
					t.Errorf("database %s was given twice", name)
				}
				seen[name] = true
			})
		}
	})
}

func TestDatabaseIsDroppedUnderOpenConnections(t *testing.T) {
	t.Parallel()
	var inner string
	t.Run("inner", func(t *testing.T) {
		inner = URL(t)
		db, err := sql.Open("postgres", inner)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		if err := db.PingContext(t.Context()); err != nil {
			t.Fatalf("connect: %v", err)
		}
		// Not closed here: the drop has to cope.
	})
	if inner == "" {
		t.Skip("no PostgreSQL")
	}
	err := open(t, inner).PingContext(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("connecting after the test gave %v, want a database that does not exist", err)
	}
}

func TestExternalServer(t *testing.T) {
	t.Parallel()
	// The private cluster stands in for somebody's server.
	there := URL(t)
	srv, err := externalServer(there)
	if err != nil {
		t.Fatalf("externalServer: %v", err)
	}
	var name string
	if err := open(t, srv.url("template1")).QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatalf("ask for the database's name: %v", err)
	}
	if name != "template1" {
		t.Errorf("connected to %q, want template1", name)
	}
}

func TestExternalServerURL(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{"postgres://u:p@db.test:5433/main?sslmode=disable", "postgres://u:p@db.test:5433/fresh?sslmode=disable"},
		{"postgresql://db.test", "postgresql://db.test/fresh"},
		{"postgres://u@/?host=%2Frun%2Fpg&dbname=main", "postgres://u@/fresh?host=%2Frun%2Fpg"},
	} {
		srv, err := externalServer(tt.in)
		if err != nil {
			t.Errorf("externalServer(%q): %v", tt.in, err)
			continue
		}
		if got := srv.url("fresh"); got != tt.want {
			t.Errorf("database on %q = %q, want %q", tt.in, got, tt.want)
		}
	}
	for _, in := range []string{"mysql://db.test/main", "host=db.test password=secret", "postgres://u:secret@db.test:bad"} {
		if _, err := externalServer(in); err == nil {
			t.Errorf("externalServer(%q) was accepted", in)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("externalServer(%q) shows the password: %v", in, err)
		}
	}
}

func TestNewestFirst(t *testing.T) {
	t.Parallel()
	got := newestFirst([]string{
		"/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/9.6/bin",
		"/usr/lib/postgresql/old/bin", "/usr/lib/postgresql/17/bin",
	})
	want := []string{
		"/usr/lib/postgresql/17/bin", "/usr/lib/postgresql/15/bin",
		"/usr/lib/postgresql/9.6/bin", "/usr/lib/postgresql/old/bin",
	}
	if !slices.Equal(got, want) {
		t.Errorf("newestFirst = %q, want %q", got, want)
	}
}

func open(t *testing.T, rawURL string) *sql.DB {
	t.Helper()
	if _, err := url.Parse(rawURL); err != nil {
		t.Fatalf("URL gave no URL: %v", err)
	}
	db, err := sql.Open("postgres", rawURL)
	if err != nil {
		t.Fatalf("open %s: %v", rawURL, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close %s: %v", rawURL, err)
		}
	})
	return db
}

// TestDurable has the cluster of a full benchmark keep what is committed.
func TestDurable(t *testing.T) {
	t.Parallel()
	bin, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	for want, settings := range map[string][]string{"on on on": asItComes, "off off off": nil} {
		srv, err := startCluster(bin, settings...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = srv.lifeline.Close() })
		db, err := sql.Open("postgres", srv.admin.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		var got string
		err = db.QueryRowContext(t.Context(), `SELECT concat_ws(' ', current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes'))`).Scan(&got)
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", settings, got, err)
		}
	}
}

// TestCopies fills a database once, and gives each test a copy of its own.
func TestCopies(t *testing.T) {
	t.Parallel()
	var fills atomic.Int64
	copies := Copies{Fill: func(url string) error {
		fills.Add(1)
		db, err := sql.Open("postgres", url)
		if err != nil {
			return err
		}
		_, err = db.ExecContext(t.Context(), "CREATE TABLE notes AS SELECT 1 AS n")
		return errors.Join(err, db.Close())
	}}
	t.Run("copies", func(t *testing.T) {
		for i := range 8 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				db := open(t, copies.URL(t))
				var n int
				if err := db.QueryRowContext(t.Context(), "UPDATE notes SET n = n + 1 RETURNING n").Scan(&n); err != nil || n != 2 {
					t.Errorf("read %d, %v", n, err)
				}
			})
		}
	})
	if n := fills.Load(); n != 1 && os.Getenv("PARLEY_TEST_DATABASE_URL") == "" {
		t.Errorf("filled %d times", n)
	}
}
