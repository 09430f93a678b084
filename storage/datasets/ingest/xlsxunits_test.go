package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// described returns the columns of a report, with their forms and units.
func described(report domain.IngestReport) string {
	var out []string
	for _, c := range report.Columns {
		text := c.Name + " " + c.Type
		if c.Unit != "" {
			text += " in " + c.Unit
		}
		if c.From != "" {
			text += " from " + c.From
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// Numbers that a sheet shows as percentages and amounts of money are what the same sheet is as CSV.
func TestWorkbookUnits(t *testing.T) {
	t.Parallel()
	l := setup(t)
	formats := []string{"0%", "0.00%", `[Red][<0]0.0%;0.0%`, `0.0"%"`, `#,##0.00 "€"`, "[$€-407]\u00a0#,##0.00", "$#,##0", "[$CHF] #,##0.00", `_-* #,##0.00\ [$zł-415]_-;\-* #,##0.00\ [$zł-415]_-;_-* "-"??\ [$zł-415]_-;_-@_-`, `General" €"`, `0.0 "kg"`}
	content := book(t, func(f *excelize.File) {
		header, rows := []any{}, make([][]any, 3)
		for i := range formats {
			header = append(header, string(rune('a'+i)))
			for j, value := range []float64{0.07, -1.125, 1234} {
				rows[j] = append(rows[j], value)
			}
		}
		sheet(f, "Sheet1", header, rows[0], rows[1], rows[2])
		for i, code := range formats {
			column, _ := excelize.ColumnNumberToName(i + 1)
			style(f, "Sheet1", column+"2", column+"4", code)
		}
	})
	// Excel stores 0.07 so.
	content = rezip(t, content, map[string]func(string) string{"xl/worksheets/sheet1.xml": func(s string) string {
		return strings.Replace(s, "<v>0.07</v>", "<v>7.0000000000000007E-2</v>", 1)
	}})
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", content)}})
	if got, want := described(result.Report), "a DOUBLE in % from number format 0%; b DOUBLE in % from number format 0.00%; c DOUBLE in % from number format [Red][<0]0.0%; "+
		`d DOUBLE in % from number format 0.0"%"; e DOUBLE in € from number format #,##0.00 "€"; f DOUBLE in € from number format [$€-407]`+"\u00a0#,##0.00; "+
		`g DOUBLE in $ from number format $#,##0; h DOUBLE in CHF from number format [$CHF] #,##0.00; i DOUBLE in zł from number format _-* #,##0.00\ [$zł-415]_-; `+
		`j DOUBLE in € from number format General" €"; k DOUBLE`; got != want {
		t.Errorf("columns: got\n%s\nwant\n%s", got, want)
	}
	csv := "a;b;c;d;e;f;g;h;i;j;k\n7%;7.00%;7.0%;0.07%;0.07 €;0.07 €;$0.07;CHF 0.07;0.07 zł;0.07 €;0.07\n" +
		"-112.5%;-112.50%;-112.5%;-1.1250%;-1.1250 €;-1.1250 €;-$1.1250;CHF -1.1250;-1.1250 zł;-1.1250 €;-1.125\n" +
		"123400%;123400.00%;123400.0%;1234%;1234 €;1234 €;$1234;CHF 1234;1234 zł;1234 €;1234\n"
	want := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", csv)}})
	if got, want := l.rows(result.Columns, result), l.rows(want.Columns, want); got != want {
		t.Errorf("rows: got\n%s\nwant\n%s", got, want)
	}
	for i, c := range want.Report.Columns {
		if got := result.Report.Columns[i]; got.Unit != c.Unit || got.Type != c.Type {
			t.Errorf("got %+v, as CSV %+v", got, c)
		}
	}
	if got := warnings(result); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

// Built-in formats have numbers, and residues of formulas many digits.
func TestWorkbookBuiltInUnits(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := rezip(t, book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"a", "b", "c"}, []any{0.25, 0.5, 3}, []any{1, 9, 4.5})
		for column, id := range map[string]int{"A": 9, "B": 10, "C": 44} {
			built, err := f.NewStyle(&excelize.Style{NumFmt: id})
			must(err, f.SetCellStyle("Sheet1", column+"2", column+"3", built))
		}
	}), map[string]func(string) string{"xl/worksheets/sheet1.xml": func(s string) string {
		return strings.Replace(s, "<v>9</v>", "<v>2.7755575615628914E-17</v>", 1)
	}})
	result := l.readsPart(l.file("x.xlsx", content), "", "a BIGINT, b DOUBLE, c DOUBLE", `{"a":25,"b":50.0,"c":3.0}`+"\n"+`{"a":100,"b":2.77555756156289e-15,"c":4.5}`)
	if got, want := described(result.Report), `a BIGINT in % from number format 0%; b DOUBLE in % from number format 0.00%; c DOUBLE in $ from number format "$"#,##0.00`; got != want {
		t.Errorf("columns: got %s, want %s", got, want)
	}
}

// Cells of a column that show different units, and rows of totals, which do not decide.
func TestWorkbookMixedUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// rows are below a header of a name and a value; formats are those of the values.
		rows           [][]any
		formats        []string
		columns, cells string
		warnings       string
	}{
		{"a percentage and a number", [][]any{{"a", 0.07}, {"b", 0.12}, {"c", 0.5}}, []string{"0%", "", "0%"}, "v VARCHAR", "7% 0.12 50%",
			"3 v the column is text: its numbers have different units: %, none"},
		{"as many percentages as numbers", [][]any{{"a", 0.07}, {"b", 12}}, []string{"0%", ""}, "v VARCHAR", "7% 12",
			"2 v the column is text: its numbers have different units: none, %"},
		{"currencies", [][]any{{"a", 5}, {"b", 7}, {"c", 8}}, []string{"$0", "$0", "0 €"}, "v VARCHAR", "5 $ 7 $ 8 €",
			"4 v the column is text: its numbers have different units: $, €"},
		{"a currency in the first row", [][]any{{"a", 5}, {"b", 7}, {"c", 8}}, []string{"$0", "0", "#,##0"}, "v BIGINT", "5 7 8",
			"2 v x.xlsx (Sheet1): 1 number in $ and 2 numbers without a unit: the column has no unit; give its cells one format to have it"},
		{"a total without a format", [][]any{{"a", 0.07}, {"b", 0.5}, {"Total", 0.58}}, []string{"0%", "0%", ""}, "v BIGINT in % from number format 0%", "7 50 58",
			"4  the row looks like a row of totals, which sums count again"},
		{"a total with a format", [][]any{{"a", 5}, {"b", 7}, {"Total", 13}}, []string{"", "", "$0"}, "v BIGINT", "5 7 13",
			"4  the row looks like a row of totals, which sums count again"},
		{"a total that is the sum", [][]any{{"a", 5}, {"b", 7}, {"Total", 12}}, []string{"$0", "$0", "$0"}, "v BIGINT in $ from number format $0", "5 7",
			"4  the row of totals not read, so that sums do not count it again: Total 12 $"},
		{"one currency", [][]any{{"a", 5}, {"b", 7}}, []string{"0 €", "0 €"}, "v BIGINT in € from number format 0 €", "5 7", ""},
		{"missing ones", [][]any{{"a", 0.5}, {"b", "n/a"}, {"c", nil}}, []string{"0%", "0%", "0%"}, "v BIGINT in % from number format 0%", "50 null null", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			content := book(t, func(f *excelize.File) {
				sheet(f, "Sheet1", append([][]any{{"name", "v"}}, test.rows...)...)
				for i, code := range test.formats {
					if cell := fmt.Sprintf("B%d", i+2); code != "" {
						style(f, "Sheet1", cell, cell, code)
					}
				}
			})
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", content)}})
			if got, want := described(result.Report), "name VARCHAR; "+test.columns; got != want {
				t.Errorf("columns: got %s, want %s", got, want)
			}
			paths := []string{result.Files[0].Path}
			cells := strings.ReplaceAll(l.query("SELECT coalesce(CAST(v AS VARCHAR), 'null') FROM ("+ingest.Query(paths, result.Columns)+")"), "\n", " ")
			if cells != test.cells {
				t.Errorf("cells: got %s, want %s", cells, test.cells)
			}
			var found []string
			for _, w := range result.Report.Warnings {
				found = append(found, fmt.Sprintf("%d %s %s", w.Line, w.Column, w.Message))
			}
			if got := strings.Join(found, "\n"); !strings.HasPrefix(got, test.warnings) || test.warnings == "" && got != "" {
				t.Errorf("warnings: got %s, want %s", got, test.warnings)
			}
		})
	}
}

// A percentage above the header does not decide, and years in the header are numbers.
func TestWorkbookUnitsBelowHeader(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"Tax", 0.19}, nil, []any{"city", 2023, 2024}, []any{"Oslo", 5, 6.5}, []any{"Bonn", 7, 8})
		style(f, "Sheet1", "B1", "B1", "0%")
		style(f, "Sheet1", "B4", "C5", "#,##0 €")
	})
	result := l.readsPart(l.file("x.xlsx", content), "", "city VARCHAR, 2023 BIGINT, 2024 DOUBLE", `{"city":"Oslo","2023":5,"2024":6.5}`+"\n"+`{"city":"Bonn","2023":7,"2024":8.0}`)
	if got, want := described(result.Report), "city VARCHAR; 2023 BIGINT in € from number format #,##0 €; 2024 DOUBLE in € from number format #,##0 €"; got != want {
		t.Errorf("columns: got %s, want %s", got, want)
	}
}

// What is hidden in a sheet is read, and said.
func TestWorkbookHidden(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"id", "name", "pw", "pin"}, []any{1, "Ann", "x", 7}, []any{2, "Bob", "y", 8}, []any{3, "Cy", "z", 9})
		must(f.SetColVisible("Sheet1", "C:D", false), f.SetRowVisible("Sheet1", 3, false), f.SetRowVisible("Sheet1", 9, false))
	})
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", content)}})
	if got, want := warnings(result), "x.xlsx (Sheet1): 1 hidden or filtered row read too; to leave them out, delete them from the file\n"+
		"x.xlsx (Sheet1): 2 hidden columns read too: pw, pin; to leave them out, delete them from the file"; got != want {
		t.Errorf("warnings: got\n%s\nwant\n%s", got, want)
	}
	if result.Rows != 3 || len(result.Columns) != 4 || result.Report.Warnings[0].Line != 3 {
		t.Errorf("%d rows of %v, %+v", result.Rows, result.Columns, result.Report.Warnings)
	}
}

// Rows that have all different styles have units like others.
func TestWorkbookManyStyles(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	content := book(t, func(f *excelize.File) {
		rows := [][]any{{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o"}}
		for range 11_000 {
			rows = append(rows, []any{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
		}
		sheet(f, "Sheet1", rows...)
		style(f, "Sheet1", "A1", "A1", "0%")
	})
	content = rezip(t, content, map[string]func(string) string{"xl/worksheets/sheet1.xml": func(s string) string {
		lines := strings.SplitAfter(s, "</row>")
		for n := 1; n < len(lines)-1; n++ {
			for bit := range 15 {
				if cell := fmt.Sprintf(`<c r="%c%d"`, 'A'+bit, n+1); n>>bit&1 == 1 {
					lines[n] = strings.Replace(lines[n], cell, cell+` s="1"`, 1)
				}
			}
		}
		return strings.Join(lines, "")
	}})
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", content)}})
	if got, want := warnings(result), strings.TrimSuffix(strings.Repeat("the column is text: its numbers have different units: none, %\n", 14), "\n"); got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
	if result.Rows != 11_000 || result.Columns[13].Type != "VARCHAR" || result.Columns[14].Type != "BIGINT" {
		t.Errorf("%d rows of %v", result.Rows, result.Columns)
	}
}
