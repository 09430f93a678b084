package ingest_test

import (
	"cmp"
	"strconv"
	"strings"
	"testing"

	"parley/storage/datasets/ingest"
)

func TestCSV(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		file    string
		content string
		types   string
		rows    string
	}{
		{
			name:    "types",
			content: "i,f,b,d,t,ts,tz,s\n1,1.5,true,2024-01-31,10:30,2024-01-31 10:30:00,2024-01-31T10:30:00+02:00,x\n-2,2,FALSE,2024-2-1,23:59:59.5,2024-01-31,2024-01-31 10:30:00Z,é\n",
			types:   "i BIGINT, f DOUBLE, b BOOLEAN, d DATE, t TIME, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE, s VARCHAR",
			rows: `{"i":1,"f":1.5,"b":true,"d":"2024-01-31","t":"10:30:00","ts":"2024-01-31 10:30:00","tz":"2024-01-31 08:30:00+00","s":"x"}
{"i":-2,"f":2.0,"b":false,"d":"2024-02-01","t":"23:59:59.5","ts":"2024-01-31 00:00:00","tz":"2024-01-31 10:30:00+00","s":"é"}`,
		},
		{
			name:    "identifiers stay text",
			content: "zip,phone,long,under,dec,big\n01234,+49170,1234567890123456789012345678901234567890,1_000,007.5,9223372036854775808\n99999,1,2,3,4,5\n",
			types:   "zip VARCHAR, phone VARCHAR, long VARCHAR, under VARCHAR, dec VARCHAR, big DECIMAL(38,0)",
			rows: `{"zip":"01234","phone":"+49170","long":"1234567890123456789012345678901234567890","under":"1_000","dec":"007.5","big":9223372036854775808}
{"zip":"99999","phone":"1","long":"2","under":"3","dec":"4","big":5}`,
		},
		{
			name:    "numbers",
			content: "a,b,c,d\n.5,nan,inf,1e400\n5.,1,x,1\n-1E-3,-inf,nan,2\n",
			types:   "a DOUBLE, b DOUBLE, c VARCHAR, d VARCHAR",
			rows: `{"a":0.5,"b":null,"c":"inf","d":"1e400"}
{"a":5.0,"b":1.0,"c":"x","d":"1"}
{"a":-0.001,"b":-Infinity,"c":"nan","d":"2"}`,
		},
		{
			name:    "dates with the year last",
			content: "day,month,either,dots,dashes,mixed\n31/12/2024,12/31/2024,01/02/2024,1.2.2024,28-02-2023,31/12/2024\n01/02/2024,1/2/2024,3/4/2024,3.4.2024,1-2-2023,12/31/2024\n",
			types:   "day DATE, month DATE, either VARCHAR, dots DATE, dashes DATE, mixed VARCHAR",
			rows: `{"day":"2024-12-31","month":"2024-12-31","either":"01/02/2024","dots":"2024-02-01","dashes":"2023-02-28","mixed":"31/12/2024"}
{"day":"2024-02-01","month":"2024-01-02","either":"3/4/2024","dots":"2024-04-03","dashes":"2023-02-01","mixed":"12/31/2024"}`,
		},
		{
			name:    "what would be cut stays text",
			content: "fine,zone,mixed\n2024-01-01 10:00:00.1234567,2024-01-01T10:00:00Z,2024-01-01T10:00:00Z\n2024-01-01 10:00:00,2024-01-01 10:00:00-05:30,2024-01-01T10:00:00\n",
			types:   "fine VARCHAR, zone TIMESTAMP WITH TIME ZONE, mixed VARCHAR",
			rows: `{"fine":"2024-01-01 10:00:00.1234567","zone":"2024-01-01 10:00:00+00","mixed":"2024-01-01T10:00:00Z"}
{"fine":"2024-01-01 10:00:00","zone":"2024-01-01 15:30:00+00","mixed":"2024-01-01T10:00:00"}`,
		},
		{
			name:    "empty and blank fields are null, and blanks of texts stay",
			content: "a,b,c\n1,,\" x \"\n,\"\", 5\n 3 ,  ,y \n",
			types:   "a BIGINT, b NULL, c VARCHAR",
			rows:    `{"a":1,"b":null,"c":" x "}` + "\n" + `{"a":null,"b":null,"c":" 5"}` + "\n" + `{"a":3,"b":null,"c":"y "}`,
		},
		{
			name:    "a column without values",
			content: "a,b\n1,\n2,\n",
			types:   "a BIGINT, b NULL",
			rows:    `{"a":1,"b":null}` + "\n" + `{"a":2,"b":null}`,
		},
		{
			name:    "no value at all",
			content: "a,b\nNA,\n,-\n",
			types:   "a NULL, b NULL",
			rows:    `{"a":null,"b":null}` + "\n" + `{"a":null,"b":null}`,
		},
		{
			name:    "names",
			content: "a,A,a_2,,\"x \"\"y\"\"\n z\", b,select\n1,2,3,4,5,6,7\n",
			types:   "a BIGINT, A_3 BIGINT, a_2 BIGINT, column_4 BIGINT, x \"y\"\n z BIGINT, b BIGINT, select BIGINT",
			rows:    `{"a":1,"A_3":2,"a_2":3,"column_4":4,"x \"y\"\n z":5,"b":6,"select":7}`,
		},
		{
			name:    "the first row is the header whatever it looks like",
			content: "2023,2024\n1,2\n",
			types:   "2023 BIGINT, 2024 BIGINT",
			rows:    `{"2023":1,"2024":2}`,
		},
		{
			name:    "quotes",
			content: "a,b\n\"x, \"\"y\"\"\r\nz\",5\" pipe\n\"\"\"\",a\"b\"\n",
			types:   "a VARCHAR, b VARCHAR",
			rows:    `{"a":"x, \"y\"\r\nz","b":"5\" pipe"}` + "\n" + `{"a":"\"","b":"a\"b\""}`,
		},
		{
			name:    "line ends of both kinds, blank lines, none at the end",
			content: "\n\r\na,b\r\n1,2\n\n3,4\r\n\r\n\n5,6",
			types:   "a BIGINT, b BIGINT",
			rows:    `{"a":1,"b":2}` + "\n" + `{"a":3,"b":4}` + "\n" + `{"a":5,"b":6}`,
		},
		{
			name:    "one column",
			content: "name\nAnn\n\n\"\"\nBob\n\n",
			types:   "name VARCHAR",
			rows:    `{"name":"Ann"}` + "\n" + `{"name":null}` + "\n" + `{"name":"Bob"}`,
		},
		{
			name:    "semicolons and decimal commas",
			content: "a;b\n1,5;2\n2,5;3\n",
			types:   "a DOUBLE, b BIGINT",
			rows:    `{"a":1.5,"b":2}` + "\n" + `{"a":2.5,"b":3}`,
		},
		{
			name:    "bars",
			content: "a|b|c\n1|x, y|3\n",
			types:   "a BIGINT, b VARCHAR, c BIGINT",
			rows:    `{"a":1,"b":"x, y","c":3}`,
		},
		{
			name:    "a line for Excel that names the separator",
			content: "SEP=|\nTitle of the file\na|b|c\n1;1;1|2;2;2|3\n",
			types:   "a VARCHAR, b VARCHAR, c BIGINT",
			rows:    `{"a":"1;1;1","b":"2;2;2","c":3}`,
		},
		{
			name:    "tabs in a tsv",
			file:    "x.TSV",
			content: "a,b\tc\n1,2\t3\n",
			types:   "a,b DOUBLE, c BIGINT",
			rows:    `{"a,b":1.2,"c":3}`,
		},
		{
			name:    "byte order mark",
			content: "\xef\xbb\xbf\"id\",b\n1,2\n",
			types:   "id BIGINT, b BIGINT",
			rows:    `{"id":1,"b":2}`,
		},
		{
			name:    "gzipped",
			file:    "x.csv.gz",
			content: zipped("a,b\n1,2\n"),
			types:   "a BIGINT, b BIGINT",
			rows:    `{"a":1,"b":2}`,
		},
		{
			name:    "gzipped under its old name",
			content: zipped("a,b\n1,2\n"),
			types:   "a BIGINT, b BIGINT",
			rows:    `{"a":1,"b":2}`,
		},
		{
			name:    "a time alone is a column, not two",
			content: "time\n10:00\n11:30\n",
			types:   "time TIME",
			rows:    `{"time":"10:00:00"}` + "\n" + `{"time":"11:30:00"}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			setup(t).reads(cmp.Or(test.file, "x.csv"), test.content, test.types, test.rows)
		})
	}
}

// lines repeats a line n times, in which %d is its number, from 1.
func lines(n int, format string) string {
	before, after, numbered := strings.Cut(format, "%d")
	if !numbered {
		return strings.Repeat(format, n)
	}
	var out []byte
	for i := range n {
		out = append(out, before...)
		out = strconv.AppendInt(out, int64(i+1), 10)
		out = append(out, after...)
	}
	return string(out)
}

func TestCSVRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, content, want string }{
		{"too few fields", "orders.csv", "a,b,c\n1,2,3\n4,5\n",
			`orders.csv, line 3: the row has 2 fields, not 3; add the missing delimiters, or delete the line`},
		{"too many fields", "orders.csv", "a,b\n\"1\n1\",2\n3,4,5\n",
			`orders.csv, line 4: the row has 3 fields, not 2; remove surplus delimiters, or quote a field that contains one`},
		{"ragged far down", "orders.csv", "a,b\n" + lines(700_000, "%d,x\n") + "1\n" + lines(10, "1,2\n"),
			`orders.csv, line 700002: the row has 1 field, not 2; delete a line that is not part of the table, or put an empty line above notes at the end`},
		{"unterminated quote", "orders.csv", "a,b\n1,\"x\n2,y\n",
			`orders.csv, line 2, column "b": a quote is opened and never closed`},
		{"unterminated quote in a long file", "orders.csv", "a,b\n1,\"x\n" + lines(600_000, "%d,yyyyyy\n"),
			`orders.csv, line 2: a quote is opened and not closed within 2000000 bytes`},
		{"text after a quote", "orders.csv", "a,b\n1,\"x\" y\n",
			`orders.csv, line 2, column "b": a quoted field is followed by " y\n"; a quote within quotes is written twice`},
		{"long row", "orders.csv", "a,b\n1," + strings.Repeat("x", 2_000_001) + "\n",
			`orders.csv, line 2: the row is longer than 2000000 bytes`},
		{"carriage return in a line", "orders.csv", "a,b\n1,2\r3,4\n",
			`orders.csv, line 2, column "b": a carriage return stands in the line; lines end with LF or CR LF`},
		{"unknown separator", "orders.csv", "a:b:c\n1:2:3\n4:5:6\n",
			`orders.csv would have a single column, but all its lines are cut by ":": its fields must be separated by commas, semicolons, tabs or bars`},
		{"commas in a tsv", "orders.tsv", "a,b\n1,2\n",
			`orders.tsv would have a single column, but all its lines are cut by commas: its fields must be separated by tabs`},
		{"only a header", "orders.csv", "a,b,c\n", `orders.csv has no rows`},
		{"empty", "orders.csv", "", `orders.csv is empty`},
		{"blank", "orders.csv", " \r\n\n", `orders.csv is empty`},
		{"many columns", "orders.csv", strings.Repeat("a,", 2000) + "a\n", `orders.csv has more than 2000 columns`},
		{"damaged UTF-8", "orders.csv", "a,b\né,è\n2,caf\xe9\n", `orders.csv, line 3: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8`},
		{"UTF-8 with one other byte", "orders.csv", "id,v\n1,Zürich\n7,K\xf6ln\n", `orders.csv, line 3: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8`},
		{"no encoding", "orders.csv", "a,b\n1,x\n2,\x81\n", `orders.csv, line 3: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8`},
		{"binary far down", "orders.csv", "a,b\n" + lines(300_000, "%d,x\n") + "1,\x00\n", `orders.csv, line 300002: the line holds binary data`},
		{"quote in the header", "orders.csv", "a,\"b\n1,2\n", `orders.csv, line 1: a quote is opened in the header and never closed`},
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
