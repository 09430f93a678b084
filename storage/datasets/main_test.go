package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/enginetest"
	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/engine"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// The test binary run again is the worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "worker" && os.Args[2] == "ingest" {
		os.Exit(engine.IngestMain())
	}
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(engine.QueryMain())
	}
	if len(os.Args) == 4 && os.Args[1] == "wrongReplies" {
		honest, _ := strconv.Atoi(os.Args[3])
		replyWrongly(os.Args[2], honest)
		os.Exit(0)
	}
	if len(os.Args) == 3 {
		if run, ok := processes[os.Args[1]]; ok {
			run(os.Args[2])
			os.Exit(0)
		}
	}
	code := m.Run()
	if dir, err := sharedDir(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// processes are what else the test binary is when it is run again, with an
// argument.
var processes = map[string]func(string){
	"compromised": compromised,
	"orphan":      orphan,
	"crash":       crash,
	"allocate":    allocate,
	"peak":        peak,
}

// sharedDir is for what tests share.
var sharedDir = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "datasets-test")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
})

// plainWorker returns how to run a worker without the race detector, which is
// what has a limit of its address space.
var plainWorker = sync.OnceValues(func() (string, error) {
	if !sandbox.RaceEnabled {
		return sandbox.Executable(), nil
	}
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "datasets.test")
	// Without flags for the compiler that are for race builds, it uses what others have built.
	out, err := exec.Command("go", "test", "-c", "-gcflags=all=", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build a plain worker: %w: %s", err, out)
	}
	return path, nil
})

// documentIngester ingests in plain workers, which load PDFium: its first job, which compiles
// it, is done here, so that no two tests begin to.
var documentIngester = sync.OnceValues(func() (*Ingester, error) {
	path, err := plainWorker()
	if err != nil {
		return nil, err
	}
	dir, err := sharedDir()
	if err != nil {
		return nil, err
	}
	ingester := NewIngester(IngesterConfig{
		Dir: filepath.Join(dir, "programs"), Command: func() (string, []string, []string) { return path, []string{"worker", "ingest"}, nil },
	})
	source := ingest.Source{Path: filepath.Join(dir, "text.pdf"), Name: "text.pdf"}
	if err := os.WriteFile(source.Path, []byte(textPDF), 0o600); err != nil {
		return nil, err
	}
	out, err := os.MkdirTemp(dir, "out-")
	if err != nil {
		return nil, err
	}
	if _, _, err := ingester.Text(context.Background(), Admission{User: "alice"}, source, domain.IngestOptions{}, out, 1000); err != nil {
		return nil, err
	}
	if ingester.programs.Load() == nil {
		return nil, errors.New("PDFium was not compiled")
	}
	return ingester, nil
})

// setup makes a pool and, in a folder, the tables orders, items, notes and
// secrets, the last of which is for no query.
type setup struct {
	pool   *Pool
	tables []Table
	secret string
	dir    string
}

func newSetup(t testing.TB, change func(*PoolConfig)) *setup {
	t.Helper()
	path, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	config := PoolConfig{
		Workers: 2, Memory: 256 << 20, Threads: 1, Idle: time.Hour,
		Command: func() (string, []string, []string) { return path, []string{"worker"}, nil },
	}
	if change != nil {
		change(&config)
	}
	pool, err := NewPool(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	dir := t.TempDir()
	s := &setup{pool: pool, dir: dir, secret: filepath.Join(dir, "secret.csv")}
	if err := os.WriteFile(s.secret, []byte("word\nhidden-treasure\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.tables = []Table{
		parquetTable(t, dir, "orders", `SELECT i AS id, 'customer ' || i % 100 AS customer, (i * 7 % 1000) / 10.0 AS total,
			DATE '2024-01-01' + CAST(i % 365 AS INTEGER) AS day FROM range(1000) r(i)`),
		parquetTable(t, dir, "order-items.v2", `SELECT i AS order_id, i % 7 AS quantity FROM range(3000) r(i)`),
		parquetTable(t, dir, "notes", `SELECT * FROM (VALUES
			('a.md', 1, 'The quick brown fox jumps over the lazy dog'),
			('a.md', 2, 'Foxes are cunning; a fox hunts by night'),
			('b.md', 1, 'Crème brûlée is a dessert of custard and caramel'),
			('b.md', 2, 'Nothing to see here, move along')) v(document, passage, text)`),
	}
	s.tables[1].RowCount = engine.MaxNativeRows + 1 // so that it is read from its file each time
	parquetTable(t, dir, "secrets", "SELECT 'hidden-treasure' AS word")
	return s
}

func (s *setup) query(t testing.TB, sql string) (domain.QueryResult, error) {
	t.Helper()
	return s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, Timeout: 20 * time.Second})
}

// idle returns an idle worker.
func (s *setup) idle() *queryWorker {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.idle[0].queryWorker
}

// rows runs a query that must work and gives its rows, one a line.
func (s *setup) rows(t testing.TB, sql string) string {
	t.Helper()
	result, err := s.query(t, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	for _, row := range result.Rows {
		lines = append(lines, string(row))
	}
	return strings.Join(lines, "\n")
}

// writer is the DuckDB that writes the files of all tests, one at a time.
var (
	writer = sync.OnceValues(func() (*engine.Engine, error) {
		return engine.Open(sandbox.OpenRequest{Memory: 3 << 30, Threads: 1, Exposed: true})
	})
	writerLock sync.Mutex
)

// parquetTable writes a query's rows to a file and gives the table that it makes.
func parquetTable(t testing.TB, dir, name, query string) sandbox.Table {
	t.Helper()
	file := filepath.Join(dir, name+".parquet")
	e, err := writer()
	if err != nil {
		t.Fatal(err)
	}
	writerLock.Lock()
	defer writerLock.Unlock()
	if err := e.Exec(fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet)", query, sqltext.Text(file))); err != nil {
		t.Fatal(err)
	}
	rows := enginetest.Run(t, e, "SELECT * FROM read_parquet("+sqltext.Text(file)+")", 1)
	count := enginetest.Run(t, e, "SELECT count(*) AS n FROM read_parquet("+sqltext.Text(file)+")", 1)
	var row struct{ N int64 }
	if err := json.Unmarshal(count.Rows[0], &row); err != nil {
		t.Fatal(err)
	}
	return sandbox.Table{Name: name, Files: []string{file}, ID: name, Version: "1", Columns: rows.Head.Columns, RowCount: row.N}
}
