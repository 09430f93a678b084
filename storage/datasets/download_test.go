package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// DatasetData is the dataset for ann, whatever it is called.
func (r fewRecords) DatasetData(_ context.Context, caller domain.Caller, ref domain.DatasetRef) (domain.DatasetData, error) {
	for _, data := range r.all {
		if data.Name == ref.Name && caller.Username == "ann" {
			return data, nil
		}
	}
	return domain.DatasetData{}, domain.ErrNotFound
}

func (o pathObjects) Hold(_ context.Context, files []domain.DataFile) (paths []string, release func(), err error) {
	paths, release, _ = o.Ready(files)
	return paths, release, nil
}

// download returns the file of a dataset with these columns. It leaves no file behind.
func download(t *testing.T, columns []domain.Column, files []string, as domain.Download) (string, error) {
	t.Helper()
	data := domain.DatasetData{ID: "id", Dataset: domain.Dataset{Name: "odd", Columns: columns}}
	for _, file := range files {
		data.Files = append(data.Files, domain.DataFile{Key: file})
	}
	dir := t.TempDir()
	d, err := NewDatasets(Config{Records: fewRecords{all: []domain.DatasetData{data}}, Objects: pathObjects{}, Ingester: NewIngester(IngesterConfig{}), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	file, err := d.Download(t.Context(), domain.Caller{Username: "ann"}, domain.DatasetRef{Name: "odd"}, as)
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	return string(content), err
}

// The rows of several files, of all types, become CSV.
func TestDownloadCSV(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := parquetTable(t, dir, "first", `SELECT 1::BIGINT AS id, 'a,"b"' || chr(10) || 'c' AS text, '{"k": [1]}' AS json, [1, 2] AS list, {'a': 'x', 'b': 1.5} AS struct,
		'\x00\xFF'::BLOB AS binary, TIMESTAMP '2025-01-02 03:04:05.678' AS at, TIMESTAMPTZ '2025-01-02 03:04:05+01' AS instant, DATE '2025-01-02' AS day,
		TIME '03:04:05' AS time, 1.50::DECIMAL(9,2) AS price, 0.1::DOUBLE AS real, true AS yes`)
	second := parquetTable(t, dir, "second", `SELECT * FROM (VALUES (2::BIGINT, ''), (3, NULL)) v(id, text)`)
	columns := append([]domain.Column{}, first.Columns...)
	columns[2].Type = "JSON"
	columns = append(columns, domain.Column{Name: "later", Type: "NULL"})
	got, err := download(t, columns, []string{first.Files[0], second.Files[0]}, domain.Download{Format: domain.DownloadCSV})
	const want = `id,text,json,list,struct,binary,at,instant,day,time,price,real,yes,later
1,"a,""b""
c","{""k"": [1]}","[1,2]","{""a"":""x"",""b"":1.5}",AP8=,2025-01-02 03:04:05.678,2025-01-02 02:04:05+00,2025-01-02,03:04:05,1.50,0.1,true,
2,"",,,,,,,,,,,,
3,,,,,,,,,,,,,
`
	if err != nil || got != want {
		t.Errorf("%v\n%s", err, got)
	}
	if _, err := download(t, nil, nil, domain.Download{Format: domain.DownloadCSV}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("no columns: %v", err)
	}
}

// What a spreadsheet would run gets a quote where that is asked for, and nothing else does.
func TestDownloadFormulas(t *testing.T) {
	t.Parallel()
	formulas := []string{"=1+1", "+1", "-1x", "@a", "\tx", "\rx", "-2+3", "\nx", "＝1+1", "＋1", "－1", "＠a", " =1+1", "\u00a0\u3000＝1", " -1", "\ufeff=1"}
	harmless := []string{" x-1", "a=b", "1 + 1", "-12345678901234567890", "-1.50", "", "é"}
	var values []string
	for _, text := range append(formulas, harmless...) {
		quoted, err := json.Marshal(map[string]string{"=text": text})
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(quoted))
	}
	source := filepath.Join(t.TempDir(), "texts.ndjson")
	if err := os.WriteFile(source, []byte(strings.Join(values, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	ingester := NewIngester(IngesterConfig{})
	made, err := ingester.Ingest(t.Context(), Admission{User: "ann"}, ingest.Job{Sources: []ingest.Source{{Path: source, Name: "texts.ndjson"}}, OutDir: filepath.Join(t.TempDir(), "made")})
	if err != nil {
		t.Fatal(err)
	}
	for escape, quoted := range map[bool]int{false: 0, true: len(formulas) + 1} {
		got, err := download(t, made.Columns, []string{made.Files[0].Path}, domain.Download{Format: domain.DownloadCSV, EscapeFormulas: escape})
		if count := strings.Count(got, "'"); err != nil || count != quoted {
			t.Errorf("%d of %d have a quote: %v\n%q", count, quoted, err, got)
		}
		for _, text := range harmless {
			if !strings.Contains(got, "\n"+text+"\n") && text != "" {
				t.Errorf("%q is changed", text)
			}
		}
	}
}

// Binary values can begin with a sign in base64.
func TestDownloadBinaryFormula(t *testing.T) {
	t.Parallel()
	data := parquetTable(t, t.TempDir(), "blobs", `SELECT '\xF8\x00\x00'::BLOB AS data`)
	for escape, want := range map[bool]string{false: "data\n+AAA\n", true: "data\n'+AAA\n"} {
		got, err := download(t, data.Columns, []string{data.Files[0]}, domain.Download{Format: domain.DownloadCSV, EscapeFormulas: escape})
		if err != nil || got != want {
			t.Errorf("got %q, want %q: %v", got, want, err)
		}
	}
}

// A Parquet file has the dataset's columns and rows, and can be ingested again.
func TestDownloadParquet(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := parquetTable(t, dir, "first", `SELECT i::BIGINT AS id, 'row ' || i AS text, '{"a":1}' AS json, [i] AS list FROM range(300000) r(i)`)
	second := parquetTable(t, dir, "second", `SELECT i::BIGINT AS id FROM range(300000, 300010) r(i)`)
	columns := append([]domain.Column{}, first.Columns...)
	columns[2].Type = "JSON"
	columns = append(columns, domain.Column{Name: "later", Type: "NULL"})
	got, err := download(t, columns, []string{first.Files[0], second.Files[0]}, domain.Download{Format: domain.DownloadParquet})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "odd.parquet")
	if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
	made, err := NewIngester(IngesterConfig{}).Ingest(t.Context(), Admission{User: "ann"}, ingest.Job{Sources: []ingest.Source{{Path: path, Name: "odd.parquet"}}, OutDir: filepath.Join(t.TempDir(), "made")})
	if err != nil || made.Rows != 300010 {
		t.Fatalf("%d rows, %v", made.Rows, err)
	}
	for i, c := range made.Columns {
		if c.Name != columns[i].Name || c.Type != columns[i].Type && columns[i].Type != "NULL" {
			t.Errorf("column %+v became %+v", columns[i], c)
		}
	}
	s := newSetup(t, nil)
	s.tables = []Table{{Name: "odd", Columns: columns, Files: []string{path}, ID: "odd"}}
	want := `{"n":300010,"first":"row 0","last":300009,"ordered":true,"__metadata":{"score":1.0}}`
	if got := s.rows(t, `SELECT count(*) AS n, first(text) AS first, last(id) AS last, bool_and(id = n) AS ordered FROM (SELECT *, row_number() OVER () - 1 AS n FROM odd)`); got != want {
		t.Errorf("the rows: %s", got)
	}
}

// A file that is too large is refused, and a download that is given up leaves nothing.
func TestDownloadLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := parquetTable(t, dir, "rows", `SELECT i AS id, repeat('x', 1000) AS text FROM range(20000) r(i)`)
	ingester := NewIngester(IngesterConfig{})
	for _, format := range []domain.DownloadFormat{domain.DownloadCSV, domain.DownloadParquet} {
		_, err := ingester.Export(t.Context(), Admission{User: "ann"}, table.Files, table.Columns, "", domain.Download{Format: format}, 64<<10, filepath.Join(dir, string(format)))
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "larger than") {
			t.Errorf("%s: %v", format, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	data := domain.DatasetData{Dataset: domain.Dataset{Name: "rows", Columns: table.Columns}, Files: []domain.DataFile{{Key: table.Files[0]}}}
	work := t.TempDir()
	d, err := NewDatasets(Config{Records: fewRecords{all: []domain.DatasetData{data}}, Objects: pathObjects{}, Ingester: ingester, Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Download(ctx, domain.Caller{Username: "ann"}, domain.DatasetRef{Name: "rows"}, domain.Download{Format: domain.DownloadCSV}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if left, _ := os.ReadDir(work); len(left) > 0 {
		t.Errorf("left behind %v", left)
	}
	if _, err := d.Download(t.Context(), domain.Caller{Username: "bob"}, domain.DatasetRef{Name: "rows"}, domain.Download{Format: domain.DownloadCSV}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another's: %v", err)
	}
}

// All rows of a query become lines, whatever their number and size. What is wrong leaves
// nothing behind.
func TestDownloadResult(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	table := parquetTable(t, s.dir, "many", `SELECT i AS id FROM range(5195) r(i)`)
	data := domain.DatasetData{ID: "many", Dataset: domain.Dataset{Name: "many", Columns: table.Columns}, Files: []domain.DataFile{{Key: table.Files[0]}}}
	work := t.TempDir()
	d, err := NewDatasets(Config{Records: fewRecords{all: []domain.DatasetData{data}}, Objects: pathObjects{}, Pool: s.pool, Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	var columns []domain.Column
	result := func(user, sql string) (lines []string, err error) {
		var file *os.File
		file, columns, err = d.DownloadResult(t.Context(), domain.Caller{Username: user}, domain.DataScope{Namespace: domain.NamespaceRef{Owner: "ann", Name: "shop"}}, sql)
		if left, _ := os.ReadDir(work); len(left) > 0 {
			t.Errorf("left behind %v", left)
		}
		if err != nil {
			return nil, err
		}
		defer file.Close()
		content, err := io.ReadAll(file)
		return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n"), err
	}
	lines, err := result("ann", "SELECT id FROM many ORDER BY id DESC")
	if err != nil || len(lines) != 5195 || lines[0] != `{"id":5194,"__metadata":{"score":1.0}}` || !strings.HasPrefix(lines[5194], `{"id":0,`) || columns != nil {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	if lines, err := result("ann", "SELECT id FROM many WHERE id < 0"); err != nil || len(lines) != 1 || lines[0] != "" || len(columns) != 1 || columns[0].Name != "id" {
		t.Errorf("no rows: %q %v", lines, err)
	}
	if lines, err = result("ann", "SELECT id, repeat('x', 8000000) AS text FROM many WHERE id < 5"); err != nil || len(lines) != 5 || len(lines[4]) < 8000000 {
		t.Errorf("large rows: %d lines, %v", len(lines), err)
	}
	for _, sql := range []string{
		"SELECT id, repeat('x', 17000000) AS text FROM many",
		"SELECT nothing FROM many",
		"SELECT CAST(CASE WHEN id > 3000 THEN 'wrong' ELSE '1' END AS INTEGER) AS v FROM many",
		"DELETE FROM many",
	} {
		if _, err := result("ann", sql); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := result("bob", "SELECT id FROM many"); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("another's: %v", err)
	}
}

// A sink that refuses rows ends the query, and one of a query that runs again begins anew.
func TestSink(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	file, err := os.Create(filepath.Join(t.TempDir(), "rows"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Others write as much as this query each time.
	free := int64(64 << 20)
	query := func(sql string) error {
		lines := &lineFile{file: file}
		lines.free = func() (int64, error) { return free - 2*lines.size, nil }
		_, err := s.pool.Query(t.Context(), Query{SQL: sql, Tables: s.tables, lines: lines})
		return err
	}
	if err := query("SELECT i FROM range(1000000000000) r(i)"); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("more than the disk may take: %v", err)
	}
	if info, err := file.Stat(); err != nil || info.Size() > free/(resultShare+1) {
		t.Errorf("%d bytes were written of a share of %d: %v", info.Size(), free/(resultShare+1), err)
	}
	if err := query("SELECT i FROM range(3000) r(i)"); err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if want := int64(3000*len(`{"i":,"__metadata":{"score":1.0}}`+"\n") + 10 + 90*2 + 900*3 + 2000*4); err != nil || info.Size() != want {
		t.Errorf("%d bytes, want %d: %v", info.Size(), want, err)
	}
	if stats := s.pool.Stats(); stats.Running != 0 || stats.Ended != 1 {
		t.Errorf("%+v", stats)
	}
}
