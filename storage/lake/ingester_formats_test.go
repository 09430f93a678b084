package lake

import (
	"archive/zip"
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/storage"
	"parley/storage/lake/ingest"
)

// Containers are unpacked by a worker within its sandbox and its limits.
func TestContainersInTheWorker(t *testing.T) {
	t.Parallel()
	path, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ingester := NewIngester(IngesterConfig{Command: func() (string, []string, []string) { return path, []string{"worker", "ingest"}, nil }})
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
			Sources: []ingest.Source{source}, Options: storage.IngestOptions{Sheet: "none"}, OutDir: out + "-none"})
		if err == nil {
			t.Errorf("%s: a table that it does not have was read", name)
		}
	}
}

func containerFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{
		"page.html":   []byte("<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"),
		"map.geojson": []byte(`{"type":"FeatureCollection","features":[{"type":"Feature","properties":{"a":1},"geometry":null}]}`),
		"text.docx":   zipOf(t, "[Content_Types].xml", "<Types/>", "word/document.xml", `<document><p><t>Hello.</t></p></document>`),
		"data.zip":    zipOf(t, "a.csv", "a\n1\n"),
		"book.xlsx":   bookOf(t, 30_000),
	}
	// A document without a table of its objects, which is found by searching for them.
	files["text.pdf"] = []byte("%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n" +
		"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n" +
		"4 0 obj\n<< /Length 42 >>\nstream\nBT /F1 12 Tf 72 720 Td (Hello world.) Tj ET\nendstream\nendobj\n" +
		"5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\ntrailer\n<< /Root 1 0 R >>\n")
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

// bookOf makes a workbook with a sheet of 20 columns, large enough to be read from a file.
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
