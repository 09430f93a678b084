package ingest_test

import (
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func TestAppend(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		first, second string
		types         string
		rows          string
	}{
		{
			name:  "new and missing columns",
			first: "a,b\n1,x\n", second: "c,A\n2024-01-01,2\n",
			types: "a BIGINT, b VARCHAR, c DATE",
			rows:  `{"a":1,"b":"x","c":null}` + "\n" + `{"a":2,"b":null,"c":"2024-01-01"}`,
		},
		{
			name:  "whole numbers widen",
			first: "a,b,c\n1,1.5,1\n", second: "a,b,c\n2.5,2,123456789012345678901\n",
			types: "a DOUBLE, b DOUBLE, c DECIMAL(38,0)",
			rows:  `{"a":1.0,"b":1.5,"c":1}` + "\n" + `{"a":2.5,"b":2.0,"c":123456789012345678901}`,
		},
		{
			name:  "dates widen to timestamps",
			first: "a,b,c\n2024-01-01,2024-01-01 10:00,31/12/2024\n", second: "a,b,c\n2024-01-01 10:00,2024-01-01,2024-01-01 00:00:01\n",
			types: "a TIMESTAMP, b TIMESTAMP, c TIMESTAMP",
			rows: `{"a":"2024-01-01 00:00:00","b":"2024-01-01 10:00:00","c":"2024-12-31 00:00:00"}
{"a":"2024-01-01 10:00:00","b":"2024-01-01 00:00:00","c":"2024-01-01 00:00:01"}`,
		},
		{
			name:  "all else becomes text",
			first: "a,b,c,d,e,f\n1,true,2024-01-01,10:00,1.5,2024-01-01T10:00:00Z\n", second: "a,b,c,d,e,f\n007,5,soon,x,y,2024-01-01T10:00:00\n",
			types: "a VARCHAR, b VARCHAR, c VARCHAR, d VARCHAR, e VARCHAR, f VARCHAR",
			rows: `{"a":"1","b":"true","c":"2024-01-01","d":"10:00:00","e":"1.5","f":"2024-01-01 10:00:00+00"}
{"a":"007","b":"5","c":"soon","d":"x","e":"y","f":"2024-01-01T10:00:00"}`,
		},
		{
			name:  "text takes values as they are written",
			first: "a,b\nx,x\n", second: "a,b\n1.50,31/12/2024\n",
			types: "a VARCHAR, b VARCHAR",
			rows:  `{"a":"x","b":"x"}` + "\n" + `{"a":"1.50","b":"31/12/2024"}`,
		},
		{
			name:  "a column without values decides nothing",
			first: "a,b\n1,\n", second: "a,b\n,2.5\n",
			types: "a BIGINT, b DOUBLE",
			rows:  `{"a":1,"b":null}` + "\n" + `{"a":null,"b":2.5}`,
		},
		{
			name:  "lists",
			first: `[{"a":[1],"b":[],"c":["x"],"d":[1]}]`, second: `[{"a":[1.5],"b":[{"k":1}],"c":[2],"d":[]}]`,
			types: "a DOUBLE[], b JSON, c VARCHAR[], d BIGINT[]",
			rows:  `{"a":[1.0],"b":[],"c":["x"],"d":[1]}` + "\n" + `{"a":[1.5],"b":[{"k":1}],"c":["2"],"d":[]}`,
		},
		{
			name:  "nested values",
			first: `[{"a":[{"x":1}],"b":"plain","c":5}]`, second: `[{"a":[{"y":[2]}],"b":{"x":1},"c":[1,2]}]`,
			types: "a JSON, b VARCHAR, c VARCHAR",
			rows:  `{"a":[{"x":1}],"b":"plain","c":"5"}` + "\n" + `{"a":[{"y":[2]}],"b":"{\"x\":1}","c":"[1,2]"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			name := "x.csv"
			if test.first[0] == '[' {
				name = "x.json"
			}
			first := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, test.first)}})
			second := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, test.second)}, Have: first.Columns})
			if got := types(second.Columns); got != test.types {
				t.Errorf("types: got %s, want %s", got, test.types)
			}
			if got := l.rows(second.Columns, first, second); got != test.rows {
				t.Errorf("rows: got\n%s\nwant\n%s", got, test.rows)
			}

			// One job of both must say the same, and so must the files as one.
			both := l.mustRun(ingest.Job{Have: first.Columns[:0], Options: domain.IngestOptions{Union: true}, Sources: []ingest.Source{
				l.file("1"+name, test.first), l.file("2"+name, test.second)}})
			if got := types(both.Columns); got != test.types {
				t.Errorf("types of one job: got %s, want %s", got, test.types)
			}
			one, err := ingest.Compact(t.Context(), l.db, []string{first.Files[0].Path, second.Files[0].Path}, second.Columns, l.dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := l.rows(second.Columns, ingest.Result{Files: []ingest.File{one}}); got != test.rows || one.Rows != 2 {
				t.Errorf("compacted: got %d rows\n%s\nwant\n%s", one.Rows, got, test.rows)
			}
		})
	}
}

func TestAppendRefused(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, test := range []struct {
		have   domain.Column
		source ingest.Source
		want   string
	}{
		{domain.Column{Name: "A", Type: "BIGINT[]"}, l.file("1.json", `[{"a":5}]`),
			`1.json: column "A" holds lists so far and numbers here; no type fits both without loss; put it into another dataset`},
		{domain.Column{Name: "a", Type: "VARCHAR[]"}, l.file("2.json", `[{"a":{"x":1}}]`),
			`2.json: column "a" holds lists so far and nested values here; no type fits both without loss; put it into another dataset`},
		{domain.Column{Name: "a", Type: "BLOB"}, l.file("3.csv", "a\nx\n"),
			`3.csv: column "a" holds binary data so far and text here; no type fits both without loss; put it into another dataset`},
		{domain.Column{Name: "a", Type: "BIGINT"}, l.parquet("4.parquet", `SELECT '\x00'::BLOB AS a`),
			`4.parquet: column "a" holds numbers so far and binary data here; no type fits both without loss; put it into another dataset`},
		{domain.Column{Name: "a", Type: "STRUCT(k INTEGER)"}, l.parquet("5.parquet", `SELECT {'l': 1} AS a`),
			`5.parquet: column "a" holds nested values so far and nested values here; no type fits both without loss; put it into another dataset`},
	} {
		_, err := l.run(ingest.Job{Sources: []ingest.Source{test.source}, Have: []domain.Column{test.have}})
		if got := refusal(t, err); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// Nested Parquet joins JSON, and decimals stay exact.
func TestAppendParquet(t *testing.T) {
	t.Parallel()
	l := setup(t)
	first := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.json", `[{"a":[{"x":1}],"b":1.5,"c":7,"d":"x"}]`)}})
	second := l.mustRun(ingest.Job{Have: first.Columns, Sources: []ingest.Source{
		l.parquet("y.parquet", `SELECT {'k': [1]} AS a, 1.25::DECIMAL(10,2) AS b, 0.01::DECIMAL(18,2) AS c, [1, 2] AS d`)}})
	if got, want := types(second.Columns), "a JSON, b DOUBLE, c DECIMAL(21,2), d VARCHAR"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	want := `{"a":[{"x":1}],"b":1.5,"c":7.00,"d":"x"}` + "\n" + `{"a":{"k":[1]},"b":1.25,"c":0.01,"d":"[1,2]"}`
	if got := l.rows(second.Columns, first, second); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCompactKeepsOrder(t *testing.T) {
	t.Parallel()
	l := setup(t)
	var files []string
	var columns []domain.Column
	for i := range 20 {
		result := l.mustRun(ingest.Job{Have: columns, OutDir: filepath.Join(l.dir, "part", string(rune('a'+i))),
			Sources: []ingest.Source{l.parquet("x.parquet", "SELECT i FROM range("+string(rune('1'+i%9))+"000) t(i)")}})
		files = append(files, result.Files[0].Path)
		columns = result.Columns
	}
	one, err := ingest.Compact(t.Context(), l.db, files, columns, l.dir)
	if err != nil {
		t.Fatal(err)
	}
	before := l.query("SELECT i FROM (" + ingest.Query(files, columns) + ")")
	after := l.query("SELECT i FROM (" + ingest.Query([]string{one.Path}, columns) + ")")
	if before != after {
		t.Error("the order of rows has changed")
	}
	if _, err := ingest.Compact(t.Context(), l.db, files, columns, l.dir); err == nil {
		t.Error("a file that exists was replaced")
	}
}

// An addition says which columns it adds and lacks. A file of wholly other columns is for
// another dataset.
func TestAppendedColumns(t *testing.T) {
	t.Parallel()
	l := setup(t)
	have := []domain.Column{{Name: "a", Type: "BIGINT"}, {Name: "b", Type: "VARCHAR"}}
	other := []ingest.Source{l.file("x.csv", "c,d\n1,2\n")}
	_, err := l.run(ingest.Job{Sources: other, Have: have})
	if got, want := refusal(t, err), "x.csv has no column of the dataset, which has a, b; put it into another dataset, or read it with the option union"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const all = "columns added: c, d\ncolumns missing in this file: a, b"
	for _, test := range []struct {
		name, want string
		job        ingest.Job
	}{
		{"all, with union", all, ingest.Job{Sources: other, Options: domain.IngestOptions{Union: true}}},
		{"all, in rows", all, ingest.Job{Rows: l.file("rows", `{"c":1,"d":2}`).Path}},
		{"some", "columns added: c\ncolumns missing in this file: b", ingest.Job{Sources: []ingest.Source{l.file("y.csv", "A,c\n1,2\n")}}},
		{"none", "", ingest.Job{Sources: []ingest.Source{l.file("z.csv", "b,a\nx,2\n")}}},
		{"of another type", "the column is text from now on, in all rows; it was integer", ingest.Job{Sources: []ingest.Source{l.file("t.csv", "a,b\nx,y\n")}}},
	} {
		test.job.Have = have
		if got := warnings(l.mustRun(test.job)); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// What the dataset has decides what a file alone leaves open: the decimal sign, and whether the
// first row has names.
func TestAppendedAsBefore(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, test := range []struct{ name, have, file, columns, rows string }{
		{"fractions", "DOUBLE", "id;n\n7;1.250\n", "id BIGINT, n DOUBLE", `{"id":7,"n":1.25}`},
		{"thousands", "BIGINT", "id;n\n7;1.250\n", "id BIGINT, n BIGINT", `{"id":7,"n":1250}`},
		{"names of numbers", "BIGINT", "5,n\n6,7\n", "5 BIGINT, n BIGINT", `{"5":6,"n":7}`},
	} {
		have := []domain.Column{{Name: strings.Fields(test.columns)[0], Type: "BIGINT"}, {Name: "n", Type: test.have}}
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(test.name+".csv", test.file)}, Have: have})
		if got := types(result.Columns); got != test.columns {
			t.Errorf("%s: columns %s, want %s", test.name, got, test.columns)
		}
		if got := l.rows(result.Columns, result); got != test.rows {
			t.Errorf("%s: rows %s, want %s", test.name, got, test.rows)
		}
	}
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("tiers.csv", "sku,10,25,100\na,1,2,3\nb,4,5,6\n")}})
	if got, want := types(result.Columns), "sku VARCHAR, 10 BIGINT, 25 BIGINT, 100 BIGINT"; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
}
