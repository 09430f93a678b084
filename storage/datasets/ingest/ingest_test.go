package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/ingest/source"
	"parley/storage/datasets/sandbox"
)

// TestMain has the processes of the tests share compiled PDFium, from one run to the next: to
// compile it takes seconds. Where there is no folder for it, each compiles it.
func TestMain(m *testing.M) {
	if cache, err := os.UserCacheDir(); err == nil {
		source.UseCompiled(filepath.Join(cache, "parley-test", "pdfium"))
	}
	os.Exit(m.Run())
}

// setting is a folder and an engine for one test.
type setting struct {
	t   testing.TB
	db  *sql.DB
	dir string
	out int
}

// raced returns how many of a number of files are read: with the race detector, which makes
// each take many times longer, one in five.
func raced(files int) int {
	if sandbox.RaceEnabled {
		return files / 5
	}
	return files
}

// skipRaced skips a test that is slow with the race detector and has one goroutine.
func skipRaced(t *testing.T) {
	t.Helper()
	if sandbox.RaceEnabled {
		t.Skip("takes minutes with the race detector")
	}
}

func setup(t testing.TB) *setting {
	t.Helper()
	db, err := sql.Open("duckdb", "?memory_limit=800MB&threads=2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("SET GLOBAL TimeZone = 'UTC'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return &setting{t: t, db: db, dir: t.TempDir()}
}

// file writes a source.
func (l *setting) file(name, content string) ingest.Source {
	l.t.Helper()
	path := filepath.Join(l.dir, "source-"+strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[/\`, r) {
			return '_'
		}
		return r
	}, name))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		l.t.Fatal(err)
	}
	return ingest.Source{Path: path, Name: name}
}

// folder names an output folder that does not exist yet.
func (l *setting) folder() string {
	l.out++
	return filepath.Join(l.dir, "out", strconv.Itoa(l.out))
}

func (l *setting) run(job ingest.Job) (ingest.Result, error) {
	if job.OutDir == "" {
		job.OutDir = l.folder()
	}
	result, err := ingest.Run(context.Background(), l.db, job)
	entries, _ := os.ReadDir(job.OutDir)
	if len(entries) != len(result.Files) {
		l.t.Errorf("%d files are left in the output folder, want %d: %v", len(entries), len(result.Files), entries)
	}
	return result, err
}

func (l *setting) mustRun(job ingest.Job) ingest.Result {
	l.t.Helper()
	result, err := l.run(job)
	if err != nil {
		l.t.Fatal(err)
	}
	return result
}

// rows reads a dataset back as the JSON of its rows, one a line.
func (l *setting) rows(columns []domain.Column, results ...ingest.Result) string {
	l.t.Helper()
	var files []string
	for _, r := range results {
		for _, f := range r.Files {
			files = append(files, f.Path)
		}
	}
	return l.query("SELECT to_json(__row) FROM (" + ingest.Query(files, columns) + ") __row")
}

// reads checks what becomes of a file: the types of its columns and its rows.
func (l *setting) reads(name, content, wantTypes, wantRows string) {
	l.t.Helper()
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, content)}})
	if got := types(result.Columns); got != wantTypes {
		l.t.Errorf("types: got  %s\nwant %s", got, wantTypes)
	}
	if got := l.rows(result.Columns, result); got != wantRows {
		l.t.Errorf("rows: got\n%s\nwant\n%s", got, wantRows)
	}
}

func (l *setting) query(query string) string {
	l.t.Helper()
	rows, err := l.db.Query("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM (" + query + ")")
	if err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var out strings.Builder
	for rows.Next() {
		var line sql.NullString
		if err := rows.Scan(&line); err != nil {
			l.t.Fatal(err)
		}
		out.WriteString(line.String + "\n")
	}
	if err := rows.Err(); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func types(columns []domain.Column) string {
	var out []string
	for _, c := range columns {
		out = append(out, c.Name+" "+c.Type)
	}
	return strings.Join(out, ", ")
}

// refusal is the message of an error that must be meant for a source's owner.
func refusal(t testing.TB, err error) string {
	t.Helper()
	var known *domain.Error
	if !errors.As(err, &known) || !errors.Is(err, domain.ErrInvalid) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return known.Message
}

func zipped(content string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write([]byte(content))
	w.Close()
	return out.String()
}

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (l *setting) exec(statement string) {
	l.t.Helper()
	if _, err := l.db.Exec(statement); err != nil {
		l.t.Fatalf("%s: %v", statement, err)
	}
}
