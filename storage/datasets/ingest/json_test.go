package ingest_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, content, types, rows string }{
		{
			name:    "differing keys",
			content: `[{"a":1,"b":"x"}, {"b":null,"c":true}, {}]`,
			types:   "a BIGINT, b VARCHAR, c BOOLEAN",
			rows:    `{"a":1,"b":"x","c":null}` + "\n" + `{"a":null,"b":null,"c":true}` + "\n" + `{"a":null,"b":null,"c":null}`,
		},
		{
			name: "numbers", file: "x.ndjson",
			content: `{"i":-0,"f":1,"big":9223372036854775808,"huge":1e400,"long":123456789012345678901234567890123456789,"mix":1}` + "\n" +
				`{"i":9223372036854775807,"f":1.25e2,"big":-12345678901234567890123456789012345678,"huge":1,"long":1,"mix":"one"}`,
			types: "i BIGINT, f DOUBLE, big DECIMAL(38,0), huge VARCHAR, long VARCHAR, mix VARCHAR",
			rows: `{"i":0,"f":1.0,"big":9223372036854775808,"huge":"1e400","long":"123456789012345678901234567890123456789","mix":"1"}
{"i":9223372036854775807,"f":125.0,"big":-12345678901234567890123456789012345678,"huge":"1","long":"1","mix":"one"}`,
		},
		{
			name:    "dates and times in strings",
			content: `[{"d":"2024-01-31","t":"10:30:00","ts":"2024-01-31T10:30:00","tz":"2024-01-31T10:30:00.5+02:00","n":"5","m":"2024-01-31"},{"d":"2024-02-29","ts":"2024-01-31","m":5}]`,
			types:   "d DATE, t TIME, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE, n VARCHAR, m VARCHAR",
			rows: `{"d":"2024-01-31","t":"10:30:00","ts":"2024-01-31 10:30:00","tz":"2024-01-31 08:30:00.5+00","n":"5","m":"2024-01-31"}
{"d":"2024-02-29","t":null,"ts":"2024-01-31 00:00:00","tz":null,"n":null,"m":"5"}`,
		},
		{
			name:    "nested",
			content: `[{"l":[1,2,null],"f":[1,2.5],"s":["a",1],"o":{"x":{"y":[1]}},"e":[],"ll":[[1],[]],"m":{"k":1}},{"l":[],"f":null,"s":[],"o":{"z":1},"e":[],"ll":[{"a":1}],"m":[1]},{"m":7}]`,
			types:   "l BIGINT[], f DOUBLE[], s VARCHAR[], o.x.y BIGINT[], o.z BIGINT, e JSON, ll JSON, m VARCHAR",
			rows: `{"l":[1,2,null],"f":[1.0,2.5],"s":["a","1"],"o.x.y":[1],"o.z":null,"e":[],"ll":[[1],[]],"m":"{\"k\":1}"}
{"l":[],"f":null,"s":[],"o.x.y":null,"o.z":1,"e":[],"ll":[{"a":1}],"m":"[1]"}
{"l":null,"f":null,"s":null,"o.x.y":null,"o.z":null,"e":null,"ll":null,"m":"7"}`,
		},
		{
			name:    "nothing but null",
			content: `{"a":null}`,
			types:   "a NULL",
			rows:    `{"a":null}`,
		},
		{
			name: "lines", file: "x.jsonl",
			content: "\xef\xbb\xbf{\"a\":1}\r\n\r\n{\"a\":2}\n",
			types:   "a BIGINT",
			rows:    `{"a":1}` + "\n" + `{"a":2}`,
		},
		{
			name:    "objects over several lines and on one",
			content: "{\n \"a\" : 1\n}\n{\"a\":2}{\"a\":3}",
			types:   "a BIGINT",
			rows:    `{"a":1}` + "\n" + `{"a":2}` + "\n" + `{"a":3}`,
		},
		{
			name:    "odd keys and text",
			content: `[{"it's \"a\"":"\u00e9\ud83d\ude00\n\t\\","\u0061":1,"ä b":" x ","select":"\u0000"},{"a":2}]`,
			types:   `it's "a" VARCHAR, a BIGINT, ä b VARCHAR, select VARCHAR`,
			rows:    `{"it's \"a\"":"é😀\n\t\\","a":1,"ä b":" x ","select":"\u0000"}` + "\n" + `{"it's \"a\"":null,"a":2,"ä b":null,"select":null}`,
		},
		{
			name: "gzipped", file: "x.ndjson.gz",
			content: zipped(`{"a":1}`),
			types:   "a BIGINT",
			rows:    `{"a":1}`,
		},
		{
			name: "a name that says nothing", file: "export",
			content: ` [ {"a":1} ] `,
			types:   "a BIGINT",
			rows:    `{"a":1}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			setup(t).reads(cmp.Or(test.file, "x.json"), test.content, test.types, test.rows)
		})
	}
}

func TestJSONRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, test := range []struct{ name, file, content, want string }{
		{"not an object", "x.json", `[{"a":1}, 5]`, `x.json, row 2: it is a number, not an object`},
		{"not an object on a line", "x.ndjson", "{\"a\":1}\n\n\"x\"\n", `x.ndjson, line 3: it is a string, not an object`},
		{"lists", "x.json", "[[1,2],[3,4]]", `x.json, row 1: it is a list, not an object`},
		{"not JSON", "x.json", "a,b\n1,2\n", `x.json, line 1: it is not JSON`},
		{"syntax", "x.ndjson", "{\"a\":1}\n{\"a\":}\n", `x.ndjson, line 2: it is not JSON: a value is expected before "}\n"`},
		{"single quotes", "x.ndjson", "{'a':1}\n", `x.ndjson, line 1: it is not JSON: a key in quotes is expected before "'a':1}\n"`},
		{"trailing comma", "x.json", `[{"a":1},]`, `x.json, row 2: it is missing after a comma`},
		{"trailing comma in an object", "x.json", `[{"a":1,}]`, `x.json, row 1: it is not JSON: a key in quotes is expected before "}]"`},
		{"leading zero", "x.json", `[{"a":01}]`, `x.json, row 1: it is not JSON: a number is expected before "01}]"`},
		{"NaN", "x.json", `[{"a":NaN}]`, `x.json, row 1: it is not JSON: a value is expected before "NaN}]"`},
		{"half a character", "x.json", `[{"a":"\ud83d"}]`, `x.json, row 1: it is not JSON: a string holds "\\ud83d", which is no escape in JSON`},
		{"control character", "x.json", "[{\"a\":\"x\ny\"}]", `x.json, row 1: it is not JSON: a string holds a line end or another control character that is not escaped`},
		{"cut off", "x.json", `[{"a":1},{"a":`, `x.json, row 2: the file ends in the middle of it`},
		{"array not closed", "x.json", `[{"a":1}`, `x.json, row 2: the array is not closed`},
		{"more after the array", "x.json", "[{\"a\":1}]\n{\"a\":2}", `x.json, line 2: there is more text after the array`},
		{"no rows", "x.json", ` [ ] `, `x.json has no rows`},
		{"no keys", "x.json", `[{},{}]`, `x.json: its objects have no keys`},
		{"key twice", "x.json", `[{"a":1,"b":2,"\u0061":3}]`, `x.json, row 1: it has the key "a" twice`},
		{"keys that differ in case", "x.ndjson", "{\"Id\":1}\n{\"id\":2}", `x.ndjson, line 2: the keys "Id" and "id" differ only in case, and would be one column; rename one of them`},
		{"empty key", "x.json", `[{"":1}]`, `x.json, row 1: it has an empty key`},
		{"deep", "x.json", `[{"a":` + deep + `}]`, `x.json, row 1: it is not JSON: values are nested more than 64 deep`},
		{"damaged UTF-8", "x.json", "[{\"a\":\"é caf\xe9 è\"}]", `x.json, row 1: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8`},
		{"large", "x.json", `[{"a":"` + strings.Repeat("x", 17<<20) + `"}]`, `x.json, row 1: it is longer than 16777216 bytes`},
		{"many keys", "x.json", "[{" + strings.TrimSuffix(lines(2001, `"k%d":1,`), ",") + "}]", `x.json, row 1: the rows have more than 2000 different keys`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}})
			if got := refusal(t, err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Keys that start with __ are renamed, as names in CSV are.
func TestInternalKeys(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.json", `[{"__id":1,"id":2,"__":3,"name":"x"},{"__id":4}]`)}})
	if got, want := l.rows(result.Columns, result), `{"id_2":1,"id":2,"column_3":3,"name":"x"}`+"\n"+`{"id_2":4,"id":null,"column_3":null,"name":null}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := warnings(result), "the column was named \"__id\"; names that start with __ are for internal use\nthe column was named \"__\"; names that start with __ are for internal use"; got != want {
		t.Errorf("warnings: got %s\nwant %s", got, want)
	}
}

func TestNullValuesOfJSON(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{
		Sources: []ingest.Source{l.file("x.ndjson", `{"a":1,"b":"2024-01-02","c":"x","d":[1,2],"e":{"f":1},"g":"-","h":12345678901234567890,"i":"-"}
{"a":"-","b":"-","c":"-","d":"-","e":"\u002d","g":-999,"h":"-","i":[-999]}
{"a":-999,"b":null,"c":"--","d":[-999],"e":-999,"g":null,"h":5,"i":["-"]}`)},
		Options: domain.IngestOptions{NullValues: []string{"-", "-999"}},
	})
	if got, want := types(result.Columns), "a BIGINT, b DATE, c VARCHAR, d BIGINT[], e.f BIGINT, g NULL, h DECIMAL(38,0), i VARCHAR[]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := l.rows(result.Columns, result), `{"a":1,"b":"2024-01-02","c":"x","d":[1,2],"e.f":1,"g":null,"h":12345678901234567890,"i":null}
{"a":null,"b":null,"c":null,"d":null,"e.f":null,"g":null,"h":null,"i":["-999"]}
{"a":null,"b":null,"c":"--","d":[-999],"e.f":null,"g":null,"h":5,"i":["-"]}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := result.Report.Columns[0].Missing; got != 2 {
		t.Errorf("%d are missing", got)
	}
}

// Rows that were sent as such are counted, not numbered by line of a file that
// their sender never saw.
func TestRows(t *testing.T) {
	t.Parallel()
	l := setup(t)
	rows := l.file("rows", "{\"a\":1,\"b\":[\"x\"]}\n{\"a\":2}\n")
	result := l.mustRun(ingest.Job{Rows: rows.Path})
	if got, want := l.rows(result.Columns, result), `{"a":1,"b":["x"]}`+"\n"+`{"a":2,"b":null}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	bad := l.file("bad", "{\"a\":1}\n{\"__a\":2}\n")
	_, err := l.run(ingest.Job{Rows: bad.Path})
	if got, want := refusal(t, err), `row 2: the column name "__a" must not start with __, which is for internal use`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	none := l.file("none", "")
	_, err = l.run(ingest.Job{Rows: none.Path})
	if got, want := refusal(t, err), "the data has no rows"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A file larger than the buffer must not lose or double what lies across its
// edge.
func TestLargeJSON(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const n = 60_000
	for _, form := range []string{"x.ndjson", "x.json"} {
		content := lines(n, `{"id":%d,"text":"`+strings.Repeat("ä", 20)+`"},`+"\n")
		if form == "x.json" {
			content = "[" + strings.TrimSuffix(content, ",\n") + "]"
		} else {
			content = strings.ReplaceAll(content, "},", "}")
		}
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(form, content)}})
		query := ingest.Query([]string{result.Files[0].Path}, result.Columns)
		got := l.query("SELECT count(*) || ' ' || sum(id) || ' ' || min(length(text)) FROM (" + query + ")")
		if want := fmt.Sprintf("%d %d 20", n, n*(n+1)/2); got != want {
			t.Errorf("%s: got %s, want %s", form, got, want)
		}
	}
}
