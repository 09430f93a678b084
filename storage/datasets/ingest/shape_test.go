package ingest_test

import (
	"fmt"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// TestShapes reads files whose header, quotes or last row are not as they should
// be.
func TestShapes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, types, rows, warnings string }{
		{
			name:     "a title",
			content:  "Sales of 2024\n\nregion,sales,cost\nNorth,1,2\nSouth,3,4\n",
			types:    "region VARCHAR, sales BIGINT, cost BIGINT",
			rows:     `{"region":"North","sales":1,"cost":2}` + "\n" + `{"region":"South","sales":3,"cost":4}`,
			warnings: `{3  the header is on line 3; 1 row above it not read}`,
		},
		{
			name:     "padded titles",
			content:  "Sales,,\n,,\nregion,2023,2024\nNorth,1,2\n",
			types:    "region VARCHAR, 2023 BIGINT, 2024 BIGINT",
			rows:     `{"region":"North","2023":1,"2024":2}`,
			warnings: `{3  the header is on line 3; 2 rows above it not read}`,
		},
		{
			name:     "a line of two values above an empty line",
			content:  "Helpdesk export;created 2.11.2026 by x;;\n\nticket;opened;minutes;cost\nT1;2026-11-02;5;1\nT2;2026-11-03;6;2\n",
			types:    "ticket VARCHAR, opened DATE, minutes BIGINT, cost BIGINT",
			rows:     `{"ticket":"T1","opened":"2026-11-02","minutes":5,"cost":1}` + "\n" + `{"ticket":"T2","opened":"2026-11-03","minutes":6,"cost":2}`,
			warnings: `{3  the header is on line 3; 1 row above it not read}`,
		},
		{
			name:     "comments",
			content:  "# made by x\n# a, b, c\na,b,c\n1,2,3\n",
			types:    "a BIGINT, b BIGINT, c BIGINT",
			rows:     `{"a":1,"b":2,"c":3}`,
			warnings: `{3  the header is on line 3; 2 rows above it not read}`,
		},
		{
			name:     "a header that begins with a number sign",
			content:  "#id,name\n1,x\n2,y\n",
			types:    "#id BIGINT, name VARCHAR",
			rows:     `{"#id":1,"name":"x"}` + "\n" + `{"#id":2,"name":"y"}`,
			warnings: ``,
		},
		{
			name:     "groups of columns",
			content:  "region,2023,,2024,\n,sales,cost,sales,cost\nNorth,1,2,3,4\n",
			types:    "region VARCHAR, 2023 sales BIGINT, 2023 cost BIGINT, 2024 sales BIGINT, 2024 cost BIGINT",
			rows:     `{"region":"North","2023 sales":1,"2023 cost":2,"2024 sales":3,"2024 cost":4}`,
			warnings: `{1  two header rows were joined; headerRow 1 keeps line 2 as data}`,
		},
		{
			name:     "units below names",
			content:  "name,weight,height\n,kg,cm\nAnn,60,170\n",
			types:    "name VARCHAR, weight kg BIGINT, height cm BIGINT",
			rows:     `{"name":"Ann","weight kg":60,"height cm":170}`,
			warnings: `{1  two header rows were joined; headerRow 1 keeps line 2 as data}`,
		},
		{
			name:     "a first row of texts is a row",
			content:  "name,size\nAnn,unknown\nBob,5\n",
			types:    "name VARCHAR, size VARCHAR",
			rows:     `{"name":"Ann","size":"unknown"}` + "\n" + `{"name":"Bob","size":"5"}`,
			warnings: ``,
		},
		{
			name:     "quotes within quotes",
			content:  "a,b\n\"He said \"hi\" to me\",1\n\"5\" pipe\",2\n\"x \"\"y\"\" \"z\"\",3\n",
			types:    "a VARCHAR, b BIGINT",
			rows:     `{"a":"He said \"hi\" to me","b":1}` + "\n" + `{"a":"5\" pipe","b":2}` + "\n" + `{"a":"x \"y\" \"z\"","b":3}`,
			warnings: ``,
		},
		{
			name:     "a row of totals",
			content:  "item,price\npen,1\nTotal,2\n",
			types:    "item VARCHAR, price BIGINT",
			rows:     `{"item":"pen","price":1}` + "\n" + `{"item":"Total","price":2}`,
			warnings: `{3  the row looks like a row of totals, which sums count again; if it is one, delete it from the file}`,
		},
		{
			name:     "a row of sums",
			content:  "item,price,share\npen,1234.5,40%\nink,2,50%\n,,\nGrand total:,\"1,236.50\",\n\nSource: the shop\n",
			types:    "item VARCHAR, price DOUBLE, share BIGINT",
			rows:     `{"item":"pen","price":1234.5,"share":40}` + "\n" + `{"item":"ink","price":2.0,"share":50}`,
			warnings: `{5  the row of totals not read, so that sums do not count it again: Grand total: 1,236.50 } {7  1 line below the table not read: Source: the shop} {0  1 row without a value not read}`,
		},
		{
			name:     "internal names",
			content:  "__index_level_0__,__,x\n1,2,3\n",
			types:    "index_level_0__ BIGINT, column_2 BIGINT, x BIGINT",
			rows:     `{"index_level_0__":1,"column_2":2,"x":3}`,
			warnings: `{0 index_level_0__ the column was named "__index_level_0__"; names that start with __ are for internal use} {0 column_2 the column was named "__"; names that start with __ are for internal use}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", test.content)}})
			if got := types(result.Columns); got != test.types {
				t.Errorf("types: got  %s\nwant %s", got, test.types)
			}
			if got := l.rows(result.Columns, result); got != test.rows {
				t.Errorf("rows: got\n%s\nwant\n%s", got, test.rows)
			}
			if got := fmt.Sprint(result.Report.Warnings); got != "["+test.warnings+"]" {
				t.Errorf("warnings: got %s\nwant %s", got, test.warnings)
			}
		})
	}
}

// Lines of one cell below a table and a blank line are notes.
func TestNotes(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for _, test := range []struct {
		content, rows, warning string
		line                   int64
	}{
		{"a,b\n1,2\n\nSource: office of statistics\n", `{"a":1,"b":2}`, "1 line below the table not read: Source: office of statistics", 4},
		{"a,b\r\n1,2\r\n3,4\r\n\r\n\r\nNote one.\r\n\r\nNote two.", `{"a":1,"b":2}` + "\n" + `{"a":3,"b":4}`, "2 lines below the table not read: Note one. Note two.", 6},
		{"Title\n\na,b\n\"x\n\ny\",2\n\nSource\n\n", `{"a":"x\n\ny","b":2}`, "the header is on line 3; 1 row above it not read\n1 line below the table not read: Source", 3},
		{"a,b\n1,2\n\nSource \"x\"\n", `{"a":1,"b":2}`, `1 line below the table not read: Source "x"`, 4},
		// With delimiters, and in merged cells.
		{"a,b\n1,2\n,\nSource: office of statistics,\n", `{"a":1,"b":2}`, "1 line below the table not read: Source: office of statistics", 4},
		{"a,b\n1,2\nx,\n,\n\"Source: office, 2024\",\"Source: office, 2024\"\n\nNote,\n", `{"a":"1","b":2}` + "\n" + `{"a":"x","b":null}`, "2 lines below the table not read: Source: office, 2024 Note", 5},
	} {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.csv", test.content)}})
		if got := l.rows(result.Columns, result); got != test.rows {
			t.Errorf("%q: got\n%s\nwant\n%s", test.content, got, test.rows)
		}
		if got := warnings(result); got != test.warning || result.Report.Warnings[0].Line != test.line {
			t.Errorf("%q: line %d: %s", test.content, result.Report.Warnings[0].Line, got)
		}
	}
	// A line without a blank one above it is not.
	for content, want := range map[string]string{
		"a,b\n1,2\nSource\n":          "x.csv, line 3: the row has 1 field, not 2; delete a line that is not part of the table, or put an empty line above notes at the end",
		"a,b\n1,2\n\nSource\n3,4\n":   "x.csv, line 4: the row has 1 field, not 2; delete a line that is not part of the table, or put an empty line above notes at the end",
		"a,b\n1,\"2\n\nSource\"\n5\n": "x.csv, line 5: the row has 1 field, not 2; delete a line that is not part of the table, or put an empty line above notes at the end",
	} {
		l.refuses(l.file("x.csv", content), domain.IngestOptions{}, want)
	}
	l.reads("word.csv", "a,b\n1,2\n\nx,\n", "a VARCHAR, b BIGINT", `{"a":"1","b":2}`+"\n"+`{"a":"x","b":null}`)
	l.reads("number.csv", "a,b\n1,2\n\n3,\n", "a BIGINT, b BIGINT", `{"a":1,"b":2}`+"\n"+`{"a":3,"b":null}`)
	workbook := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"city", "people"}, []any{"Oslo", 700}, []any{"Rome", 2800}, nil, []any{"Source: office of statistics"})
	}))}})
	if got := workbook.Report.Warnings; workbook.Rows != 2 || len(got) != 1 || got[0].Line != 5 || got[0].Message != "1 line below the table not read: Source: office of statistics" {
		t.Errorf("%d rows of a sheet: %+v", workbook.Rows, got)
	}
	l.reads("one.csv", "a\nx\n\ny\n", "a VARCHAR", `{"a":"x"}`+"\n"+`{"a":"y"}`)
	l.reads("x.tsv", "a\tb\n1\t2\n\nx\t\n\n\ty\n", "a VARCHAR, b VARCHAR", `{"a":"1","b":"2"}`+"\n"+`{"a":"x","b":null}`+"\n"+`{"a":null,"b":"y"}`)
	l.reads("quoted.csv", "a,b\n1,\"x\n\ny\"\n", "a BIGINT, b VARCHAR", `{"a":1,"b":"x\n\ny"}`)
}
