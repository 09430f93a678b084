package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// TestDigitsOfDataset reads numbers for a column of numbers that the dataset has.
func TestDigitsOfDataset(t *testing.T) {
	t.Parallel()
	const many = "12345678901234567.89"
	for _, test := range []struct {
		name, file, content, have string
		typ, rows, warning        string
	}{
		{"decimals", "x.csv", "a,b\n1.5,x\n2,y\n", "DECIMAL(19,2)", "DECIMAL(19,2)", `{"a":1.50} {"a":2.00}`, ""},
		{"amounts", "x.csv", "a,b\n$1.5,x\n$2,y\n", "DECIMAL(19,2)", "DECIMAL(19,2)", `{"a":1.50} {"a":2.00}`, ""},
		{"decimals of JSON", "x.json", `[{"a":1.5,"b":"x"},{"a":2,"b":"y"}]`, "DECIMAL(19,2)", "DECIMAL(19,2)", `{"a":1.50} {"a":2.00}`, ""},
		{"doubles", "x.csv", "a,b\n" + many + ",x\n", "DOUBLE", "DOUBLE", `{"a":12345678901234568.0}`, "some numbers have more digits than the column of the dataset, and are rounded to about 16"},
		{"doubles of JSON", "x.json", `[{"a":` + many + `,"b":"x"}]`, "DOUBLE", "DOUBLE", `{"a":12345678901234568.0}`, "some numbers have more digits than the column of the dataset, and are rounded to about 16"},
		{"more digits", "x.json", `[{"a":` + many + `1,"b":"x"}]`, "DECIMAL(19,2)", "DECIMAL(20,3)", `{"a":` + many + `1}`, "the column is decimal(20,3) from now on, in all rows; it was decimal(19,2)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			have := []domain.Column{{Name: "a", Type: test.have}, {Name: "b", Type: "VARCHAR"}}
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}, Have: have})
			if got := result.Columns[0].Type; got != test.typ {
				t.Errorf("type: got %s, want %s", got, test.typ)
			}
			if got := strings.ReplaceAll(l.rows(result.Columns[:1], result), "\n", " "); got != test.rows {
				t.Errorf("rows: got %s, want %s", got, test.rows)
			}
			if got := warnings(result); got != test.warning {
				t.Errorf("warnings: got %s, want %s", got, test.warning)
			}
		})
	}
}

// Numbers that lose digits are named: those of doubles, and those of a type that an option gives.
func TestRounded(t *testing.T) {
	t.Parallel()
	const said = " rounded to about 16 digits; choose the type decimal(digits,scale) or text to keep all digits"
	for _, test := range []struct{ file, content, typ, warning string }{
		{"x.csv", "a\n0.12345678901234567891\n1.5\n-.33333333333333333333\n", "", "2 numbers" + said},
		{"x.json", `[{"a":0.12345678901234567891},{"a":1.5}]`, "", "1 number" + said},
		{"x.csv", "a\n0.12345678901234567891\n1.5\n", "DECIMAL(21,20)", ""},
		{"x.csv", "a\n1.239\n2.5\n1.230\n", "DECIMAL(9,2)", "1 number rounded to decimal(9,2)"},
		{"x.json", `[{"a":1.239},{"a":"2.5"}]`, "DECIMAL(9,2)", "1 number rounded to decimal(9,2)"},
		// As programs write doubles.
		{"x.csv", "a\n0.1000000000000000055511151231257827\n0.30000000000000004\n3.3333333333333335\n.50000000000000000000\n100.00000000000000000\n", "", ""},
	} {
		l := setup(t)
		var options domain.IngestOptions
		if test.typ != "" {
			options.Types = map[string]string{"a": test.typ}
		}
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}, Options: options})
		if got := warnings(result); got != test.warning {
			t.Errorf("%s: got %s, want %s", test.content, got, test.warning)
		}
	}
}

// TestMissingAmongTexts counts no word as a missing value that stays in a column of texts.
func TestMissingAmongTexts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	read := func(have []domain.Column, contents ...string) ingest.Result {
		var sources []ingest.Source
		for i, content := range contents {
			sources = append(sources, l.file(fmt.Sprintf("x%d.csv", i), content))
		}
		return l.mustRun(ingest.Job{Sources: sources, Have: have})
	}
	for name, result := range map[string]ingest.Result{
		"too many digits": read(nil, "a,b\nNA,1\n1.5,2\n12345678901234567890123456789012345.6789,3\n ,4\n"),
		"another file":    read(nil, "a,b\nNA,1\n5,2\n", "a,b\nx,3\n,4\n"),
		"the dataset":     read([]domain.Column{{Name: "a", Type: "VARCHAR"}}, "a,b\nNA,1\n5,2\n,3\n"),
	} {
		if got := result.Report.Columns[0]; got.Type != "VARCHAR" || got.Missing != 1 || !strings.Contains(l.rows(result.Columns, result), `"a":"NA"`) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Words for missing values alone are none in any column.
	only := read(nil, "a\nNA\nNA\n")
	if got := l.rows([]domain.Column{{Name: "a", Type: "BIGINT"}}, only); got != "{\"a\":null}\n{\"a\":null}" {
		t.Errorf("%s of %+v", got, only.Columns)
	}
}
