package datasets

import (
	"archive/zip"
	"bufio"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// peakReport is what a process that ingests one file, or runs one query, says at its end.
type peakReport struct {
	// Peak is the most memory that its worker had, in bytes.
	Peak int64
	Rows int64
	// Refused is the reason for the owner of the file, Failed another error.
	Refused, Failed string
}

// peakJob is the file that such a process ingests.
type peakJob struct {
	Path, Sheet string
	// Programs is the folder of compiled programs.
	Programs string
	// Query is run on Table instead.
	Query string
	Table sandbox.Table
}

// peak ingests the file of a job, or runs its query. It runs in a process of its own, whose memory is
// small: the kernel counts that of the process that starts a worker for the worker too.
func peak(argument string) {
	var job peakJob
	if err := json.Unmarshal([]byte(argument), &job); err != nil {
		panic(err)
	}
	rows, err := job.run()
	report := peakReport{Rows: rows}
	var refusal *domain.Error
	switch {
	case errors.As(err, &refusal) && errors.Is(err, domain.ErrInvalid):
		report.Refused = refusal.Message
	case err != nil:
		report.Failed = err.Error()
	}
	var workers syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &workers); err != nil {
		panic(err)
	}
	report.Peak = workers.Maxrss << 10
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
}

func (j peakJob) run() (rows int64, err error) {
	if j.Query != "" {
		pool, err := NewPool(PoolConfig{})
		if err != nil {
			return 0, err
		}
		defer pool.Close()
		result, err := pool.Query(context.Background(), Query{SQL: j.Query, Tables: []Table{j.Table}, Timeout: time.Minute})
		return int64(len(result.Rows)), err
	}
	ingester := NewIngester(IngesterConfig{})
	ingester.programs.Store(&j.Programs)
	made, err := ingester.Ingest(context.Background(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: j.Path, Name: filepath.Base(j.Path)}}, OutDir: j.Path + "-out", Options: domain.IngestOptions{Sheet: j.Sheet}})
	return made.Rows, err
}

// memoryIntensiveFile is a small file that takes much memory to read.
type memoryIntensiveFile struct {
	// write writes the file, make makes it at a path.
	write func(out *bufio.Writer)
	make  func(t *testing.T, path string)
	// sheet is the table to read.
	sheet string
	// rows are those that are read, or refused is a part of the reason.
	rows    int64
	refused string
	// half says that the file is half as large as others, and may take half the memory.
	half bool
	// usual files are read in usual runs too.
	usual bool
}

// memoryIntensiveFiles has one at least for each format.
func memoryIntensiveFiles() map[string]memoryIntensiveFile {
	const mega = 1 << 20
	long := strings.Repeat("x", 1_900_000)
	return map[string]memoryIntensiveFile{
		"spans.html": {refused: "more than 4000000 cells", usual: true, write: func(out *bufio.Writer) {
			repeat(out, "<table><tr><td colspan=2000 rowspan=65534>x", "<tr><td>x", 60_000, "</table>")
		}},
		"rows.html": {refused: "more than 4000000 cells", write: func(out *bufio.Writer) {
			repeat(out, "<table>", "<tr>", 14*mega, "<tr><td>a<tr><td>b</table>")
		}},
		"long.csv": {rows: 100, write: func(out *bufio.Writer) { repeat(out, "a,b\n", long+",1\n", 100, "") }},
		"wide.csv": {refused: "more memory", write: func(out *bufio.Writer) {
			repeat(out, strings.Repeat("a,", 1999)+"a\n", strings.Repeat("some text,", 1999)+"x\n", 2_500, "")
		}},
		"arrays.json": {sheet: "a119", rows: 1, write: func(out *bufio.Writer) {
			out.WriteString("{")
			for i := range 120 {
				fmt.Fprintf(out, `"a%d":[{"b":"%s"}],`, i, long)
			}
			out.WriteString(`"z":1}`)
		}},
		"long.txt": {rows: 59919, half: true, write: func(out *bufio.Writer) { repeat(out, "", "word ", 20*mega, "") }},
		"members.zip": {sheet: "449", rows: mega / 2, half: true, write: func(out *bufio.Writer) {
			writeZip(out, func(member func(name string) *bufio.Writer) {
				for i := range 450 {
					repeat(member(fmt.Sprintf("%d.csv", i)), "a\n", "1\n", mega/2, "")
				}
			})
		}},
		"text.docx": {rows: 44940, half: true, write: func(out *bufio.Writer) {
			writeZip(out, func(member func(name string) *bufio.Writer) {
				member("[Content_Types].xml").WriteString("<Types/>")
				repeat(member("word/document.xml"), "<document>", "<p><t>"+strings.Repeat("word ", 3*mega)+"</t></p>", 5, "</document>")
			})
		}},
		"texts.xlsx": {rows: 60, write: func(out *bufio.Writer) {
			writeZip(out, func(member func(name string) *bufio.Writer) {
				member("[Content_Types].xml").WriteString("<Types/>")
				member("xl/_rels/workbook.xml.rels").WriteString(`<Relationships><Relationship Id="r1" Type="worksheet" Target="one.xml"/></Relationships>`)
				member("xl/workbook.xml").WriteString(`<workbook xmlns:r="r"><sheets><sheet name="One" r:id="r1"/></sheets></workbook>`)
				sheet := member("xl/one.xml")
				sheet.WriteString(`<worksheet><sheetData><row><c t="str"><v>a</v></c></row>`)
				for i := range 60 {
					fmt.Fprintf(sheet, `<row><c t="s"><v>%d</v></c></row>`, i)
				}
				sheet.WriteString(`</sheetData></worksheet>`)
				repeat(member("xl/sharedStrings.xml"), "<sst>", "<si><t>"+long+"</t></si>", 60, "</sst>")
			})
		}},
		"values.db": {rows: 12, make: func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = db.Exec("CREATE TABLE a (b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12) INSERT INTO a SELECT zeroblob(12000000) FROM n")
			}
			if err == nil {
				err = db.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
		"values.parquet": {rows: 2000, usual: true, make: func(t *testing.T, path string) {
			made := parquetTable(t, filepath.Dir(path), "values-made", "SELECT i, repeat('x', 50000) || i AS s FROM range(2000) r(i)")
			if err := os.Rename(made.Files[0], path); err != nil {
				t.Fatal(err)
			}
		}},
		"pages.pdf": {rows: 1, write: func(out *bufio.Writer) {
			out.WriteString(pdfOf("BT /F1 12 Tf 72 720 Td "+strings.Repeat("(Hello world.) Tj T* ", 500_000)+"ET", ""))
		}},
		"padding.pdf": {rows: 1, write: func(out *bufio.Writer) {
			out.WriteString(pdfOf("BT /F1 12 Tf 72 720 Td (Hello.) Tj ET", strings.Repeat(" ", 60*mega)))
		}},
	}
}

// repeat writes a text that repeats a part.
func repeat(out *bufio.Writer, before, part string, n int, after string) {
	out.WriteString(before)
	many := max(1, 64<<10/len(part)) // a call for each would take seconds
	block := strings.Repeat(part, many)
	for ; n > many; n -= many {
		out.WriteString(block)
	}
	out.WriteString(block[:n*len(part)])
	out.WriteString(after)
}

// writeZip writes an archive. write gets a function that begins the next member. An error stays
// in out.
func writeZip(out *bufio.Writer, write func(member func(name string) *bufio.Writer)) {
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	last := bufio.NewWriter(io.Discard)
	write(func(name string) *bufio.Writer {
		_ = last.Flush()
		if f, err := w.Create(name); err == nil {
			last = bufio.NewWriter(f)
		}
		return last
	})
	_ = last.Flush()
	_ = w.Close()
}

// create makes the file at a path.
func (f memoryIntensiveFile) create(t *testing.T, path string) {
	t.Helper()
	if f.make != nil {
		f.make(t, path)
		return
	}
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewWriter(file)
	f.write(out)
	if err := errors.Join(out.Flush(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// pdfOf makes a PDF document with one page of this content, and something more in the file.
func pdfOf(content, more string) string {
	return fmt.Sprintf("%%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"+
		"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n"+
		"4 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n"+
		"5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n%strailer\n<< /Root 1 0 R >>\n", len(content), content, more)
}

// report runs the job in a process of its own.
func (j peakJob) report(t *testing.T) (report peakReport) {
	t.Helper()
	job, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), sandbox.Executable(), "peak", string(job)).Output()
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%d MiB, %d rows, %s", report.Peak>>20, report.Rows, report.Refused)
	return report
}

// A query worker never has more memory than documented, also for long texts, of which DuckDB does not
// count all. The query is run, or refused with the reason.
func TestQueryPeakMemory(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	if runtime.GOOS != "linux" || sandbox.RaceEnabled {
		t.Skip("only Linux limits the memory of workers, without the race detector")
	}
	const text = "repeat(chr(97 + CAST(i % 26 AS INTEGER)), 1000000)"
	tables := map[string]Table{
		"few":  parquetTable(t, t.TempDir(), "few", "SELECT i, "+text+" AS s FROM range(1000) r(i)"),
		"many": parquetTable(t, t.TempDir(), "many", "SELECT i, i || "+text+" AS s FROM range(400) r(i)"),
	}
	for _, query := range []string{
		"SELECT * FROM few LIMIT 2", "SELECT * FROM many LIMIT 2", "SELECT * FROM few ORDER BY s DESC, i LIMIT 2", "SELECT s, count(*) FROM many GROUP BY s LIMIT 2",
		"SELECT list(s) FROM few", "SELECT string_agg(s, ',') FROM many", "SELECT max(length(a.s || b.s)) FROM few a, few b",
	} {
		for name, table := range tables {
			if !strings.Contains(query, "FROM "+name) {
				continue
			}
			report := peakJob{Query: query, Table: table}.report(t)
			if report.Peak > 1<<30 || report.Failed != "" || report.Refused != "" && !strings.Contains(report.Refused, "memory") && !strings.Contains(report.Refused, "longer") {
				t.Errorf("%s: a peak of %d MiB, %q, %q", query, report.Peak>>20, report.Refused, report.Failed)
			}
		}
	}
}

// A worker never has more memory than documented, whatever it reads. It reads the file, or refuses it
// with the reason.
func TestPeakMemory(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits the memory of workers")
	}
	if sandbox.RaceEnabled {
		t.Skip("the race detector only makes writing the files slow")
	}
	ingester, err := documentIngester()
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range memoryIntensiveFiles() {
		if !file.usual && !fulltest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) { // one after the other: they are large
			path := filepath.Join(t.TempDir(), name)
			file.create(t, path)
			report := peakJob{Path: path, Sheet: file.sheet, Programs: *ingester.programs.Load()}.report(t)
			limit := int64(sandbox.MaxIngestMemory)
			if file.half {
				limit /= 2
			}
			if report.Peak > limit || report.Failed != "" {
				t.Errorf("a peak of %d MiB, %s", report.Peak>>20, report.Failed)
			}
			if refused := report.Refused != ""; report.Rows != file.rows || refused != (file.refused != "") || !strings.Contains(report.Refused, file.refused) {
				t.Errorf("%d rows, %q; want %d, %q", report.Rows, report.Refused, file.rows, file.refused)
			}
		})
	}
}
