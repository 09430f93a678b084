package reader_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/internal/domain"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/profile"
	"parley/llm/reader/train/dataset"
	"parley/storage/datasets/ingest"
)

// loadFolder ingests the CSV files of a folder, as the product does, but leaves words for dates
// and booleans text, as they are in training and in files of other formats.
func loadFolder(t *testing.T, d *ducktest.Duck, dir string) []llm.Dataset {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.csv"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var datasets []llm.Dataset
	for _, file := range files {
		out := filepath.Join(t.TempDir(), "out")
		options := domain.IngestOptions{}
		if filepath.Base(file) == "visits.csv" {
			options.Types = map[string]string{"paid": "VARCHAR", "on": "VARCHAR"}
		}
		result, err := ingest.Run(t.Context(), d.DB, ingest.Job{OutDir: out, Options: options, Sources: []ingest.Source{{Path: file, Name: filepath.Base(file)}}})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".csv")
		d.Exec(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM read_parquet(%s)", ir.Ident(name), ir.Literal(result.Files[0].Path)))
		one := llm.Dataset{Name: name, Version: "1", Rows: result.Rows}
		for _, c := range result.Columns {
			one.Columns = append(one.Columns, llm.Column{Name: c.Name, Type: c.Type})
		}
		datasets = append(datasets, one)
	}
	return datasets
}

// describeCatalog writes all that a catalog says, for comparison.
func describeCatalog(cat *catalog.Catalog) []string {
	var lines []string
	for i := range cat.Tables {
		t := &cat.Tables[i]
		lines = append(lines, fmt.Sprintf("table %s %q %q rows %d key %d %v", t.Name, t.Words, t.Hints, t.Rows, t.Key, t.Columns))
	}
	for i := range cat.Columns {
		c := &cat.Columns[i]
		lines = append(lines, fmt.Sprintf("column %d.%s %q kind %d native %v integers %v complete %v distinct %d filled %d unique %v: %q",
			c.Table, c.Name, c.Words, c.Kind, c.Native, c.Integers, c.Complete, c.Distinct, c.Filled, c.Unique, c.Values))
	}
	return append(lines, fmt.Sprint("links ", cat.Links))
}

// TestSameAsTraining compares the catalog of datasets with the one that training has of the
// same files: the network has to be told of data as it was when it was trained.
func TestSameAsTraining(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("é", 130)
	var many strings.Builder
	many.WriteString("id,code,note\n")
	for i := range 3000 {
		fmt.Fprintf(&many, "%d,C%05d,%s\n", i+1, i%2500, []string{"", "first", "Second ", "3rd"}[i%4])
	}
	for name, text := range map[string]string{
		"people.csv": "person_id,name,height,member,born,seen_at,site\n" +
			"1,Ada Moss,1.70,true,1990-02-28,2024-05-01 10:00:00,B\n2,\"Bo \"\"X\"\" Hill\",1.7,false,,2024-05-01 10:00:00,A\n" +
			"3,Cleo,2,TRUE,1985-12-01,2024-06-02 08:30:00,\n4," + long + "1,1.5,False,2001-01-01,2024-06-03 09:00:00,A\n5," + long + "2,,,2001-01-01,2024-06-03,A\n",
		"visits.csv": "visit_id,person_id,amount,paid,on,\n1,1,10,yes,3 May 2024,a\n2,1,12.25,no,4 May 2024,b\n3,3,1000000,yes,12 June 2024,c\n4,5,0.5,yes,1 July 2024,\n",
		"many.csv":   many.String(),
		"sites.csv":  "site,City Name\nA,Köln\nB,Zürich\nC,\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trained, err := dataset.Profiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	d := ducktest.New(t)
	datasets := loadFolder(t, d, dir)
	before := d.Queries.Load()
	var read []*catalog.Profile
	for _, one := range datasets {
		p, err := profile.Read(t.Context(), d, one)
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, p)
	}
	if n := d.Queries.Load() - before; n != int64(len(datasets)) {
		t.Errorf("%d queries for %d datasets", n, len(datasets))
	}
	got, want := describeCatalog(catalog.New(read, nil)), describeCatalog(catalog.New(trained, nil))
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d\n got %.600s\nwant %.600s", i, got[i], want[i])
		}
	}
	if !strings.Contains(want[len(want)-1], "{") {
		t.Error("there is no link to compare")
	}
}

// TestLargeDataset reads a table with more rows than are looked at, values that do not fit into
// one result, and columns that are no values.
func TestLargeDataset(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	d.Exec(`CREATE TABLE events AS SELECT i AS event_id, 'é' || repeat('ü', 119) || (i % 4000) AS note, md5(CAST(i AS VARCHAR)) || repeat('漢', 100) AS hash, [i, i] AS list, {'a': i} AS obj,
		CASE WHEN i % 2 = 0 THEN 'even' ELSE 'odd' END AS parity FROM range(60000) AS r(i)`)
	p, err := profile.Read(t.Context(), d, d.Dataset("events"))
	if err != nil {
		t.Fatal(err)
	}
	part := catalog.NewPart(p)
	columns := part.Columns()
	if p.Rows != 60_000 || p.Sampled != 50_000 || !columns[0].Unique || columns[5].Unique {
		t.Errorf("%d of %d rows, unique %v %v", p.Sampled, p.Rows, columns[0].Unique, columns[5].Unique)
	}
	if !slices.Equal(columns[5].Values, []string{"even", "odd"}) || columns[5].Complete {
		t.Errorf("%q, complete %v: not all rows were seen", columns[5].Values, columns[5].Complete)
	}
	if n := len(columns[2].Values); n != 1000 || len([]rune(columns[2].Values[0])) != 120 {
		t.Errorf("%d values of %d letters", n, len([]rune(columns[2].Values[0])))
	}
	if len(columns[3].Values)+len(columns[4].Values) > 0 {
		t.Errorf("%q", columns[3].Values)
	}
	if size := part.Size(); size > 3<<20 {
		t.Errorf("%d bytes", size)
	}
}

// failingData fails for queries that hold a text.
type failingData struct {
	llm.Data
	at  string
	err error
}

func (b failingData) Query(ctx context.Context, sql string) (llm.Rows, error) {
	if strings.Contains(sql, b.at) {
		return llm.Rows{}, b.err
	}
	return b.Data.Query(ctx, sql)
}

// TestBrokenColumn knows nothing of a column that cannot be read, and all of others.
// Data that is away is an error.
func TestBrokenColumn(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	dogs := d.Table("dogs", "name VARCHAR, age BIGINT, town VARCHAR", "('Rex', 3, 'Rome'), ('Spot', 5, 'Oslo')")
	p, err := profile.Read(t.Context(), failingData{d, `"age"`, llm.ErrBadQuery}, dogs)
	if err != nil || len(p.Columns[0].Values) != 2 || p.Columns[1].Filled != 0 || len(p.Columns[2].Values) != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	away := errors.New("away")
	if _, err := profile.Read(t.Context(), failingData{d, `"age"`, away}, dogs); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}
