package ingest_test

import (
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// TestObjects makes columns of the keys of nested objects.
func TestObjects(t *testing.T) {
	t.Parallel()
	deep := `{"a":{"a":{"a":{"a":{"a":{"a":1}}}}}}`
	for _, test := range []struct{ name, content, types, rows, warnings string }{
		{
			name: "missing objects",
			content: `[{"id":1,"r":{"name":"Ann","org":{"size":10}},"x":true},
				{"id":2,"r":null},{"id":3},{"id":4,"r":{}},{"id":5,"r":{"org":null,"late":"2024-01-02"}}]`,
			types: "id BIGINT, r.name VARCHAR, r.org.size BIGINT, r.late DATE, x BOOLEAN",
			rows: `{"id":1,"r.name":"Ann","r.org.size":10,"r.late":null,"x":true}
{"id":2,"r.name":null,"r.org.size":null,"r.late":null,"x":null}
{"id":3,"r.name":null,"r.org.size":null,"r.late":null,"x":null}
{"id":4,"r.name":null,"r.org.size":null,"r.late":null,"x":null}
{"id":5,"r.name":null,"r.org.size":null,"r.late":"2024-01-02","x":null}`,
		},
		{
			name:    "objects and other values",
			content: `[{"a":{"x":{"k":1},"y":1},"b":{"x":1},"c":[{"x":1}]},{"a":{"x":5,"y":2},"b":[1],"c":[{"x":2}]}]`,
			types:   "a.x VARCHAR, a.y BIGINT, b JSON, c JSON",
			rows:    `{"a.x":"{\"k\":1}","a.y":1,"b":{"x":1},"c":[{"x":1}]}` + "\n" + `{"a.x":"5","a.y":2,"b":[1],"c":[{"x":2}]}`,
		},
		{
			name:    "values over several lines",
			content: "{\"a\":{\"l\":[\n1,\r\n2\n],\n\"o\":[{\n\"x\": \"\\n\"}]}}\n{\"a\":\n{}}",
			types:   "a.l BIGINT[], a.o JSON",
			rows:    `{"a.l":[1,2],"a.o":[{"x":"\n"}]}` + "\n" + `{"a.l":null,"a.o":null}`,
		},
		{
			name:    "numbers with many digits",
			content: `[{"a":{"n":12345678901234567.25,"t":"x"}},{"a":{"n":1,"t":9007199254740993}}]`,
			types:   "a.n DECIMAL(19,2), a.t VARCHAR",
			rows:    `{"a.n":12345678901234567.25,"a.t":"x"}` + "\n" + `{"a.n":1.00,"a.t":"9007199254740993"}`,
		},
		{
			name:    "a key twice",
			content: `[{"a.b":1,"a":{"b":2,"B":3,"\u0062c":4,"bc":5}},{"a":{"b":6,"bc":7}}]`,
			types:   "a.b BIGINT, a JSON",
			rows:    `{"a.b":1,"a":{"b":2,"B":3,"bc":4,"bc":5}}` + "\n" + `{"a.b":null,"a":{"b":6,"bc":7}}`,
		},
		{
			name:     "names that are taken",
			content:  `[{"a.b":1,"a":{"b":2,"B":3,"\u0062c":4,"__t":0}},{"a":{"b":6,"bc":7}}]`,
			types:    "a.b BIGINT, a.b_2 BIGINT, a.B_3 BIGINT, a.bc BIGINT, a.__t BIGINT",
			rows:     `{"a.b":1,"a.b_2":2,"a.B_3":3,"a.bc":4,"a.__t":0}` + "\n" + `{"a.b":null,"a.b_2":6,"a.B_3":null,"a.bc":7,"a.__t":null}`,
			warnings: "2 columns had no name, or one that was taken: now a.b_2, a.B_3",
		},
		{
			name:    "keys that are no names",
			content: `[{"a":{"":1},"b":{"x\u0000":1},"c":{"` + strings.Repeat("x", 300) + `":1}}]`,
			types:   "a JSON, b JSON, c JSON",
			rows:    `{"a":{"":1},"b":{"x\u0000":1},"c":{"` + strings.Repeat("x", 300) + `":1}}`,
		},
		{
			name:    "deep",
			content: "[" + deep + "]",
			types:   "a.a.a.a.a.a BIGINT",
			rows:    `{"a.a.a.a.a.a":1}`,
		},
		{
			name:    "too deep",
			content: `[{"a":` + deep + `}]`,
			types:   "a.a.a.a.a.a JSON",
			rows:    `{"a.a.a.a.a.a":{"a":1}}`,
		},
		{
			name:     "many keys",
			content:  `[{"a":{"b":1,"days":{` + strings.TrimSuffix(lines(201, `"d%d":1,`), ",") + `}}},{"a":{"days":{"d1":2}}}]`,
			types:    "a.b BIGINT, a.days JSON",
			rows:     `{"a.b":1,"a.days":{` + strings.TrimSuffix(lines(201, `"d%d":1,`), ",") + `}}` + "\n" + `{"a.b":null,"a.days":{"d1":2}}`,
			warnings: "the objects of the column have too many different keys for columns, and stay JSON",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.readsPart(l.file("x.json", test.content), "", test.types, test.rows)
			if got := warnings(result); got != test.warnings {
				t.Errorf("warnings: got %s\nwant %s", got, test.warnings)
			}
		})
	}
}

// TestManyObjects limits the columns of all objects of a file.
func TestManyObjects(t *testing.T) {
	t.Parallel()
	l := setup(t)
	keys := strings.TrimSuffix(lines(200, `"k%d":1,`), ",")
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.json", "[{"+strings.TrimSuffix(lines(10, `"o%d":{`+keys+`},`), ",")+"}]")}})
	if got, want := types(result.Columns[1000:]), "o6 JSON, o7 JSON, o8 JSON, o9 JSON, o10 JSON"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// Keys of rows have precedence.
	result = l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("y.json", `[{"o":{`+keys+"},"+strings.TrimSuffix(lines(1900, `"k%d":1,`), ",")+"}]")}})
	if got := len(result.Columns); got != 1901 || types(result.Columns[:1]) != "o JSON" {
		t.Errorf("got %d columns, %s", got, types(result.Columns[:1]))
	}
}

// TestObjectsAppended keeps the columns that a dataset has.
func TestObjectsAppended(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, have, rows, types, want, warnings string }{
		{"other keys", `[{"id":1,"r":{"a":1,"b":2}}]`, `[{"id":2,"r":{"B":3,"c":4}}]`, "id BIGINT, r.a BIGINT, r.b BIGINT, r.c BIGINT",
			`{"id":2,"r.a":null,"r.b":3,"r.c":4}`, "columns added: r.c\ncolumns missing in this file: r.a"},
		{"no object", `[{"id":1,"r":{"a":1}}]`, `[{"id":2,"r":null},{"id":3,"r":{}}]`, "id BIGINT, r.a BIGINT",
			`{"id":2,"r.a":null}` + "\n" + `{"id":3,"r.a":null}`, "columns missing in this file: r.a"},
		{"JSON", `[{"id":1,"r":{"":1}}]`, `[{"id":2,"r":{"a":1}}]`, "id BIGINT, r JSON", `{"id":2,"r":{"a":1}}`, ""},
		{"no value", `[{"id":1,"r":null}]`, `[{"id":2,"r":{"a":1}}]`, "id BIGINT, r NULL, r.a BIGINT",
			`{"id":2,"r":null,"r.a":1}`, "columns added: r.a\ncolumns missing in this file: r"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			first := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.json", test.have)}})
			second := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("y.json", test.rows)}, Have: first.Columns})
			if got := types(second.Columns); got != test.types {
				t.Errorf("got %s, want %s", got, test.types)
			}
			if got := l.rows(second.Columns, second); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if got := warnings(second); got != test.warnings {
				t.Errorf("warnings: got %s\nwant %s", got, test.warnings)
			}
		})
	}
}

// TestObjectOptions reads columns of objects as options say. An option for the objects keeps them.
func TestObjectOptions(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.json", `[{"a":{"d":"31.12.2024","n":"-"},"b":{"x":1}},{"a":"-"}]`)},
		Options: domain.IngestOptions{Types: map[string]string{"A.d": "DATE:dmy", "b": "VARCHAR"}, NullValues: []string{"-"}}})
	if got, want := types(result.Columns), "a.d DATE, a.n NULL, b VARCHAR"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := l.rows(result.Columns, result), `{"a.d":"2024-12-31","a.n":null,"b":"{\"x\":1}"}`+"\n"+`{"a.d":null,"a.n":null,"b":null}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
