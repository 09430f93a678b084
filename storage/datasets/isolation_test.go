package datasets

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

const treasure = "hidden-treasure"

// statement fills a hostile statement's places in.
func (s *setup) statement(sql string) string {
	return strings.NewReplacer("{dir}", s.dir, "{secret}", s.secret, "{file}", s.tables[0].Files[0], "{link}", linkOf(s.tables[1])).Replace(sql)
}

// linkOf is the name by which a worker reads a table's file while a query of it runs.
func linkOf(t Table) string {
	sum := sha256.Sum256([]byte(t.Files[0]))
	return fmt.Sprintf("/proc/self/fd/5/%x.parquet", sum[:16])
}

// snapshot is what a folder holds, to see that it stays so.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", path, sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// giants are statements that are too much by themselves.
func giants() []string {
	doubling, narrow := "WITH c0 AS (SELECT 1 AS x)", "WITH c0 AS (SELECT 1 AS x)"
	for i := 1; i < 60; i++ {
		doubling += fmt.Sprintf(", c%d AS (SELECT * FROM c%d a, c%d b)", i, i-1, i-1)
		narrow += fmt.Sprintf(", c%d AS (SELECT a.x FROM c%d a, c%d b)", i, i-1, i-1)
	}
	stars := strings.Repeat("SELECT "+strings.Repeat("*, ", 30)+"* FROM (", 8) + "SELECT * FROM orders" + strings.Repeat(")", 8)
	return []string{
		doubling + " SELECT count(*) FROM c59",
		doubling + " SELECT count(*) FROM c59 UNION BY NAME SELECT * FROM c59",
		narrow + " SELECT nothing FROM c59",
		stars,
		strings.Repeat(" ", 10<<20) + "SELECT 1",
		"SELECT '" + strings.Repeat("x", 10<<20) + "'",
		"SELECT " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000),
		"SELECT " + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
		"SELECT " + strings.Repeat("-", 1) + strings.Repeat("(-", 10_000) + "1" + strings.Repeat(")", 10_000),
		"SELECT " + strings.Repeat("NOT ", 15_000) + "true",
		"SELECT 1" + strings.Repeat("+1", 30_000),
		"SELECT 1 WHERE true" + strings.Repeat(" AND true", 7_000),
		"SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 3_000),
		strings.Repeat("SELECT * FROM (", 4_000) + "SELECT 1" + strings.Repeat(")", 4_000),
		"SELECT " + strings.Repeat("CASE WHEN true THEN ", 2_500) + "1" + strings.Repeat(" END", 2_500),
		"SELECT * FROM orders" + strings.Repeat(" JOIN orders USING (id)", 2_500),
		"SELECT " + strings.Repeat("1,", 32_000) + "1",
		"WITH " + strings.Repeat("a AS (WITH ", 2_000) + "b AS (SELECT 1) SELECT 1" + strings.Repeat(") SELECT 1", 2_000),
		"SELECT \xff\xfe",
		"SELECT 1 \x00; DROP TABLE orders",
		"", " ", ";", "--", "/*", "'", "\"", "SELECT", "\ufeff",
	}
}

func TestHostileListIsLongEnough(t *testing.T) {
	t.Parallel()
	if n := len(datasetstest.Trespasses) + len(datasetstest.Bombs) + len(giants()); n < 250 {
		t.Errorf("the hostile list has shrunk to %d statements", n)
	}
}

// hostile runs statements one after the other, on as many workers as the pool
// has, and checks after each that a sound query still works.
func (s *setup) hostile(t *testing.T, statements []string, timeout time.Duration, check func(sql string, result domain.QueryResult, err error)) {
	t.Helper()
	if err := os.Symlink(s.secret, filepath.Join(s.dir, "link")); err != nil {
		t.Fatal(err)
	}
	before, memory := snapshot(t, s.dir), heldMemory()
	work := make(chan string)
	var wg sync.WaitGroup
	for range s.pool.config.Workers {
		wg.Go(func() {
			for sql := range work {
				start := time.Now()
				result, err := s.pool.Query(t.Context(), Query{SQL: s.statement(sql), Tables: s.tables, Timeout: timeout})
				// On a busy machine it takes a while until a killed worker is gone.
				if took := time.Since(start); took > timeout+20*time.Second {
					t.Errorf("%.80s: took %s", sql, took)
				}
				check(sql, result, err)
				for _, row := range result.Rows {
					if strings.Contains(string(row), treasure) || strings.Contains(string(row), "root:") {
						t.Errorf("%.80s: gave %s", sql, row)
					}
				}
				if err != nil && (strings.Contains(err.Error(), treasure) || strings.Contains(err.Error(), s.dir) && !strings.Contains(sql, "{")) {
					t.Errorf("%.80s: error shows too much: %v", sql, err)
				}
				if got, err := s.query(t, "SELECT count(*) AS n FROM orders"); err != nil {
					t.Errorf("%.80s: the next query failed: %v", sql, err)
				} else if string(got.Rows[0]) != `{"n":1000,"__metadata":{"score":1.0}}` {
					t.Errorf("%.80s: the next query gave %s", sql, got.Rows[0])
				}
			}
		})
	}
	for _, sql := range statements {
		work <- sql
	}
	close(work)
	wg.Wait()
	if after := snapshot(t, s.dir); after != before {
		t.Errorf("files changed:\n%s\nto\n%s", before, after)
	}
	// Tests beside this one hold memory for a while too.
	waittest.Until(t, "memory has not grown by more than 256 MiB", func() bool { return heldMemory()-memory <= 256<<20 })
}

// heldMemory is what the pool's side, which is all Go, holds in memory. What
// this process has besides is DuckDB, with which the tests make their tables.
func heldMemory() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func refused(t *testing.T) func(string, domain.QueryResult, error) {
	return func(sql string, _ domain.QueryResult, err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%.80s: not refused: %v", sql, err)
		}
	}
}

// anything is for tests where only the damage counts.
func anything(string, domain.QueryResult, error) {}

func TestAllLayers(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.hostile(t, datasetstest.Trespasses, 10*time.Second, refused(t))
}

func TestBombs(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	s := newSetup(t, nil)
	s.hostile(t, datasetstest.Bombs, time.Duration(fulltest.Count(200, 500))*time.Millisecond, refused(t))
}

func TestGiants(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.hostile(t, giants(), 10*time.Second, refused(t))
}

// Without the validator the worker holds.
func TestWorkerHolds(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.unchecked = true })
	s.hostile(t, datasetstest.Trespasses, time.Second, anything)
}

// Without DuckDB's settings the validator holds.
func TestValidatorHoldsWithoutSettings(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.exposed = true })
	s.hostile(t, datasetstest.Trespasses, 10*time.Second, refused(t))
}

// Without validator and the worker's sandbox DuckDB's settings hold.
func TestSettingsHold(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.unchecked, c.unconfined = true, true })
	var statements []string
	for _, sql := range datasetstest.Trespasses {
		// A table's own file may be written while it is linked, as far as DuckDB's
		// settings go: that is what the sandbox is for.
		if !strings.Contains(sql, "TO '{link}'") {
			statements = append(statements, sql)
		}
	}
	s.hostile(t, statements, time.Second, anything)
}

// Without validator and settings the process holds: what it cannot read it
// cannot give away, and nothing that it does is left behind.
func TestProcessHolds(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.unchecked, c.exposed = true, true })
	s.hostile(t, datasetstest.Trespasses, time.Second, anything)
}

// Without any isolation the list does what it is for: the tests above can fail.
func TestHostileListBites(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.unchecked, c.exposed, c.unconfined = true, true, true })
	for _, sql := range []string{"SELECT * FROM '{secret}'", "SELECT content FROM read_text('{secret}')", "SELECT * FROM '{dir}/secrets.parquet'"} {
		if got := s.rows(t, s.statement(sql)); !strings.Contains(got, treasure) {
			t.Errorf("%s: got %s", sql, got)
		}
	}
	if got := s.rows(t, s.statement("SELECT count(*) AS n FROM '{link}'")); !strings.Contains(got, "3000") {
		t.Errorf("a table's own file: got %s", got)
	}
	before := snapshot(t, s.dir)
	if _, err := s.query(t, s.statement("COPY (SELECT 1) TO '{dir}/copied.csv'")); err != nil {
		t.Error(err)
	}
	if snapshot(t, s.dir) == before {
		t.Error("nothing was written")
	}
}
