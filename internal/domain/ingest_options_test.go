package domain_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/internal/domain"
)

// TestTypeWord has options take the words for the types of columns.
func TestTypeWord(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]string{
		"VARCHAR": "text", "BIGINT": "integer", "DOUBLE": "number", "DECIMAL(18,2)": "decimal(18,2)", "BOOLEAN": "boolean", "DATE": "date",
		"TIME": "time", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp with time zone",
	} {
		options := domain.IngestOptions{Types: map[string]string{"a": domain.TypeWord(typ)}}
		if got := options.Types["a"]; got != want {
			t.Errorf("%s is %q", typ, got)
		}
		if wrong := options.Normalize(); len(wrong) > 0 || options.Types["a"] != typ {
			t.Errorf("%s becomes %s, %v", want, options.Types["a"], wrong)
		}
	}
	for typ, want := range map[string]string{
		"VARCHAR[]": "list of text", "BIGINT[]": "list of integers", "DOUBLE[]": "list of numbers", "BOOLEAN[]": "list of booleans", "DECIMAL(18,2)[]": "list of decimal(18,2)",
		"TIMESTAMP WITH TIME ZONE[]": "list of timestamps with time zone", "VARCHAR[][]": "list of lists of text", `STRUCT("Name" VARCHAR)`: "object", "STRUCT(a VARCHAR[])[]": "list of objects",
	} {
		if got := domain.TypeWord(typ); got != want {
			t.Errorf("%s is %q, want %q", typ, got, want)
		}
	}
	for _, typ := range []string{"JSON", "MAP(VARCHAR, BIGINT)", "HUGEINT"} {
		if got := domain.TypeWord(typ); got != typ {
			t.Errorf("%s is %q", typ, got)
		}
	}
}

func TestIngestOptions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, test := range []struct {
		options domain.IngestOptions
		wrong   string // the wrong fields
	}{
		{domain.IngestOptions{}, ""},
		{domain.IngestOptions{Encoding: "UTF-16", Delimiter: "|", HeaderRow: new(4), Sheet: "May", NullValues: []string{"", "-"}}, ""},
		{domain.IngestOptions{Encoding: "latin-9"}, "encoding"},
		{domain.IngestOptions{Delimiter: "ab"}, "delimiter"},
		{domain.IngestOptions{Delimiter: "7"}, "delimiter"},
		{domain.IngestOptions{Delimiter: "\n"}, "delimiter"},
		{domain.IngestOptions{Delimiter: "€"}, "delimiter"},
		{domain.IngestOptions{HeaderRow: new(-1)}, "headerRow"},
		{domain.IngestOptions{HeaderRow: new(10_001), Sheet: long}, "headerRow sheet"},
		{domain.IngestOptions{NullValues: []string{"", long}}, "nullValues[1]"},
		{domain.IngestOptions{HeaderRow: new(0)}, ""},
		{domain.IngestOptions{NullValues: make([]string, 101)}, "nullValues"},
		{domain.IngestOptions{Types: map[string]string{"a": "text", "b": "DECIMAL( 9, 2)", "c": "Timestamp with time zone"}}, ""},
		{domain.IngestOptions{Types: map[string]string{"a": "DECIMAL(2,9)", "b": "decimal(0,0)", "c": "decimal(39,1)", "d": "INT); DROP"}}, "types.a types.b types.c types.d"},
		{domain.IngestOptions{Types: map[string]string{"a": "date:dmy", "b": "TIMESTAMP:mdy", "c": "Date:YMD"}}, ""},
		{domain.IngestOptions{Types: map[string]string{"a": "date:", "b": "date:dym", "c": "text:dmy", "d": "date:dmy:x"}}, "types.a types.b types.c types.d"},
		{domain.IngestOptions{Types: map[string]string{"": "text"}}, "types"},
	} {
		options := test.options
		var fields []string
		for _, wrong := range options.Normalize() {
			fields = append(fields, wrong.Field)
		}
		if got := strings.Join(fields, " "); got != test.wrong {
			t.Errorf("%+v: wrong are %q", test.options, got)
		}
	}
	options := domain.IngestOptions{Encoding: "UTF-8", Types: map[string]string{"a": "Number", "b": "decimal(9, 2)", "c": "Date:DMY"}}
	options.Normalize()
	want := domain.IngestOptions{Encoding: "utf-8", Types: map[string]string{"a": "DOUBLE", "b": "DECIMAL(9,2)", "c": "DATE:dmy"}}
	if !options.Equal(want) {
		t.Errorf("normalized to %+v", options)
	}
	rows := []*int{nil, new(0), new(1)}
	for i, a := range rows {
		for j, b := range rows {
			if got := (domain.IngestOptions{HeaderRow: a}).Equal(domain.IngestOptions{HeaderRow: b}); got != (i == j) {
				t.Errorf("header rows %d and %d are equal: %t", i, j, got)
			}
		}
	}
}

func TestReportsFit(t *testing.T) {
	t.Parallel()
	var report domain.IngestReport
	for i := range domain.MaxColumns {
		report.Columns = append(report.Columns, domain.ColumnReport{Name: strings.Repeat("\x00", 256), Type: "VARCHAR", Missing: int64(i)})
		report.Warnings = append(report.Warnings, domain.IngestWarning{Message: strings.Repeat("w", 1000)})
	}
	fit := report.Fit()
	text, err := json.Marshal(fit)
	last := fit.Warnings[len(fit.Warnings)-1].Message
	if err != nil || len(text) > 65<<10 || len(fit.Columns) == 0 || !strings.HasPrefix(last, "this report leaves out ") || len(report.Warnings) != domain.MaxColumns {
		t.Errorf("%d bytes of %d columns, %q, %v", len(text), len(fit.Columns), last, err)
	}
	small := domain.IngestReport{Columns: report.Columns[:3], Warnings: report.Warnings[:2]}
	if fit := small.Fit(); len(fit.Columns) != 3 || len(fit.Warnings) != 2 {
		t.Errorf("a small one became %+v", fit)
	}
}
