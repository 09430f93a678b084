package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	typed := func(pairs ...string) domain.IngestOptions {
		o := domain.IngestOptions{Types: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			o.Types[pairs[i]] = pairs[i+1]
		}
		return o
	}
	for _, test := range []struct {
		name, content string
		options       domain.IngestOptions
		types, rows   string
		refusal       string
	}{
		{name: "delimiter", content: "a:b\n1:2,5\n", options: domain.IngestOptions{Delimiter: ":"},
			types: "a BIGINT, b DOUBLE", rows: `{"a":1,"b":2.5}`},
		{name: "header row", content: "x,y\n1,2\na,b\n3,4\n", options: domain.IngestOptions{HeaderRow: new(3)},
			types: "a BIGINT, b BIGINT", rows: `{"a":3,"b":4}`},
		{name: "first header row", content: "g,,\n,b,c\n3,4,5\n", options: domain.IngestOptions{HeaderRow: new(1)},
			types: "g BIGINT, column_2 VARCHAR, column_3 VARCHAR", rows: `{"g":null,"column_2":"b","column_3":"c"}` + "\n" + `{"g":3,"column_2":"4","column_3":"5"}`},
		{name: "missing values", content: "a,b,c\n1,x,NA\n99,?,5\n,99,\n", options: domain.IngestOptions{NullValues: []string{"99", "?"}},
			types: "a BIGINT, b VARCHAR, c BIGINT", rows: `{"a":1,"b":"x","c":null}` + "\n" + `{"a":null,"b":null,"c":5}` + "\n" + `{"a":null,"b":null,"c":null}`},
		{name: "text", content: "a,b\n1,NA\n2,5\n", options: typed("A", "VARCHAR", "b", "VARCHAR"),
			types: "a VARCHAR, b VARCHAR", rows: `{"a":"1","b":"NA"}` + "\n" + `{"a":"2","b":"5"}`},
		{name: "numbers", content: "a;b;c;d\n1;1,234;5;$1.50\n2;NA;6;$2.5\n", options: typed("a", "DOUBLE", "b", "BIGINT", "c", "DECIMAL(10,2)", "d", "DECIMAL(6,2)"),
			types: "a DOUBLE, b BIGINT, c DECIMAL(10,2), d DECIMAL(6,2)", rows: `{"a":1.0,"b":1234,"c":5.0,"d":1.5}` + "\n" + `{"a":2.0,"b":null,"c":6.0,"d":2.5}`},
		{name: "dates", content: "a,b\n2024-01-02,31/12/2024\n", options: typed("a", "TIMESTAMP", "b", "TIMESTAMP"),
			types: "a TIMESTAMP, b TIMESTAMP", rows: `{"a":"2024-01-02 00:00:00","b":"2024-12-31 00:00:00"}`},
		{name: "a column without values", content: "a,b\n1,NA\n2,\n", options: typed("b", "DATE"),
			types: "a BIGINT, b DATE", rows: `{"a":1,"b":null}` + "\n" + `{"a":2,"b":null}`},
		{name: "codes", content: "a,b,c\n007,00,0012\n12,010,NA\n", options: typed("a", "BIGINT", "b", "DOUBLE", "c", "DECIMAL(5,1)"),
			types: "a BIGINT, b DOUBLE, c DECIMAL(5,1)", rows: `{"a":7,"b":0.0,"c":12.0}` + "\n" + `{"a":12,"b":10.0,"c":null}`},
		{name: "a unit with some numbers", content: "a,b\n\"$1,005.50\",x\n6,y\n", options: typed("a", "DOUBLE"),
			types: "a DOUBLE, b VARCHAR", rows: `{"a":1005.5,"b":"x"}` + "\n" + `{"a":6.0,"b":"y"}`},
		{name: "two units", content: "a,b\n$5,x\n6 €,y\n7,z\n8,z\n", options: typed("a", "DOUBLE"),
			refusal: `x.csv, line 2, column "a": the cell cannot be read as number, such as 1234.5; name it as a missing value, or give the column another type`},
		{name: "percent with some numbers", content: "a,b\n5%,x\n0.05,y\n6%,y\n", options: typed("a", "DOUBLE"),
			refusal: `x.csv, line 3, column "a": the cell cannot be read as number, such as 1234.5; name it as a missing value, or give the column another type`},
		{name: "zero and one", content: "a,b\n1,NA\n0,1\n,0\n", options: typed("a", "BOOLEAN", "b", "BOOLEAN"),
			types: "a BOOLEAN, b BOOLEAN", rows: `{"a":true,"b":null}` + "\n" + `{"a":false,"b":true}` + "\n" + `{"a":null,"b":false}`},
		{name: "day first", content: "a,b\n1/2/2024,31/1/24\n3.4.2024,1/2/24\n", options: typed("a", "DATE:dmy", "b", "TIMESTAMP:dmy"),
			types: "a DATE, b TIMESTAMP", rows: `{"a":"2024-02-01","b":"2024-01-31 00:00:00"}` + "\n" + `{"a":"2024-04-03","b":"2024-02-01 00:00:00"}`},
		{name: "month first", content: "a,b\n1/2/2024,31/1/2024\n", options: typed("a", "DATE:mdy"),
			types: "a DATE, b DATE", rows: `{"a":"2024-01-02","b":"2024-01-31"}`},

		{name: "not zero and one", content: "a,b\n1,x\n2,y\n", options: typed("a", "BOOLEAN"),
			refusal: `x.csv: a number of column "a" does not fit boolean; give the column another type, such as number or text`},
		{name: "long code", content: "a,b\n000123456789012345678901,x\n", options: typed("a", "BIGINT"),
			refusal: `x.csv: a number of column "a" does not fit integer; give the column another type, such as number or text`},
		{name: "month that is a day", content: "a,b\n1/2/2024,x\n13/2/2024,y\n", options: typed("a", "DATE:mdy"),
			refusal: `x.csv, line 3, column "a": the cell cannot be read as date:mdy, such as 12/31/2024; name it as a missing value, or give the column another type`},
		{name: "year that is last", content: "a,b\n1/2/2024,x\n", options: typed("a", "DATE:ymd"),
			refusal: `x.csv, line 2, column "a": the cell cannot be read as date:ymd, such as 2024-12-31; name it as a missing value, or give the column another type`},
		{name: "cell that does not fit", content: "a,b\n1,x\n2,y\nz,3\n", options: typed("a", "BIGINT"),
			refusal: `x.csv, line 4, column "a": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`},
		{name: "date of another order", content: "a,b\n1,31.12.2024\n2,2024-01-02\n3,2024-01-03\n", options: typed("b", "DATE:dmy"),
			refusal: `x.csv, line 3, column "b": the cell cannot be read as date:dmy, such as 31.12.2024; name it as a missing value, or give the column another type`},
		{name: "decided by another column", content: "a;b\n1.234;0.5\n", options: typed("a", "BIGINT"),
			refusal: `x.csv, line 2, column "a": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`},
		{name: "number that does not fit", content: "a,b\n1234.5,x\n", options: typed("a", "DECIMAL(4,2)"),
			refusal: `x.csv: a number of column "a" does not fit decimal(4,2); give the column another type, such as number or text`},
		{name: "unknown column", content: "a,b\n1,2\n", options: typed("c", "BIGINT"),
			refusal: `there is no column "c" to give a type; x.csv has a, b`},
		{name: "unknown type", content: "a,b\n1,2\n", options: typed("a", "int"),
			refusal: `column "a" cannot have the type "int"`},
		{name: "unknown encoding", content: "a,b\n1,2\n", options: domain.IngestOptions{Encoding: "ebcdic"},
			refusal: `the encoding "ebcdic" is not known; it can be utf-8, utf-16 or windows-1252`},
		{name: "not UTF-8", content: "a,b\n1,\xe9\n", options: domain.IngestOptions{Encoding: "utf-8"},
			refusal: `x.csv, line 2: the text is not UTF-8; leave out the option encoding, or give another one`},
		{name: "long delimiter", content: "a,b\n1,2\n", options: domain.IngestOptions{Delimiter: "::"},
			refusal: `the delimiter "::" is not one character that can separate fields`},
		{name: "header row past the end", content: "a,b\n1,2\n", options: domain.IngestOptions{HeaderRow: new(9)},
			refusal: `x.csv: no row begins on line 9, the header row`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.csv", test.content)}, Options: test.options})
			if test.refusal != "" {
				if got := refusal(t, err); got != test.refusal {
					t.Errorf("got  %s\nwant %s", got, test.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := types(result.Columns); got != test.types {
				t.Errorf("types: got  %s\nwant %s", got, test.types)
			}
			if got := l.rows(result.Columns, result); got != test.rows {
				t.Errorf("rows: got\n%s\nwant\n%s", got, test.rows)
			}
		})
	}
}

// Texts of JSON are read as the types that options give, as those of CSV are.
func TestTypesOfJSON(t *testing.T) {
	t.Parallel()
	const array = `[{"a":1,"b":"x","n":"1,234","d":"31.12.2023","s":"5"},{"a":2,"b":"y","n":"NA","d":" ","s":6}]`
	lines := strings.NewReplacer("[", "", "]", "", "},{", "}\n{").Replace(array)
	for _, test := range []struct {
		name, content string
		types         map[string]string
		// rows are those of the columns with these types, in order.
		rows, refusal string
	}{
		{name: "a number as text", content: array, types: map[string]string{"a": "VARCHAR"}, rows: `{"a":"1"} {"a":"2"}`},
		{name: "whole numbers", content: array, types: map[string]string{"n": "BIGINT", "s": "BIGINT"}, rows: `{"n":1234,"s":5} {"n":null,"s":6}`},
		{name: "lines", content: lines, types: map[string]string{"n": "BIGINT", "s": "DOUBLE"}, rows: `{"n":1234,"s":5.0} {"n":null,"s":6.0}`},
		{name: "decimals", content: array, types: map[string]string{"n": "DECIMAL(9,2)", "s": "DECIMAL(5,1)"}, rows: `{"n":1.23,"s":5.0} {"n":null,"s":6.0}`},
		{name: "dates", content: array, types: map[string]string{"d": "DATE:dmy"}, rows: `{"d":"2023-12-31"} {"d":null}`},
		{name: "units and words", content: `[{"p":"$1,200.50","q":"yes","r":"7%"},{"p":"$3","q":"no","r":"8.5%"}]`, types: map[string]string{"p": "DOUBLE", "q": "BOOLEAN", "r": "DOUBLE"},
			rows: `{"p":1200.5,"q":true,"r":7.0} {"p":3.0,"q":false,"r":8.5}`},
		{name: "escapes", content: `[{"a":"\u0035"},{"a":""}]`, types: map[string]string{"a": "BIGINT"}, rows: `{"a":5} {"a":null}`},
		{name: "a text", content: array, types: map[string]string{"b": "BIGINT"},
			refusal: `x.json, row 1, column "b": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`},
		{name: "a text on a line", content: "{\"b\":\"1\"}\n\n{\"b\":\"1.5\"}", types: map[string]string{"b": "BIGINT"},
			refusal: `x.json, line 3, column "b": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`},
		{name: "a list", content: `[{"b":[1]}]`, types: map[string]string{"b": "BIGINT"},
			refusal: `x.json, row 1, column "b": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`},
		{name: "short years", content: `[{"d":"24/01/02"},{"d":"2024-02-03"}]`, types: map[string]string{"d": "DATE:ymd"}, rows: `{"d":"2024-01-02"} {"d":"2024-02-03"}`},
		{name: "digits as text", content: `[{"d":12345678901234567.89},{"d":1.50}]`, types: map[string]string{"d": "VARCHAR"}, rows: `{"d":"12345678901234567.89"} {"d":"1.50"}`},
		{name: "digits as a number", content: `[{"d":12345678901234567.89},{"d":1.50}]`, types: map[string]string{"d": "DOUBLE"}, rows: `{"d":12345678901234568.0} {"d":1.5}`},
		{name: "digits as a decimal", content: `[{"d":12345678901234567.89},{"d":1.50}]`, types: map[string]string{"d": "DECIMAL(21,3)"}, rows: `{"d":12345678901234567.890} {"d":1.500}`},
		{name: "too many digits", content: `[{"b":"1234.5"}]`, types: map[string]string{"b": "DECIMAL(4,2)"}, refusal: `x.json: a number of column "b" does not fit decimal(4,2); give the column another type, such as number or text`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.json", test.content)}, Options: domain.IngestOptions{Types: test.types}})
			if test.refusal != "" {
				if got := refusal(t, err); got != test.refusal {
					t.Errorf("got %s, want %s", got, test.refusal)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			columns := slices.DeleteFunc(result.Columns, func(c domain.Column) bool { return test.types[c.Name] == "" })
			if got := strings.ReplaceAll(l.rows(columns, result), "\n", " "); got != test.rows {
				t.Errorf("got %s, want %s", got, test.rows)
			}
		})
	}
	l := setup(t)
	rows := l.file("rows", `{"a":"5"}`+"\n"+`{"a":"six"}`).Path
	_, err := l.run(ingest.Job{Rows: rows, Options: domain.IngestOptions{Types: map[string]string{"a": "BIGINT"}}})
	if got, want := refusal(t, err), `row 2, column "a": the cell cannot be read as integer, such as 1234; name it as a missing value, or give the column another type`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	result := l.mustRun(ingest.Job{Rows: rows, Options: domain.IngestOptions{Types: map[string]string{"a": "BIGINT"}, NullValues: []string{"six"}}})
	if got, want := l.rows(result.Columns, result), `{"a":5}`+"\n"+`{"a":null}`; got != want || result.Report.Columns[0].Missing != 1 {
		t.Errorf("got %s, want %s, %+v", got, want, result.Report)
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	l := setup(t)
	job := ingest.Job{Sources: []ingest.Source{l.file("a.csv", "id,x\n1,2\n"), l.file("b.csv", "y,ID\n3,4\n")}}
	_, err := l.run(job)
	if got, want := refusal(t, err), `a.csv has a column "x" and b.csv has not; files of different columns are read into one dataset with the option union`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	job.Options.Union = true
	result := l.mustRun(job)
	if got, want := l.rows(result.Columns, result), `{"id":1,"x":2,"y":null}`+"\n"+`{"id":4,"x":null,"y":3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := result.Report.Columns[1].Missing; got != 1 {
		t.Errorf("x is missing %d times", got)
	}
	job.Options.Union, job.Sources[1] = false, l.file("c.csv", "x,id\n5,6\n")
	if got := l.mustRun(job).Rows; got != 2 {
		t.Errorf("columns in another order: %d rows", got)
	}
}

// Files whose types have only text in common get a warning.
func TestTypesOfSeveralFiles(t *testing.T) {
	t.Parallel()
	l := setup(t)
	numbers, dates := l.file("a.csv", "id,v\n1,5\n"), l.file("b.csv", "id,v\n2,2024-01-02\n")
	for want, sources := range map[string][]ingest.Source{
		"the column is text: it is integer in a.csv and date in b.csv": {numbers, dates},
		"the column is text: it is text in c.csv and integer in a.csv": {l.file("c.csv", "id,v\n3,x\n"), numbers, dates},
		"": {numbers, l.file("d.csv", "id,v\n4,1.5\n"), l.file("e.csv", "id,v\n5,\n")},
	} {
		result := l.mustRun(ingest.Job{Sources: sources, Options: domain.IngestOptions{Union: true}})
		if got := warnings(result); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUnitsOfSeveralFiles(t *testing.T) {
	t.Parallel()
	l := setup(t)
	dollars := l.file("a.csv", "id,price\n1,$5\n")
	_, err := l.run(ingest.Job{Sources: []ingest.Source{dollars, l.file("b.csv", "id,price\n2,€6\n")}})
	if got, want := refusal(t, err), `column "price" is in $ in a.csv and in € in b.csv; put them into different datasets, or give the column the type text`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{dollars, l.file("c.csv", "id,price\n2,6\n"), l.file("d.csv", "id,price\n3,\n")}})
	if got := result.Report; got.Columns[1].Unit != "$" || len(got.Warnings) != 1 || got.Warnings[0].Message != "not all files have a unit with the numbers of the column; c.csv has none" {
		t.Errorf("got %+v", got)
	}
}
