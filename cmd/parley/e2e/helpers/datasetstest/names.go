package datasetstest

import (
	"fmt"
	"strings"

	"parley/internal/sqltext"
)

// HostileNames are identifiers that become SQL where something writes them
// without quotes, or with quotes and without doubling those inside.
func HostileNames() []string {
	bodies := []string{
		"1 AS x, * FROM duckdb_settings() --", "x.* FROM duckdb_settings() x --", "* FROM duckdb_settings() /*",
		"1 FROM enable_logging() --", "1 FROM query('SELECT 42') --", "1 FROM read_blob('/proc/self/fd/3') --",
		"1 FROM read_text('/etc/passwd') --", "1 FROM read_text($$/etc/passwd$$) --", "1 FROM '/proc/self/environ' --",
		"1 FROM glob('/**') --", "1 FROM duckdb_secrets() --", "1 FROM information_schema.tables --", "1 FROM secrets --",
		"1 FROM notes; DROP TABLE notes --", "1; SELECT * FROM duckdb_settings(); --", "1; ATTACH 'x.db' --", "1; SET threads = 1 --",
		"getenv('HOME')", "current_setting('memory_limit')", "getvariable('x')", "sleep_ms(1)", "version()", "pg_sleep(1)",
		"x, (SELECT value FROM duckdb_settings() LIMIT 1) AS y", "(SELECT 1 FROM duckdb_settings())", "x) FROM duckdb_settings() --",
		"x)) FROM duckdb_settings() --", "x]] FROM duckdb_settings() --", "x} FROM duckdb_settings() --",
		"text UNION ALL SELECT name, value, 1 FROM duckdb_settings() --", "text FROM notes UNION SELECT 1 FROM query('SELECT 1') --",
		"a JOIN duckdb_settings() ON true --", "a, duckdb_settings()", "a, LATERAL (SELECT * FROM duckdb_settings())",
		"x IN (SELECT name FROM duckdb_settings())", "EXISTS (FROM duckdb_settings())", "x := getenv('HOME')", "x -> getenv('HOME')",
		"w AS (PARTITION BY getenv('HOME'))", "id) JOIN duckdb_settings() USING (id", "a AS (SELECT * FROM duckdb_settings()), b",
	}
	wraps := []string{"%s", `"%s`, "*/ %s"}
	var names []string
	for _, body := range bodies {
		for _, wrap := range wraps {
			names = append(names, fmt.Sprintf(wrap, body))
		}
	}
	return append(names, "order-items", "select", "FROM", "Group", "1", "1a", "a b", " ", "ä ö", "日本", "a.b", "a.*", "*", ".", ",", ";", "--", "/*",
		"'", "''", `"`, `""`, "\\", "$", "$$", "$1", "?", "#1", ":=", "->", "()", "(", "[", "{", "\t", "\n", "\u00a0", "\u200b", "\u202e",
		"match", "__score", "rowid", "COLUMNS(*)", "NULL", "CAST(1 AS INTEGER)", "x::INTEGER", "E'\\''", "a%s", "{n}", "\ufeff", strings.Repeat("long ", 200))
}

// Place puts a name into a statement: {n} as a name, {s} as a text.
func Place(statement, name string) string {
	return strings.NewReplacer("{n}", sqltext.Name(name), "{s}", sqltext.Text(name), "{newline}", "\n").Replace(statement)
}
