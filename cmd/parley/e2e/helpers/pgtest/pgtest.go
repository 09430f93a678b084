package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/lib/pq" // the driver behind sql.Open("postgres", …)

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/servertest"
)

// databaseTimeout bounds making or dropping one database, on a busy machine.
const databaseTimeout = time.Minute

// URL returns the postgres:// URL of a fresh, empty database for this test
// alone. The database is dropped when the test and its subtests are done, even
// with connections left open. URL may be called from parallel tests, and several
// times by one. Where no PostgreSQL is found the test is skipped, or fails with
// CI=true in the environment.
func URL(t testing.TB) string {
	t.Helper()
	srv, err := shared()
	servertest.Require(t, err, errNoPostgres)
	// template0 rather than template1: nobody can be connected to it, which would
	// make the copy fail.
	return srv.copyOf(t, "template0")
}

// copyOf makes a copy of a database for a test, and returns its URL.
func (s *server) copyOf(t testing.TB, template string) string {
	t.Helper()
	name := newName()
	if err := s.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template); err != nil {
		t.Fatalf("pgtest: create the test's database: %v", err)
	}
	t.Cleanup(func() {
		if err := s.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Logf("pgtest: drop the test's database: %v", err)
		}
	})
	return s.url(name)
}

func newName() string { return "parley_test_" + strings.ToLower(rand.Text()) }

// Copies returns tests copies of one database, which takes less time than to fill each. It is
// safe for concurrent use.
type Copies struct {
	// Fill fills a new database, and leaves no connection to it open. It is called once, or
	// on another server for each database.
	Fill func(url string) error

	once     sync.Once
	template string
	err      error
}

// URL is like the function URL, for a database that is filled.
func (c *Copies) URL(t testing.TB) string {
	t.Helper()
	srv, err := shared()
	servertest.Require(t, err, errNoPostgres)
	if srv.dir == "" { // nothing would drop the one that is copied
		address := URL(t)
		if err := c.Fill(address); err != nil {
			t.Fatalf("pgtest: fill a database: %v", err)
		}
		return address
	}
	c.once.Do(func() {
		name := newName()
		if c.err = srv.exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE template0"); c.err == nil {
			c.template, c.err = name, c.Fill(srv.url(name))
		}
	})
	if c.err != nil {
		t.Fatalf("pgtest: fill a database: %v", c.err)
	}
	return srv.copyOf(t, c.template)
}

// asItComes are settings that take back what makes tests fast.
var asItComes = []string{
	"fsync=on", "synchronous_commit=on", "full_page_writes=on", "wal_level=replica", "max_wal_size=1GB", "autovacuum=on", "shared_buffers=128MB",
}

// shared is the server of this process. It keeps the cluster's lifeline
// reachable for as long as the process lives.
var shared = sync.OnceValues(func() (*server, error) {
	if raw := os.Getenv("PARLEY_TEST_DATABASE_URL"); raw != "" {
		return externalServer(raw)
	}
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	if benchtest.Full() {
		return startCluster(bin, asItComes...)
	}
	return startCluster(bin)
})

// server is where databases are made.
type server struct {
	admin    url.URL  // a database to send CREATE and DROP DATABASE to
	dir      string   // the private cluster's; "" on another server
	lifeline *os.File // the private cluster ends when this closes; nil on another server
}

func externalServer(raw string) (*server, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's own text repeats the URL, password and all.
		return nil, errors.New("pgtest: PARLEY_TEST_DATABASE_URL is not a URL")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, fmt.Errorf("pgtest: PARLEY_TEST_DATABASE_URL has scheme %q, want postgres", u.Scheme)
	}
	return &server{admin: *u}, nil
}

func (s *server) url(database string) string {
	u := s.admin
	u.Path = "/" + database
	query := u.Query()
	query.Del("dbname") // it would win over the path
	u.RawQuery = query.Encode()
	return u.String()
}

// exec runs one statement on a connection of its own, so that no goroutine or
// connection of ours stays around for tests that count them.
func (s *server) exec(ctx context.Context, statement string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	db, err := sql.Open("postgres", s.admin.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, statement)
	return err
}
