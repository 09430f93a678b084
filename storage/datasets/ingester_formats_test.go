package datasets

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/ingest/source"
)

// Containers are unpacked by a worker within its sandbox and its limits.
func TestContainersInTheWorker(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	ingester, err := documentIngester()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, content := range containerFiles(t) {
		source := ingest.Source{Path: filepath.Join(dir, name), Name: name}
		if err := os.WriteFile(source.Path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out-"+name)
		made, err := ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{Sources: []ingest.Source{source}, OutDir: out})
		if err != nil || made.Rows == 0 {
			t.Errorf("%s: made %+v, %v", name, made, err)
		}
		if left, _ := os.ReadDir(out); len(left) != len(made.Files) {
			t.Errorf("%s: %v are left", name, left)
		}
		_, err = ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
			Sources: []ingest.Source{source}, Options: domain.IngestOptions{Sheet: "none"}, OutDir: out + "-none"})
		if err == nil {
			t.Errorf("%s: a table that it does not have was read", name)
		}
	}
}

// PDFium is compiled once, by a worker that reads no source, and loaded by the others. One
// that cannot load it compiles it.
func TestCompiledOnce(t *testing.T) {
	t.Parallel()
	ingester, err := documentIngester()
	if err != nil {
		t.Fatal(err)
	}
	file := ingest.Source{Path: filepath.Join(t.TempDir(), "text.pdf"), Name: "text.pdf"}
	if err := os.WriteFile(file.Path, []byte(textPDF), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func(ingester *Ingester) {
		t.Helper()
		text, ok, err := ingester.Text(t.Context(), Admission{User: "alice"}, file, domain.IngestOptions{}, t.TempDir(), 1000)
		if err != nil || !ok || strings.TrimSpace(text) != "Hello world." {
			t.Fatalf("%q, %v, %v", text, ok, err)
		}
	}
	compiled := func() (name string, info os.FileInfo) {
		t.Helper()
		found, _ := filepath.Glob(filepath.Join(ingester.config.Dir, "work-*", "*", "*"))
		if len(found) != 1 {
			t.Fatalf("compiled %v", found)
		}
		info, err := os.Stat(found[0])
		if err != nil {
			t.Fatal(err)
		}
		name, err = filepath.Rel(*ingester.programs.Load(), found[0])
		if err != nil {
			t.Fatal(err)
		}
		return name, info
	}
	name, first := compiled()
	if first.Size() < 1<<20 {
		t.Errorf("%d bytes", first.Size())
	}
	read(ingester)
	read(ingester)
	if _, again := compiled(); !os.SameFile(first, again) || again.ModTime() != first.ModTime() {
		t.Error("compiled again")
	}
	damaged := damagedPrograms(t, ingester, name)
	if err := source.Compile(*damaged.programs.Load()); err == nil {
		t.Error("a damaged program is loaded")
	}
	if fulltest.Full() { // its worker compiles again
		read(damaged)
	}
	damaged.Close()
	if left, err := os.ReadDir(damaged.config.Dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// damagedPrograms returns an ingester like another one, whose compiled program is damaged.
func damagedPrograms(t *testing.T, like *Ingester, name string) *Ingester {
	t.Helper()
	config := like.config
	config.Dir = t.TempDir()
	damaged := NewIngester(config)
	dir, _, err := makeWorkDir(config.Dir, config.Log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged.programs.Store(&dir)
	return damaged
}

// BenchmarkPDF reads the text of a short PDF file in a worker: one that compiles PDFium, and
// one that loads it.
func BenchmarkPDF(b *testing.B) {
	for name, programs := range map[string]string{"compile": "", "load": b.TempDir()} {
		b.Run(name, func(b *testing.B) {
			ingester := NewIngester(IngesterConfig{Dir: programs})
			source := ingest.Source{Path: filepath.Join(b.TempDir(), "text.pdf"), Name: "text.pdf"}
			if err := os.WriteFile(source.Path, []byte(textPDF), 0o600); err != nil {
				b.Fatal(err)
			}
			ingester.compiled(b.Context(), []ingest.Source{source})
			b.ResetTimer()
			for range b.N {
				if _, ok, err := ingester.Text(b.Context(), Admission{User: "alice"}, source, domain.IngestOptions{}, b.TempDir(), 1000); err != nil || !ok {
					b.Fatal(err)
				}
			}
		})
	}
}

// textPDF is a document without a table of its objects, which is found by searching for them.
const textPDF = "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
	"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n" +
	"4 0 obj\n<< /Length 42 >>\nstream\nBT /F1 12 Tf 72 720 Td (Hello world.) Tj ET\nendstream\nendobj\n" +
	"5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n"

func containerFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{
		"page.html":   []byte("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"),
		"map.geojson": []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1},"geometry":null}]}`),
		"text.docx":   zipOf(t, "[Content_Types].xml", "<Types/>", "word/document.xml", `<document><p><t>Hello.</t></p></document>`),
		"data.zip":    zipOf(t, "a.csv", "a\n1\n"),
		"book.xlsx":   bookOf(t, 100),
		"texts.xlsx":  bookOfTexts(t),
		"text.pdf":    []byte(textPDF),
	}
	path := filepath.Join(t.TempDir(), "made.db")
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec("CREATE TABLE a (b); INSERT INTO a VALUES (1)")
	}
	if err == nil {
		err = db.Close()
	}
	if err == nil {
		files["data.db"], err = os.ReadFile(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// zipOf makes an archive of pairs of names and contents.
func zipOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// bookOfTexts makes a workbook whose cells share so many texts that these are in a file while it
// is read.
func bookOfTexts(t testing.TB) []byte {
	return zipOf(t, "[Content_Types].xml", "<Types/>",
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Type="worksheet" Target="one.xml"/></Relationships>`,
		"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="One" r:id="r1"/></sheets></workbook>`,
		"xl/one.xml", `<worksheet><sheetData><row><c t="str"><v>a</v></c></row><row><c t="s"><v>4999</v></c></row></sheetData></worksheet>`,
		"xl/sharedStrings.xml", "<sst>"+strings.Repeat("<si><t>"+strings.Repeat("text ", 200)+"</t></si>", 5_000)+"</sst>")
}

// bookOf makes a workbook with a sheet of 20 columns.
func bookOf(t testing.TB, rows int) []byte {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	w, err := f.NewStreamWriter("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	row := make([]any, 20)
	for i := range rows + 1 {
		for j := range row {
			switch {
			case i == 0:
				row[j] = fmt.Sprintf("column %d", j)
			case j%2 == 0:
				row[j] = fmt.Sprintf("text %d", i*7919%10_000)
			default:
				row[j] = i * j
			}
		}
		if err := w.SetRow(fmt.Sprintf("A%d", i+1), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	out, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// BenchmarkWorkbook ingests a sheet of 20 columns in a worker, and reports the most memory
// that a worker had.
func BenchmarkWorkbook(b *testing.B) {
	benchtest.Each(b, "rows", benchtest.Sizes(10_000, 100_000), func(b *testing.B, rows int) {
		dir := b.TempDir()
		source := ingest.Source{Path: filepath.Join(dir, "book.xlsx"), Name: "book.xlsx"}
		if err := os.WriteFile(source.Path, bookOf(b, rows), 0o600); err != nil {
			b.Fatal(err)
		}
		ingester := NewIngester(IngesterConfig{})
		b.ResetTimer()
		for i := range b.N {
			made, err := ingester.Ingest(b.Context(), Admission{User: "alice"}, ingest.Job{Sources: []ingest.Source{source}, OutDir: filepath.Join(dir, fmt.Sprint("out", i))})
			if err != nil || made.Rows != int64(rows) {
				b.Fatalf("made %d rows, %v", made.Rows, err)
			}
		}
		var children syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &children); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(children.Maxrss)/1024, "MiB-peak")
	})
}
