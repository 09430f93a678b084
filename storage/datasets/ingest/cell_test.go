package ingest_test

import (
	"encoding/csv"
	"fmt"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// TestCells reads one column: its cells, what they become, and what the report
// says.
func TestCells(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, cells string
		typ, from   string
		values      string
		unit        string
		misfits     string
	}{
		{name: "missing", cells: "1|NA|n/a|#N/A|n.a.|-|null|#NULL!|None| N/A |2", typ: "BIGINT", values: "1|~|~|~|~|~|~|~|~|~|2"},
		{name: "missing among fractions", cells: "1.5|NA|nan", typ: "DOUBLE", values: "1.5|~|~"},
		{name: "missing among dates", cells: "2024-01-02|-", typ: "DATE", values: "2024-01-02|~"},
		{name: "missing among texts", cells: "x|NA|-", typ: "VARCHAR", values: "x|NA|-"},
		{name: "nothing but missing", cells: "NA|N/A", typ: "NULL", values: "~|~"},

		{name: "thousands", cells: "1,234,567|950|-1,234", typ: "BIGINT", from: "1,234", values: "1234567|950|-1234"},
		{name: "thousands and fractions", cells: "1,234.50|0.5|12", typ: "DOUBLE", from: "1,234.56", values: "1234.5|0.5|12.0"},
		{name: "ambiguous thousands", cells: "1,234|950", typ: "VARCHAR", values: "1,234|950"},
		{name: "decided by another cell", cells: "1,234|12.5", typ: "DOUBLE", from: "1,234.56", values: "1234.0|12.5"},
		{name: "decimal comma", cells: "1.234,56|0,5|-7|1.234", typ: "DOUBLE", from: "1.234,56", values: "1234.56|0.5|-7.0|1234.0"},
		{name: "decimal comma decides", cells: "1,234|0,5", typ: "DOUBLE", from: "1.234,56", values: "1.234|0.5"},
		{name: "points of thousands", cells: "1.234.567|1.234", typ: "BIGINT", from: "1.234", values: "1234567|1234"},
		{name: "three digits after a point", cells: "1.234|2.5", typ: "DOUBLE", values: "1.234|2.5"},
		{name: "mixed signs", cells: "1,5|2,5|3.5", typ: "VARCHAR", values: "1,5|2,5|3.5", misfits: "1 [4]"},
		{name: "spaces", cells: "1 234|12 345 678|5", typ: "BIGINT", from: "1 234", values: "1234|12345678|5"},
		{name: "narrow spaces and a comma", cells: "1\u202f234,5|2\u00a0000,25", typ: "DOUBLE", from: "1.234,56", values: "1234.5|2000.25"},
		{name: "apostrophes", cells: "1'234|2’345’678", typ: "BIGINT", from: "1 234", values: "1234|2345678"},
		{name: "parentheses", cells: "(1,234.50)|2.5|(3)", typ: "DOUBLE", from: "1,234.56", values: "-1234.5|2.5|-3.0"},
		{name: "not groups", cells: "12,34,567|1,2,3", typ: "VARCHAR", values: "12,34,567|1,2,3"},

		{name: "dollars", cells: "$319|$1,234|-$5|$-6|($7)", typ: "BIGINT", from: "1,234", unit: "$", values: "319|1234|-5|-6|-7"},
		{name: "dollars and cents", cells: "$319.00|$1,234.50", typ: "DOUBLE", from: "1,234.56", unit: "$", values: "319.0|1234.5"},
		{name: "euros", cells: "1.234,50 €|5 €|NA", typ: "DOUBLE", from: "1.234,56", unit: "€", values: "1234.5|5.0|~"},
		{name: "codes of currencies", cells: "USD 5|USD 6.50", typ: "DOUBLE", unit: "USD", values: "5.0|6.5"},
		{name: "percent", cells: "76%|5.5 %|-3%|+4%", typ: "DOUBLE", unit: "%", values: "76.0|5.5|-3.0|4.0"},
		{name: "two currencies", cells: "$5|€6|$7|$8", typ: "VARCHAR", values: "$5|€6|$7|$8", misfits: "1 [3]"},
		{name: "a cell without its unit", cells: "76%|0.5|80%", typ: "VARCHAR", values: "76%|0.5|80%", misfits: "1 [3]"},
		{name: "the sign and the code of a currency", cells: "5 EUR|€6|EUR 7", typ: "BIGINT", unit: "€", values: "5|6|7"},
		{name: "codes", cells: "00123|456|789", typ: "VARCHAR", values: "00123|456|789", misfits: "1 [2]"},
		{name: "phones", cells: "+49170|+49171", typ: "VARCHAR", values: "+49170|+49171"},

		{name: "yes and no", cells: "yes|No|YES", typ: "BOOLEAN", from: "yes/no", values: "true|false|true"},
		{name: "y and n", cells: "Y|n|N/A", typ: "BOOLEAN", from: "y/n", values: "true|false|~"},
		{name: "t and f", cells: "t|F", typ: "BOOLEAN", from: "t/f", values: "true|false"},
		{name: "one letter alone", cells: "F|F", typ: "VARCHAR", values: "F|F"},
		{name: "no alone", cells: "NO|no", typ: "VARCHAR", values: "NO|no"},
		{name: "words of two languages", cells: "ja|non", typ: "VARCHAR", values: "ja|non"},
		{name: "sexes", cells: "M|F", typ: "VARCHAR", values: "M|F"},

		{name: "month names", cells: "Nov 16, 2004|May 1, 2005|NOVEMBER 3, 2006", typ: "DATE", from: "mon d, y", values: "2004-11-16|2005-05-01|2006-11-03"},
		{name: "day first and month names", cells: "16-Nov-04|1-Jan-99|2 May 2020|16. November 2004", typ: "DATE", from: "d mon yy", values: "2004-11-16|1999-01-01|2020-05-02|2004-11-16"},
		{name: "month names and times", cells: "Nov 16, 2004 3:05 PM|Nov 17, 2004", typ: "TIMESTAMP", from: "mon d, y h:m pm", values: "2004-11-16 15:05:00|2004-11-17 00:00:00"},
		{name: "year first", cells: "2004-Nov-16|2004 Dec 1", typ: "DATE", from: "y mon d", values: "2004-11-16|2004-12-01"},
		{name: "no such day", cells: "Feb 30, 2004|Feb 28, 2004|Feb 27, 2004", typ: "VARCHAR", values: "Feb 30, 2004|Feb 28, 2004|Feb 27, 2004", misfits: "1 [2]"},
		{name: "dots", cells: "31.12.2024|1.2.2024", typ: "DATE", from: "d.m.y", values: "2024-12-31|2024-02-01"},
		{name: "two digits of years", cells: "31.12.24|01.02.70", typ: "DATE", from: "d.m.yy", values: "2024-12-31|1970-02-01"},
		{name: "month first", cells: "1/2/24|12/31/1999", typ: "DATE", from: "m/d/yy", values: "2024-01-02|1999-12-31"},
		{name: "day first", cells: "1/2/2024|31/12/1999 23:59", typ: "TIMESTAMP", from: "d/m/y", values: "2024-02-01 00:00:00|1999-12-31 23:59:00"},
		{name: "either first", cells: "1/2/2024|3/4/2024", typ: "VARCHAR", values: "1/2/2024|3/4/2024"},
		{name: "both first", cells: "31/12/2024|1/13/2024|1/2/2024|2/2/2024", typ: "VARCHAR", values: "31/12/2024|1/13/2024|1/2/2024|2/2/2024", misfits: "1 [3]"},
		{name: "as many of both", cells: "31/12/2024|1/13/2024", typ: "VARCHAR", values: "31/12/2024|1/13/2024"},
		{name: "as many of both signs", cells: "1,5|1.5", typ: "VARCHAR", values: "1,5|1.5"},
		{name: "blanks around times", cells: "10:30 | 11:00|12:00", typ: "TIME", values: "10:30:00|11:00:00|12:00:00"},
		{name: "blanks around timestamps", cells: "2024-01-02 10:30 |2024-01-02", typ: "TIMESTAMP", values: "2024-01-02 10:30:00|2024-01-02 00:00:00"},
		{name: "blanks around flags", cells: " true|false ", typ: "BOOLEAN", values: "true|false"},
		{name: "versions", cells: "1.2.10|1.2.11", typ: "VARCHAR", values: "1.2.10|1.2.11"},
		{name: "an odd value", cells: "1|2|x|3|4", typ: "VARCHAR", values: "1|2|x|3|4", misfits: "1 [4]"},
		{name: "several odd values", cells: "1|2|x|3|4|5|6|y", typ: "VARCHAR", values: "1|2|x|3|4|5|6|y", misfits: "2 [4 9]"},
		{name: "texts", cells: "1|x|y|z", typ: "VARCHAR", values: "1|x|y|z"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", column(strings.Split(test.cells, "|")))}})
			report := result.Report.Columns[1]
			got := l.query("SELECT coalesce(CAST(cell AS VARCHAR), '~') FROM (" + ingest.Query([]string{result.Files[0].Path}, result.Columns) + ")")
			if got := strings.ReplaceAll(got, "\n", "|"); got != test.values {
				t.Errorf("values: got  %s\nwant %s", got, test.values)
			}
			if report.Type != test.typ || report.From != test.from || report.Unit != test.unit {
				t.Errorf("got %+v", report)
			}
			if want := int64(strings.Count("|"+test.values+"|", "~")); report.Missing != want {
				t.Errorf("missing: got %d, want %d", report.Missing, want)
			}
			misfits := ""
			if report.Misfits > 0 {
				misfits = fmt.Sprint(report.Misfits, " ", report.MisfitLines)
			}
			if misfits != test.misfits {
				t.Errorf("misfits: got %s, want %s", misfits, test.misfits)
			}
			ambiguous := strings.HasPrefix(test.name, "ambiguous") || strings.HasPrefix(test.name, "as many of both") || test.name == "either first"
			if want := test.misfits != "" && test.name != "codes" || ambiguous; (len(result.Report.Warnings) > 0) != want {
				t.Errorf("warnings: %v", result.Report.Warnings)
			}
		})
	}
}

// column makes a file of two columns, the second of which has these cells.
func column(cells []string) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	w.Write([]string{"name", "cell"})
	for _, cell := range cells {
		w.Write([]string{"row", cell})
	}
	w.Flush()
	return out.String()
}

// What is ambiguous in a column is decided by the other columns of its file.
func TestCellsDecidedByFile(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ content, types, rows string }{
		{"a;b;c\n1,234;0,5;1.234\n", "a DOUBLE, b DOUBLE, c BIGINT", `{"a":1.234,"b":0.5,"c":1234}`},
		{"a;b\n1,234;0.5\n", "a BIGINT, b DOUBLE", `{"a":1234,"b":0.5}`},
		{"a;b;c\n1,234;0.5;0,5\n", "a VARCHAR, b DOUBLE, c DOUBLE", `{"a":"1,234","b":0.5,"c":0.5}`},
		{"a;b\n1/2/2024;31/1/2024\n", "a DATE, b DATE", `{"a":"2024-02-01","b":"2024-01-31"}`},
		{"a;b\n1/2/2024;1/31/2024\n", "a DATE, b DATE", `{"a":"2024-01-02","b":"2024-01-31"}`},
	} {
		setup(t).reads("x.csv", test.content, test.types, test.rows)
	}
}

// A report of several files counts the cells of all of them.
func TestReportOfSeveralFiles(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{
		l.file("a.csv", "id,price\n1,$5\n2,NA\n"),
		l.file("b.csv", "id,price\n3,$6\n,NA\nx,$7\n4,$8\n"),
	}})
	want := []domain.ColumnReport{
		{Name: "id", Type: "VARCHAR", Missing: 1, Misfits: 1, MisfitLines: []int64{4}},
		{Name: "price", Type: "BIGINT", Unit: "$", Missing: 2},
	}
	if got := fmt.Sprint(result.Report.Columns); got != fmt.Sprint(want) {
		t.Errorf("got %s", got)
	}
	if got := fmt.Sprint(result.Report.Warnings); got != "[{4 id b.csv: the column is text: 1 cell of 3 cannot be read as integer}]" {
		t.Errorf("got %s", got)
	}
}
