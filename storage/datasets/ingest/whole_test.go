package ingest_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func TestFilesAreWhatTheResultSays(t *testing.T) {
	t.Parallel()
	l := setup(t)
	var told []ingest.Progress
	csv := l.file("a.csv", "a\n"+lines(300_000, "%d\n"))
	text := l.file("b.json", `[{"a":0}]`)
	result := l.mustRun(ingest.Job{
		Sources:  []ingest.Source{csv, text},
		Progress: func(p ingest.Progress) { told = append(told, p) },
	})
	file := result.Files[0]
	content, err := os.ReadFile(file.Path)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(content)
	if file.SHA256 != hex.EncodeToString(sum[:]) || file.Bytes != int64(len(content)) || file.Rows != 300_001 || result.Rows != 300_001 {
		t.Errorf("got %+v", file)
	}
	if got, want := filepath.Base(file.Path), "part-0001.parquet"; got != want {
		t.Errorf("the file is called %s", got)
	}
	total := int64(len("a\n"+lines(300_000, "%d\n")) + 9)
	for i, p := range told {
		if p.Total != total || p.Bytes > p.Total || i > 0 && (p.Bytes < told[i-1].Bytes || p.Rows < told[i-1].Rows) {
			t.Errorf("progress %d: %+v", i, p)
		}
	}
	if last := told[len(told)-1]; last.Bytes != total || last.Rows != 300_001 {
		t.Errorf("last progress: %+v", last)
	}
	if got := l.query("SELECT compression || ' ' || count(DISTINCT row_group_id) FROM parquet_metadata('" + file.Path + "') GROUP BY compression"); got != "ZSTD 3" {
		t.Errorf("got %s", got)
	}
}

// The same input gives the same rows in the same order, however many cores took
// part.
func TestOrder(t *testing.T) {
	t.Parallel()
	l := setup(t)
	var content strings.Builder
	content.WriteString("id,text\n")
	for i := range 200_000 {
		fmt.Fprintf(&content, "%d,\"line\n%d, %s\"\n", i, i, strings.Repeat("x", i%50))
	}
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", content.String())}})
	got := l.query("SELECT count(*) || ' ' || bool_and(id = file_row_number) || ' ' || bool_and(starts_with(text, 'line' || chr(10) || id || ',')) " +
		"FROM read_parquet('" + result.Files[0].Path + "', file_row_number = true)")
	if got != "200000 true true" {
		t.Errorf("got %s", got)
	}
}

// A quote out of place early in a file is found while later blocks are read. The
// scan in sequence still gets every byte, from the first record on.
func TestStrayQuoteInAnEarlyBlock(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const rows = 300_000
	content := "id,size\n0,5\" pipe\n" + lines(rows, "%d,some"+strings.Repeat(" long", 16)+" length\n")
	if blocks := len(content) / (4 << 20); blocks < 6 {
		t.Fatalf("the file has %d blocks", blocks)
	}
	file := l.file("x.csv", content)
	for range max(1, raced(fulltest.Count(1, 3))) {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{file}})
		if result.Rows != rows+1 {
			t.Fatalf("got %d rows", result.Rows)
		}
		// A record that lies in two blocks is copied once.
		got := l.query("SELECT sum(id) || ' ' || max(id) FROM (" + ingest.Query([]string{result.Files[0].Path}, result.Columns) + ")")
		if want := fmt.Sprint(rows*(rows+1)/2, " ", rows); got != want {
			t.Fatalf("ids: got %s, want %s", got, want)
		}
	}
}

// Quotes out of place, deep in a file of several blocks, are text; records are
// then found one by one.
func TestStrayQuotes(t *testing.T) {
	t.Parallel()
	l := setup(t)
	long := strings.Repeat("long ", 15)
	content := "id,size\n" + lines(140_000, "%d,\"two\n"+long+"lines\"\n") + lines(20_000, "%d,5\" pipe\n") + lines(10, "%d,\"\"\n")
	var last ingest.Progress
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", content)}, Progress: func(p ingest.Progress) { last = p }})
	got := l.query("SELECT count(*) || ' ' || count(size) || ' ' || sum(length(size)) || ' ' || max(id) FROM (" + ingest.Query([]string{result.Files[0].Path}, result.Columns) + ")")
	if want := fmt.Sprintf("160010 160000 %d 140000", 140_000*(9+len(long))+20_000*7); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if last.Rows != 160_010 {
		t.Errorf("last progress: %+v", last)
	}
}

func TestLargeResultsAreSplit(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.parquet("x.parquet", "SELECT i, md5(i::VARCHAR) AS h FROM range(600000) t(i)")
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{source}, MaxFileBytes: 8 << 20})
	if len(result.Files) < 2 || result.Rows != 600_000 {
		t.Fatalf("got %d files with %d rows", len(result.Files), result.Rows)
	}
	var files []string
	for i, f := range result.Files {
		files = append(files, f.Path)
		if want := fmt.Sprintf("part-%04d.parquet", i+1); filepath.Base(f.Path) != want || f.Bytes > 12<<20 {
			t.Errorf("got %s of %d bytes", f.Path, f.Bytes)
		}
	}
	got := l.query("SELECT count(*) || ' ' || bool_and(i = n - 1) FROM (SELECT i, row_number() OVER () AS n FROM (" + ingest.Query(files, result.Columns) + "))")
	if got != "600000 true" {
		t.Errorf("got %s", got)
	}
}

// A bad last source leaves nothing of the good ones before it.
func TestAllOrNothing(t *testing.T) {
	t.Parallel()
	l := setup(t)
	_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("a.csv", "a\n1\n"), l.file("b.csv", "a,b\n1\n")}})
	if got, want := refusal(t, err), "b.csv, line 2: the row has 1 field, not 2; delete a line that is not part of the table, or put an empty line above notes at the end"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	out := l.folder()
	job := ingest.Job{Sources: []ingest.Source{l.file("a.csv", "a\n1\n")}, OutDir: out}
	l.mustRun(job)
	before, _ := os.ReadFile(filepath.Join(out, "part-0001.parquet"))
	job.Sources[0] = l.file("b.csv", "b\n2\n")
	if _, err := ingest.Run(t.Context(), l.db, job); err == nil {
		t.Error("a file that exists was replaced")
	}
	after, _ := os.ReadFile(filepath.Join(out, "part-0001.parquet"))
	if entries, _ := os.ReadDir(out); len(entries) != 1 || string(before) != string(after) {
		t.Errorf("the folder has changed: %v", entries)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"x.csv":    "a,b\n" + lines(100_000, "%d,x\n"),
		"q.csv":    "a,b\n" + lines(100_000, "%d,5\" pipe\n"),
		"x.ndjson": lines(100_000, `{"a":%d}`+"\n"),
		"x.txt":    lines(100_000, "line %d\n"),
		"x.csv.gz": zipped("a,b\n" + lines(100_000, "%d,x\n")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			source := l.file(name, content)
			// Progress is told during the check, and cancels it there; without
			// it the context is done from the start.
			ctx, cancel := context.WithCancel(t.Context())
			out := l.folder()
			_, err := ingest.Run(ctx, l.db, ingest.Job{Sources: []ingest.Source{source}, OutDir: out,
				Progress: func(ingest.Progress) { cancel() }})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			_, err = ingest.Run(ctx, l.db, ingest.Job{Sources: []ingest.Source{source}, OutDir: out})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("canceled before: got %v", err)
			}
			if entries, _ := os.ReadDir(out); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

// Faults that are not the owner's must not look like it, nor show in messages
// to the owner.
func TestFaults(t *testing.T) {
	t.Parallel()
	l := setup(t)
	_, err := l.run(ingest.Job{Sources: []ingest.Source{{Path: filepath.Join(l.dir, "missing"), Name: "x.csv"}}})
	if err == nil || errors.Is(err, domain.ErrInvalid) {
		t.Errorf("missing file: got %v", err)
	}
	pattern := l.file("x.csv", "a\n1\n")
	_, err = l.run(ingest.Job{Sources: []ingest.Source{{Path: pattern.Path + "*", Name: "x.csv"}}})
	if err == nil || errors.Is(err, domain.ErrInvalid) {
		t.Errorf("pattern: got %v", err)
	}
	l.exec("SET preserve_insertion_order = false")
	_, err = l.run(ingest.Job{Sources: []ingest.Source{pattern}})
	if err == nil || errors.Is(err, domain.ErrInvalid) {
		t.Errorf("rows in any order: got %v", err)
	}
	l.exec("SET preserve_insertion_order = true")
	_, err = l.run(ingest.Job{})
	if got, want := refusal(t, err), "there is nothing to ingest"; got != want {
		t.Errorf("got %s", got)
	}
}
