package ingest_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// mixtures are columns in which one value is unlike all others.
var mixtures = []struct {
	name       string
	usual, odd string
	typ        string
	// read is how the usual value comes back; empty when as it was written.
	read string
}{
	{"plain", "42", "43", "BIGINT", ""},
	{"letter", "42", "x", "VARCHAR", ""},
	{"missing word", "green", "N/A", "VARCHAR", ""},
	{"leading zero", "42", "007", "VARCHAR", ""},
	{"code", "12345", "12345-R", "VARCHAR", ""},
	{"fraction", "42", "1.5", "DOUBLE", "42.0"},
	{"large", "42", "9223372036854775808", "DECIMAL(38,0)", ""},
	{"decimal comma", "0.50", "1,5", "VARCHAR", ""},
	{"infinite", "0.5", "inf", "DOUBLE", ""},
	{"flag", "true", "maybe", "VARCHAR", ""},
	{"no such day", "2024-01-02", "2024-13-45", "VARCHAR", ""},
	{"day and moment", "2024-01-02", "2024-01-02 10:30:00", "TIMESTAMP", "2024-01-02 00:00:00"},
	{"moment", "2024-01-02 10:30", "soon", "VARCHAR", ""},
	{"without its zone", "2024-01-02T10:30:00Z", "2024-01-02T10:30:00", "VARCHAR", ""},
	{"month first", "31/12/2024", "12/31/2024", "VARCHAR", ""},
	{"no such time", "10:30", "25:00", "VARCHAR", ""},
	{"quoted", "42", "a \"b\"\nc", "VARCHAR", ""},
}

// mixed makes a file of n rows of all mixtures, separated by comma. At says
// which row has the odd value of the i-th column.
func mixed(t testing.TB, comma rune, n int, at func(i int) int) string {
	t.Helper()
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Comma = comma
	row := make([]string, len(mixtures))
	for i, m := range mixtures {
		row[i] = m.name
	}
	w.Write(row)
	for r := range n {
		for i, m := range mixtures {
			if row[i] = m.usual; r == at(i) {
				row[i] = m.odd
			}
		}
		w.Write(row)
	}
	w.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}

// A column's type depends on what values it has, not on how many, nor on where
// the odd one stands.
func TestOneOddValue(t *testing.T) {
	t.Parallel()
	var want []string
	for _, m := range mixtures {
		want = append(want, m.name+" "+m.typ)
	}
	for _, n := range []int{2, 1001, 30_001} {
		for place, at := range map[string]func(int) int{
			"first":  func(int) int { return 0 },
			"last":   func(int) int { return n - 1 },
			"strewn": func(i int) int { return (i*997 + n/2) % n },
		} {
			for name, comma := range map[string]rune{"x.csv": ',', "x.tsv": '\t', "x.csv.gz": ';'} {
				if n > 2000 && name != "x.csv" && place != "strewn" && !fulltest.Full() {
					continue // by then all formats are the same
				}
				t.Run(fmt.Sprintf("%s, %d rows, %s", name, n, place), func(t *testing.T) {
					t.Parallel()
					l := setup(t)
					content := mixed(t, comma, n, at)
					if strings.HasSuffix(name, ".gz") {
						content = zipped(content)
					}
					result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, content)}})
					if got := types(result.Columns); got != strings.Join(want, ", ") {
						t.Errorf("types: got  %s\nwant %s", got, strings.Join(want, ", "))
					}
					l.seekOdd(result, n, at)
				})
			}
		}
	}
}

// seekOdd proves that every value of a mixed file is where it was.
func (l *setting) seekOdd(result ingest.Result, n int, at func(i int) int) {
	l.t.Helper()
	var exprs, want []string
	for i, m := range mixtures {
		if m.read == "" {
			m.read = m.usual
		}
		text := `CAST("` + m.name + `" AS VARCHAR)`
		exprs = append(exprs, fmt.Sprintf("count(*) FILTER (%s = '%s') || ' ' || string_agg(row, ' ') FILTER (%s = '%s')", text, m.read, text, m.odd))
		want = append(want, fmt.Sprintf("%d %d", n-1, at(i)))
	}
	got := l.query("SELECT concat_ws(', ', " + strings.Join(exprs, ", ") + ") FROM (SELECT *, row_number() OVER () - 1 AS row FROM (" +
		ingest.Query([]string{result.Files[0].Path}, result.Columns) + "))")
	if got != strings.Join(want, ", ") {
		l.t.Errorf("usual values, and row of the odd one: got\n%s\nwant\n%s", got, strings.Join(want, ", "))
	}
}

// The types are the same when usual values and the odd one come in two files, of
// one job or of two, in either order.
func TestOneOddValueAppended(t *testing.T) {
	t.Parallel()
	l := setup(t)
	usual := l.file("usual.csv", mixed(t, ',', 3, func(int) int { return -1 }))
	odd := l.file("odd.csv", mixed(t, ',', 2000, func(int) int { return 1999 }))
	want := types(l.mustRun(ingest.Job{Sources: []ingest.Source{odd}}).Columns)
	for _, order := range [][]ingest.Source{{usual, odd}, {odd, usual}} {
		if got := types(l.mustRun(ingest.Job{Sources: order}).Columns); got != want {
			t.Errorf("one job: got  %s\nwant %s", got, want)
		}
		first := l.mustRun(ingest.Job{Sources: order[:1]})
		second := l.mustRun(ingest.Job{Sources: order[1:], Have: first.Columns})
		if got := types(second.Columns); got != want {
			t.Errorf("appended: got  %s\nwant %s", got, want)
		}
		if got := strings.Count(l.rows(second.Columns, first, second), "\n") + 1; got != 2003 {
			t.Errorf("got %d rows", got)
		}
	}
}

// A file of several blocks is one file, and is checked once.
func TestOneOddValueFarDown(t *testing.T) {
	t.Parallel()
	l := setup(t)
	long := strings.Repeat(" long", 15)
	content := "id,day,note\n" + lines(179_999, "%d,2024-01-02,a"+long+"\n") + "180000,2024-13-45,b\n" + lines(20_000, "%d,2024-01-03,c"+long+"\n")
	var told []ingest.Progress
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", content)}, Progress: func(p ingest.Progress) { told = append(told, p) }})
	if got := types(result.Columns); got != "id BIGINT, day VARCHAR, note VARCHAR" {
		t.Errorf("got %s", got)
	}
	got := l.query("SELECT count(*) || ' ' || string_agg(id, ' ') FILTER (day = '2024-13-45') FROM (" + ingest.Query([]string{result.Files[0].Path}, result.Columns) + ")")
	if got != "200000 180000" {
		t.Errorf("got %s", got)
	}
	for i, p := range told {
		if i > 0 && (p.Bytes < told[i-1].Bytes || p.Rows < told[i-1].Rows) || p.Rows > 200_000 {
			t.Errorf("progress %d: %+v", i, p)
		}
	}
}

// What holds for CSV holds for JSON.
func TestOneOddValueInJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ usual, odd, typ string }{
		{`42`, `"x"`, "VARCHAR"},
		{`42`, `1.5`, "DOUBLE"},
		{`true`, `"maybe"`, "VARCHAR"},
		{`"2024-01-02"`, `"2024-13-45"`, "VARCHAR"},
		{`"2024-01-02"`, `"2024-01-02 10:30:00"`, "TIMESTAMP"},
		{`"2024-01-02T10:30:00Z"`, `"soon"`, "VARCHAR"},
		{`"10:30"`, `"25:00"`, "VARCHAR"},
		{`[1]`, `["x"]`, "VARCHAR[]"},
	} {
		t.Run(test.usual+" "+test.odd, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1, 1000, 30_000} {
				l := setup(t)
				content := lines(n, `{"a":`+test.usual+"}\n") + `{"a":` + test.odd + `}`
				result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.ndjson", content)}})
				if got := types(result.Columns); got != "a "+test.typ || result.Rows != int64(n+1) {
					t.Errorf("after %d: got %d rows of %s", n, result.Rows, got)
				}
			}
		})
	}
}

// Numbers with all their digits go with ordinary ones, in a dataset that has either.
func TestDigitsOfAdditions(t *testing.T) {
	t.Parallel()
	l := setup(t)
	long := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("a.csv", "price\n12345678901234567.89\n")}})
	plain := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("b.csv", "price\n1.125\nNA\n-7\n")}, Have: long.Columns})
	if got, want := l.rows(plain.Columns, long, plain), `{"price":12345678901234567.890}`+"\n"+`{"price":1.125}`+"\n"+`{"price":null}`+"\n"+`{"price":-7.000}`; types(plain.Columns) != "price DECIMAL(20,3)" || got != want {
		t.Errorf("got %s\n%s", types(plain.Columns), got)
	}
	first := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("b.csv", "price\n1.125\n")}})
	second := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("a.csv", "price\n12345678901234567.89\n")}, Have: first.Columns})
	if got, want := warnings(second), "some numbers have more digits than the column of the dataset, and are rounded to about 16"; types(second.Columns) != "price DOUBLE" || got != want {
		t.Errorf("got %s: %s", types(second.Columns), got)
	}
	l.reads("c.csv", "a,b\n9007199254740993,\"1,234,567\"\n5,9007199254740993\n", "a BIGINT, b BIGINT", `{"a":9007199254740993,"b":1234567}`+"\n"+`{"a":5,"b":9007199254740993}`)
	wanted := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("a.csv", "price\n12345678901234567.89\n")}, Options: domain.IngestOptions{Types: map[string]string{"price": "DOUBLE"}}})
	if got := types(wanted.Columns); got != "price DOUBLE" {
		t.Errorf("got %s", got)
	}
}

// The report names the cells that made a column text, also where they are many, codes, or JSON.
func TestMisfits(t *testing.T) {
	t.Parallel()
	var cells, lines strings.Builder
	cells.WriteString("a,b\n")
	for i := range 20_000 {
		a := fmt.Sprint(i + 1)
		if i%100 == 7 {
			a = "unknown"
		}
		fmt.Fprintf(&cells, "%s,%d\n", a, i+1)
	}
	cells.WriteString("1,007\n")
	for i := range 10 {
		fmt.Fprintf(&lines, "{\"a\":%d,\"b\":%d}\n", i, i)
	}
	lines.WriteString(`{"a":"x","b":1}`)
	for _, test := range []struct{ file, content, columns, warning string }{
		{"x.csv", cells.String(), "101 [9 109 209 309 409], 1 [20002]", "the column is text: at least 101 cells cannot be read as integer"},
		{"x.ndjson", lines.String(), "1 [11], 0 []", "the column is text: 1 cell of 11 cannot be read as integer"},
		{"x.json", "[" + strings.ReplaceAll(lines.String(), "\n", ",") + "]", "1 [], 0 []", "the column is text: 1 cell of 11 cannot be read as integer, the first in row 11"},
	} {
		l := setup(t)
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}})
		columns := result.Report.Columns
		got := fmt.Sprintf("%d %v, %d %v", columns[0].Misfits, columns[0].MisfitLines, columns[1].Misfits, columns[1].MisfitLines)
		if got != test.columns || warnings(result) != test.warning {
			t.Errorf("%s: got %s, %s", test.file, got, warnings(result))
		}
	}
}
