package lake

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"parley/internal/fulltest"
	"parley/storage"
	"parley/storage/lake/ingest"
	"parley/storage/lake/worker"
)

// peakReport is what a process that ingests one file says at its end.
type peakReport struct {
	// Peak is the most memory that its worker had, in bytes.
	Peak int64
	Rows int64
	// Refused is the reason for the owner of the file, Failed another error.
	Refused, Failed string
}

// peak ingests the file whose path and folder of programs are given. It runs in a process of its
// own, whose memory is small: the kernel counts that of the process that starts a worker for the
// worker too.
func peak(arguments string) {
	path, programs, _ := strings.Cut(arguments, "\n")
	ingester := NewIngester(IngesterConfig{})
	if programs != "" {
		ingester.programs.Store(&programs)
	}
	var report peakReport
	made, err := ingester.Ingest(context.Background(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: path, Name: filepath.Base(path)}}, OutDir: path + "-out"})
	var refusal *storage.Error
	switch {
	case errors.As(err, &refusal) && errors.Is(err, storage.ErrInvalid):
		report.Refused = refusal.Message
	case err != nil:
		report.Failed = err.Error()
	}
	report.Rows = made.Rows
	var workers syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &workers); err != nil {
		panic(err)
	}
	report.Peak = workers.Maxrss << 10
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
}

// memoryIntensiveFiles are small files, one at least for each format, that take much memory to read. Each
// is written to a path.
func memoryIntensiveFiles(t *testing.T) map[string]func(path string) {
	t.Helper()
	text := func(write func(out *bytes.Buffer)) func(string) {
		return func(path string) {
			var out bytes.Buffer
			write(&out)
			if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	repeat := func(before, part string, n int, after string) func(string) {
		return text(func(out *bytes.Buffer) {
			out.WriteString(before)
			for range n {
				out.WriteString(part)
			}
			out.WriteString(after)
		})
	}
	archive := func(pairs func() []string) func(string) {
		return text(func(out *bytes.Buffer) { out.Write(zipOf(t, pairs()...)) })
	}
	const mega = 1 << 20
	return map[string]func(path string){
		"spans.html": repeat("<table><tr><td colspan=2000 rowspan=65534>x", "<tr><td>x", 60_000, "</table>"),
		"rows.html":  repeat("<table>", "<tr>", 14*mega, "<tr><td>a<tr><td>b</table>"),
		"long.csv":   repeat("a,b\n", strings.Repeat("x", 1_900_000)+",1\n", 150, ""),
		"wide.csv":   repeat(strings.Repeat("a,", 1999)+"a\n", strings.Repeat("some text,", 1999)+"x\n", 10_000, ""),
		"arrays.json": text(func(out *bytes.Buffer) {
			out.WriteString("{")
			for i := range 200 {
				fmt.Fprintf(out, `"a%d":[{"b":"%s"}],`, i, strings.Repeat("z", 2*mega))
			}
			out.WriteString(`"z":1}`)
		}),
		"long.txt": repeat("", "word ", 40*mega, ""),
		"members.zip": archive(func() (files []string) {
			for i := range 900 {
				files = append(files, fmt.Sprintf("%d.csv", i), "a\n"+strings.Repeat("1\n", mega/2))
			}
			return files
		}),
		"text.docx": archive(func() []string {
			return []string{"[Content_Types].xml", "<Types/>", "word/document.xml", "<document>" + strings.Repeat("<p><t>"+strings.Repeat("word ", 3*mega)+"</t></p>", 10) + "</document>"}
		}),
		"texts.xlsx": archive(func() []string {
			return []string{"[Content_Types].xml", "<Types/>",
				"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="worksheet" Target="one.xml"/></Relationships>`,
				"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="r1"/></sheets></workbook>`,
				"xl/one.xml", `<worksheet><sheetData><row><c t="str"><v>a</v></c></row>` + strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 60) + `</sheetData></worksheet>`,
				"xl/sharedStrings.xml", "<sst>" + strings.Repeat("<si><t>"+strings.Repeat("x", 10*mega)+"</t></si>", 20) + "</sst>"}
		}),
		"values.db": func(path string) {
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
		},
		"values.parquet": func(path string) {
			made := parquetTable(t, filepath.Dir(path), "values-made", "SELECT i, repeat('x', 50000) || i AS s FROM range(2000) r(i)")
			if err := os.Rename(made.Files[0], path); err != nil {
				t.Fatal(err)
			}
		},
		"pages.pdf": text(func(out *bytes.Buffer) {
			out.WriteString(pdfOf("BT /F1 12 Tf 72 720 Td "+strings.Repeat("(Hello world.) Tj T* ", 500_000)+"ET", ""))
		}),
		"padding.pdf": text(func(out *bytes.Buffer) {
			out.WriteString(pdfOf("BT /F1 12 Tf 72 720 Td (Hello.) Tj ET", strings.Repeat(" ", 60*mega)))
		}),
	}
}

// pdfOf makes a PDF document with one page of this content, and something more in the file.
func pdfOf(content, more string) string {
	return fmt.Sprintf("%%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"+
		"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n"+
		"4 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n"+
		"5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n%strailer\n<< /Root 1 0 R >>\n", len(content), content, more)
}

// peakRows are the files of the usual run, and how many rows each has: all of them are read.
var peakRows = map[string]int64{"values.parquet": 2000, "long.csv": 150}

// A worker never has more memory than documented, whatever it reads. It reads the file, or refuses it
// with the reason.
func TestPeakMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits the memory of workers")
	}
	if worker.RaceEnabled {
		t.Skip("the race detector only makes writing the files slow")
	}
	ingester, err := documentIngester()
	if err != nil {
		t.Fatal(err)
	}
	binary, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	for name, write := range memoryIntensiveFiles(t) {
		rows, usual := peakRows[name]
		if !usual && !fulltest.Full() {
			continue
		}
		t.Run(name, func(t *testing.T) { // one after the other: they are large
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			write(path)
			out, err := exec.CommandContext(t.Context(), binary, "peak", path+"\n"+*ingester.programs.Load()).Output()
			var report peakReport
			if err == nil {
				err = json.Unmarshal(out, &report)
			}
			if err != nil {
				t.Fatalf("%s: %v: %s", name, err, out)
			}
			t.Logf("%s: %d MiB, %d rows, %s", name, report.Peak>>20, report.Rows, report.Refused)
			if report.Peak > worker.MaxIngestMemory || report.Failed != "" || report.Refused == "" && report.Rows == 0 || usual && report.Rows != rows {
				t.Errorf("%s: a peak of %d MiB, %d rows, %s%s", name, report.Peak>>20, report.Rows, report.Failed, report.Refused)
			}
		})
	}
}
