package datasets

import (
	"strings"
	"testing"
	"time"
)

// Filtered tables are in memory, whatever their size. Those that a query does not name make room.
func TestFilteredTables(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.Memory, c.Workers = 128<<20, 1 })
	var tables []Table
	for _, name := range []string{"big1", "big2", "big3"} {
		table := parquetTable(t, s.dir, name, `SELECT i AS id, hash(i) AS h, hash(i+1) AS h2, hash(i+7)::VARCHAR AS t FROM range(1500000) r(i)`)
		table.ID, table.Filter, table.Version = name, "(id >= 0\n)", name
		tables = append(tables, table)
	}
	for _, name := range []string{"big1", "big2", "big3", "big1"} {
		result, err := s.pool.Query(t.Context(), Query{SQL: "SELECT count(*) AS n FROM " + name, Tables: tables, User: "bob", Timeout: time.Minute})
		if err != nil || len(result.Rows) != 1 || !strings.Contains(string(result.Rows[0]), `"n":1500000`) {
			t.Errorf("%s: %s, %v", name, result.Rows, err)
		}
	}
	if stats := s.pool.Stats(); stats.Started != 1 {
		t.Errorf("%d workers, want 1", stats.Started)
	}
}
