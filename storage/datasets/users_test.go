package datasets

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/fulltest"
)

// attempts are what one user of a namespace could try, statement by statement, to
// learn what another asks, or to disturb it. {pid} is the other's worker.
var attempts = map[string][]string{
	"log queries":                {"CALL enable_logging('QueryLog')", "SELECT 1"},
	"log all, in memory":         {"CALL enable_logging(level := 'trace', storage := 'memory')", "SELECT 1"},
	"log to standard output":     {"CALL enable_logging('QueryLog', storage := 'stdout')", "SELECT 1"},
	"log to a file":              {"CALL enable_logging('QueryLog', storage := 'file', storage_config := {'path': '/tmp/parley-log'})", "SELECT 1"},
	"log by settings":            {"SET GLOBAL enable_logging = true", "SET GLOBAL logging_level = 'trace'", "SET GLOBAL logging_storage = 'stdout'", "SELECT 1"},
	"profile":                    {"PRAGMA enable_profiling", "PRAGMA profiling_output = '/dev/stdout'", "SELECT 1"},
	"profile by settings":        {"SET GLOBAL enable_profiling = 'json'", "SET GLOBAL profiling_output = '/proc/self/fd/1'", "SELECT 1"},
	"show progress":              {"SET GLOBAL enable_progress_bar = true", "SET GLOBAL enable_progress_bar_print = true", "SET GLOBAL progress_bar_time = 0", "SELECT sum(i) FROM range(100000000) r(i)"},
	"change the time zone":       {"SET GLOBAL TimeZone = 'Asia/Tokyo'"},
	"change the search path":     {"SET GLOBAL search_path = 'information_schema'", "USE information_schema"},
	"change the order":           {"SET GLOBAL default_order = 'DESC'", "SET GLOBAL default_null_order = 'NULLS_FIRST'"},
	"change the limits":          {"SET GLOBAL memory_limit = '1MB'", "SET GLOBAL threads = 1", "SET GLOBAL max_expression_depth = 1"},
	"disable functions":          {"SET GLOBAL disabled_optimizers = 'expression_rewriter'", "SET GLOBAL disabled_filesystems = 'LocalFileSystem'"},
	"lock the settings":          {"SET GLOBAL lock_configuration = true", "SET GLOBAL enable_external_access = false"},
	"set a variable":             {"SET VARIABLE x = 'trap'"},
	"set the seed":               {"SELECT setseed(0.5)"},
	"a temporary table":          {"CREATE TEMP TABLE orders AS SELECT 0 AS id", "CREATE TEMP TABLE trap AS SELECT 1"},
	"a temporary view":           {"CREATE OR REPLACE TEMP VIEW orders AS SELECT 0 AS id"},
	"a macro":                    {"CREATE TEMP MACRO sum(x) AS 0", "CREATE OR REPLACE TEMP MACRO count(x) AS 0"},
	"another table":              {"COMMIT", "CREATE OR REPLACE TABLE orders AS SELECT 0 AS id"},
	"fewer rows":                 {"DELETE FROM orders", "DROP TABLE orders", "TRUNCATE orders", "UPDATE orders SET id = 0"},
	"a prepared statement":       {"PREPARE p AS SELECT 1", "EXECUTE p"},
	"a pragma":                   {"PRAGMA disable_optimizer", "PRAGMA force_checkpoint", "PRAGMA enable_object_cache"},
	"another database":           {"ATTACH ':memory:' AS other", "USE other"},
	"a secret":                   {"CREATE SECRET trap (TYPE s3, KEY_ID 'a', SECRET 'b')"},
	"read its descriptors":       {"SELECT content FROM read_text('/proc/self/fd/0')", "SELECT content FROM read_text('/proc/self/fd/3')", "SELECT content FROM read_text('/proc/self/fd/4')", "SELECT content FROM read_text('/dev/stdin')", "SELECT * FROM glob('/proc/self/fd/*')"},
	"write to its descriptors":   {"COPY (SELECT 1) TO '/dev/stdout'", "COPY (SELECT 1) TO '/dev/stderr'", "COPY (SELECT 1) TO '/proc/self/fd/1' (FORMAT csv)", "COPY (SELECT 1) TO '/proc/self/fd/2'", "COPY (SELECT 1) TO '/proc/self/fd/3' (FORMAT csv)", "COPY (SELECT 1) TO '/proc/self/fd/4' (FORMAT csv)", "COPY (SELECT 1) TO '/dev/fd/3'"},
	"write to its table":         {"COPY (SELECT 0 AS id) TO '/proc/self/fd/5' (FORMAT parquet)", "COPY (SELECT 0 AS id) TO '{link}' (FORMAT parquet)", "COPY (SELECT 0 AS id) TO '/proc/self/fd/5/trap.parquet' (FORMAT parquet)"},
	"read the other's process":   {"SELECT content FROM read_text('/proc/{pid}/environ')", "SELECT content FROM read_text('/proc/{pid}/cmdline')", "SELECT content FROM read_blob('/proc/{pid}/mem')", "SELECT content FROM read_text('/proc/{pid}/maps')", "SELECT * FROM glob('/proc/{pid}/fd/*')"},
	"write to the other's":       {"COPY (SELECT 1) TO '/proc/{pid}/fd/1'", "COPY (SELECT 1) TO '/proc/{pid}/fd/3'", "COPY (SELECT 1) TO '/proc/{pid}/mem'", "COPY (SELECT 1) TO '/proc/{pid}/oom_score_adj'"},
	"exhaust the memory":         {"SELECT len(range(1000000000))", "SELECT list(i) FROM range(10000000000) r(i)", "SELECT length(repeat(repeat('x', 100000), 100000))"},
	"exhaust the disk":           {"SET GLOBAL temp_directory = '/tmp/parley-spill'", "SELECT i FROM range(1000000000000) r(i) ORDER BY hash(i) DESC LIMIT 1"},
	"exhaust the time":           {endless},
	"crash":                      {"SELECT " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), "PRAGMA force_crash", "SELECT * FROM orders a, orders b, orders c ORDER BY random()"},
	"several statements at once": {"SET GLOBAL TimeZone = 'Asia/Tokyo'; SELECT 1", "BEGIN; SELECT 1", "ROLLBACK", "COMMIT"},
}

// peeks are where something of another user's queries could be seen.
var peeks = []string{
	"SELECT * FROM duckdb_logs()",
	"SELECT * FROM duckdb_logs_parsed('QueryLog')",
	"SELECT content FROM read_text('/proc/self/fd/0')",
	"SELECT content FROM read_text('/proc/self/fd/1')",
	"SELECT content FROM read_text('/tmp/parley-log/*')",
	"SELECT content FROM read_blob('/proc/{pid}/mem')",
	"SELECT current_query()",
	"SELECT * FROM duckdb_prepared_statements()",
	"SELECT * FROM duckdb_temporary_files()",
	"SELECT * FROM orders ORDER BY id LIMIT 1",
}

// probes show what a user's queries depend on.
var probes = []string{
	"SELECT count(*) AS n, sum(id) AS ids, max(customer) AS c FROM orders",
	"SELECT id FROM orders ORDER BY total, id LIMIT 2",
	"SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+00' AS VARCHAR) AS t",
	"SELECT name, value FROM duckdb_settings() ORDER BY name",
	"SELECT table_name, temporary FROM duckdb_tables() ORDER BY ALL",
	"SELECT view_name, temporary FROM duckdb_views() WHERE NOT internal ORDER BY ALL",
	"SELECT function_name, parameters FROM duckdb_functions() WHERE NOT internal ORDER BY ALL",
	"SELECT * FROM duckdb_variables() ORDER BY ALL",
	"SELECT database_name FROM duckdb_databases() ORDER BY ALL",
	"SELECT name FROM duckdb_secrets()",
	"SELECT count(*) AS n FROM duckdb_logs()",
	"SELECT getvariable('x') AS x",
}

const private = "for nobody else"

// as runs a statement for a user; what came of it, as text.
func (s *setup) as(t *testing.T, user, sql string, timeout time.Duration) string {
	t.Helper()
	s.pool.mu.Lock()
	for _, idle := range s.pool.idle {
		if idle.user == other(user) {
			sql = strings.ReplaceAll(sql, "{pid}", strconv.Itoa(idle.PID))
		}
	}
	s.pool.mu.Unlock()
	sql = s.statement(sql)
	result, err := s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, Timeout: timeout, User: user, MaxRows: 1000})
	return fmt.Sprintf("%s %v", result.Rows, err)
}

func other(user string) string {
	if user == "owner" {
		return "viewer"
	}
	return "owner"
}

func (s *setup) probe(t *testing.T, user string) (answers []string) {
	t.Helper()
	for _, sql := range probes {
		answers = append(answers, s.as(t, user, sql, 20*time.Second))
	}
	return answers
}

// Of two users who query the same tables, neither sees or disturbs the other,
// whatever else holds: with all layers, and without the check of SQL and DuckDB's
// settings. Workers know users by name alone, so usual runs have one attacker.
func TestUsersAreSeparate(t *testing.T) {
	t.Parallel()
	for mode, change := range map[string]func(*PoolConfig){
		"all layers":     nil,
		"processes only": func(c *PoolConfig) { c.unchecked, c.exposed = true, true },
	} {
		for _, attacker := range []string{"viewer", "owner"}[:fulltest.Count(1, 2)] {
			t.Run(mode+", by the "+attacker, func(t *testing.T) {
				t.Parallel()
				s, victim := newSetup(t, change), other(attacker)
				want := s.probe(t, victim)
				if !strings.Contains(want[0], `"n":1000`) {
					t.Fatalf("not as it should be: %s", want[0])
				}
				for name, statements := range attempts {
					for _, sql := range statements {
						s.as(t, attacker, sql, 500*time.Millisecond)
						if got := s.as(t, victim, "SELECT '"+private+"' AS words", 20*time.Second); !strings.Contains(got, private) {
							t.Errorf("%s: after %.80s the other gets %s", name, sql, got)
						}
					}
					for _, sql := range peeks {
						if got := s.as(t, attacker, sql, 20*time.Second); strings.Contains(got, private) {
							t.Errorf("%s: %s shows %.500s", name, sql, got)
						}
					}
					for i, got := range s.probe(t, victim) {
						if got != want[i] {
							t.Errorf("%s: then %s gives the other %.500s; before %.500s", name, probes[i], got, want[i])
						}
					}
				}
			})
		}
	}
}

// Within a worker the attempts do what they are for: the test above can fail.
func TestAttemptsHaveEffect(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) { c.unchecked, c.exposed = true, true })
	want := s.probe(t, "owner")
	for _, name := range []string{"log queries", "change the time zone", "change the order"} {
		for _, sql := range attempts[name] {
			s.as(t, "owner", sql, time.Second)
		}
	}
	s.as(t, "owner", "SELECT '"+private+"' AS words", 20*time.Second)
	if got := s.as(t, "owner", peeks[0], 20*time.Second); !strings.Contains(got, private) {
		t.Errorf("nothing was logged: %s", got)
	}
	changed := 0
	for i, got := range s.probe(t, "owner") {
		if got != want[i] {
			changed++
		}
	}
	if changed < 3 {
		t.Errorf("%d answers have changed", changed)
	}
}
