package ingest_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// book makes a workbook.
func book(t testing.TB, fill func(f *excelize.File)) string {
	t.Helper()
	f := excelize.NewFile()
	defer f.Close()
	fill(f)
	out, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// sheet writes rows to a sheet, from its first row and column on.
func sheet(f *excelize.File, name string, rows ...[]any) {
	if _, err := f.NewSheet(name); err != nil {
		panic(err)
	}
	for i, row := range rows {
		if err := f.SetSheetRow(name, fmt.Sprintf("A%d", i+1), &row); err != nil {
			panic(err)
		}
	}
}

func must(errs ...error) {
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
}

func style(f *excelize.File, sheet, from, to, code string) {
	id, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
	must(err, f.SetCellStyle(sheet, from, to, id))
}

func TestWorkbookSheets(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.file("shop.xlsx", book(t, func(f *excelize.File) {
		sheet(f, "Orders", []any{"id", "price"}, []any{1, 2.5}, []any{2, 1e6})
		sheet(f, "Customers", []any{"name"}, []any{"Ann"})
		sheet(f, "Secret", []any{"pin"}, []any{1})
		must(f.SetSheetVisible("Secret", false))
	}))
	if got, want := l.parts(source), "Orders, Customers"; got != want {
		t.Errorf("parts: got %s, want %s", got, want)
	}
	result := l.readsPart(source, "orders", "id BIGINT, price DOUBLE", `{"id":1,"price":2.5}`+"\n"+`{"id":2,"price":1000000.0}`)
	if got, want := warnings(result), "shop.xlsx: hidden sheets are not read: Secret"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
	l.refuses(source, domain.IngestOptions{}, "shop.xlsx holds 2 tables: Orders, Customers; choose one")
	l.refuses(source, domain.IngestOptions{Sheet: "Secret"}, `shop.xlsx has no table "Secret"; it holds Orders, Customers`)
}

func TestWorkbookValues(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := book(t, func(f *excelize.File) {
		at := time.Date(2024, 2, 29, 13, 5, 9, 0, time.UTC)
		sheet(f, "Sheet1", []any{"day", "at", "shown", "clock", "took", "share", "code", "money", "ok", "text", "calc"},
			[]any{at, at, at, 0.5, 1.5, 0.25, 7, 1234.5, true, "a\nb, \"c\"", nil},
			[]any{45000, 45000.25, 45000, 0.25, 0.5, 1, 123456, -3, false, "é", nil})
		style(f, "Sheet1", "A2", "A3", "dd/mm/yyyy")
		style(f, "Sheet1", "B2", "B3", `m/d/yy "at" h:mm`)
		style(f, "Sheet1", "C2", "C3", `[$-409]mmmm\ yyyy;@`)
		style(f, "Sheet1", "D2", "D3", "h:mm AM/PM")
		style(f, "Sheet1", "E2", "E3", "[h]:mm")
		style(f, "Sheet1", "F2", "F3", "0%")
		style(f, "Sheet1", "G2", "G3", "00000")
		style(f, "Sheet1", "H2", "H3", `[Red]#,##0.00 "USD";(#,##0.00)`)
		must(f.SetCellFormula("Sheet1", "K2", "1+1"), f.SetCellValue("Sheet1", "K3", "#DIV/0!"))
	})
	result := l.readsPart(l.file("x.xlsx", content), "",
		"day DATE, at TIMESTAMP, shown DATE, clock TIME, took VARCHAR, share BIGINT, code VARCHAR, money DOUBLE, ok BOOLEAN, text VARCHAR, calc NULL",
		`{"day":"2024-02-29","at":"2024-02-29 13:05:09","shown":"2024-02-29","clock":"12:00:00","took":"36:00:00","share":25,"code":"00007","money":1234.5,"ok":true,"text":"a\nb, \"c\"","calc":null}`+"\n"+
			`{"day":"2023-03-15","at":"2023-03-15 06:00:00","shown":"2023-03-15","clock":"06:00:00","took":"12:00:00","share":100,"code":"123456","money":-3.0,"ok":false,"text":"é","calc":null}`)
	if got, want := warnings(result), "x.xlsx (Sheet1): 1 cells hold an error of a formula, such as #N/A; they are read as missing\n"+
		"x.xlsx (Sheet1): 1 formula without a stored value, the first in cell K2, read as missing; open the file in Excel, save it and send that"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
}

// Dates before March 1900, where Excel counts a day that was not, and numbers of more
// digits than Excel shows.
func TestWorkbookStoredValues(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"day", "id", "share", "text"},
			[]any{1, 9007199254740991, 0.1, "x"}, []any{59, 1234567890123456789, 0.1, "1234567890123456"}, []any{61, -9007199254740991, 2.5, nil}, []any{62, 7, 1, "y"})
		style(f, "Sheet1", "A2", "A5", "yyyy-mm-dd")
		style(f, "Sheet1", "B3", "B3", "#,##0")
	})
	content = rezip(t, content, map[string]func(string) string{"xl/worksheets/sheet1.xml": func(s string) string {
		return strings.Replace(s, "<v>0.1</v>", "<f>A1</f><v>0.30000000000000004</v>", 1)
	}})
	result := l.readsPart(l.file("x.xlsx", content), "", "day DATE, id BIGINT, share DOUBLE, text VARCHAR",
		`{"day":"1900-01-01","id":9007199254740991,"share":0.3,"text":"x"}`+"\n"+
			`{"day":"1900-02-28","id":1234567890123456789,"share":0.1,"text":"1234567890123456"}`+"\n"+
			`{"day":"1900-03-01","id":-9007199254740991,"share":2.5,"text":null}`+"\n"+
			`{"day":"1900-03-02","id":7,"share":1.0,"text":"y"}`)
	if got := warnings(result); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

// Formulas that a program wrote without their values.
func TestWorkbookFormulasWithoutValues(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := rezip(t, book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"a", "b"}, []any{1, 11}, []any{2, 12}, []any{3, 13}, []any{4, 14})
	}), map[string]func(string) string{"xl/worksheets/sheet1.xml": func(s string) string {
		return strings.NewReplacer(`<c r="B2"><v>11</v>`, `<c r="B2" t="str"><f>""</f><v></v>`, `<v>12</v>`, `<f>A2*2</f><v></v>`, `<v>13</v>`, `<f>A3*2</f><v/>`, `<v>14</v>`, `<f>A4*2</f><v>8</v>`).Replace(s)
	}})
	result := l.readsPart(l.file("x.xlsx", content), "", "a BIGINT, b BIGINT",
		`{"a":1,"b":null}`+"\n"+`{"a":2,"b":null}`+"\n"+`{"a":3,"b":null}`+"\n"+`{"a":4,"b":8}`)
	if got, want := warnings(result), "x.xlsx (Sheet1): 2 formulas without a stored value, the first in cell B3, read as missing; open the file in Excel, save it and send that"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
}

// Titles, gaps, merged cells and columns that start anywhere.
func TestWorkbookLayout(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name        string
		options     domain.IngestOptions
		fill        func(f *excelize.File)
		types, rows string
		warnings    string
	}{
		{"titles", domain.IngestOptions{}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{"Sales of 2024"}, nil, []any{"made by", "Ann"}, nil, []any{nil, "city", "people", "area"}, []any{nil, "Oslo", 1, 2}, nil, []any{nil, "Bonn", 2, nil})
			must(f.MergeCell("Sheet1", "A1", "D1"))
		}, "city VARCHAR, people BIGINT, area BIGINT", `{"city":"Oslo","people":1,"area":2}` + "\n" + `{"city":"Bonn","people":2,"area":null}`, "x.xlsx (Sheet1): the header is in row 5; 2 rows above it not read"},
		{"merged cells", domain.IngestOptions{}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{"land", "city"}, []any{"NO", "Oslo"}, []any{nil, "Bergen"}, []any{"DE", "Bonn"})
			must(f.MergeCell("Sheet1", "A2", "A3"))
		}, "land VARCHAR, city VARCHAR", `{"land":"NO","city":"Oslo"}` + "\n" + `{"land":"NO","city":"Bergen"}` + "\n" + `{"land":"DE","city":"Bonn"}`, ""},
		{"groups of columns", domain.IngestOptions{}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{"name", "2023", nil, "2024", nil}, []any{nil, "Q1", "Q2", "Q1", "Q2"}, []any{"a", 1, 2, 3, 4}, []any{"b", 5, 6, 7, 8})
			must(f.MergeCell("Sheet1", "A1", "A2"), f.MergeCell("Sheet1", "B1", "C1"), f.MergeCell("Sheet1", "D1", "E1"))
		}, "name VARCHAR, 2023 Q1 BIGINT, 2023 Q2 BIGINT, 2024 Q1 BIGINT, 2024 Q2 BIGINT",
			`{"name":"a","2023 Q1":1,"2023 Q2":2,"2024 Q1":3,"2024 Q2":4}` + "\n" + `{"name":"b","2023 Q1":5,"2023 Q2":6,"2024 Q1":7,"2024 Q2":8}`, "x.xlsx (Sheet1): two header rows were joined"},
		{"a header row that is given", domain.IngestOptions{HeaderRow: new(3)}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{"x", "y"}, []any{"units", "m"}, []any{"a", "b"}, []any{1, 2})
		}, "a BIGINT, b BIGINT", `{"a":1,"b":2}`, "x.xlsx (Sheet1): the header is in row 3; 2 rows above it not read"},
		{"no header row", domain.IngestOptions{HeaderRow: new(0)}, func(f *excelize.File) { sheet(f, "Sheet1", []any{1, "x"}, []any{2, "y"}) },
			"column_1 BIGINT, column_2 VARCHAR", `{"column_1":1,"column_2":"x"}` + "\n" + `{"column_1":2,"column_2":"y"}`, ""},
		{"a first row of values", domain.IngestOptions{}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{1, "Ann", 3.5}, []any{2, "Bob", 4.5}, []any{3, "Cy", 5.5})
		}, "column_1 BIGINT, column_2 VARCHAR, column_3 DOUBLE", `{"column_1":1,"column_2":"Ann","column_3":3.5}` + "\n" + `{"column_1":2,"column_2":"Bob","column_3":4.5}` + "\n" + `{"column_1":3,"column_2":"Cy","column_3":5.5}`,
			"line 1 has values like the rows below it: the columns are named column_1, column_2, …; headerRow 1 reads their names from it"},
		{"a first row of values that names the columns", domain.IngestOptions{HeaderRow: new(1)}, func(f *excelize.File) { sheet(f, "Sheet1", []any{1, "Ann"}, []any{2, "Bob"}) },
			"1 BIGINT, Ann VARCHAR", `{"1":2,"Ann":"Bob"}`, ""},
		{"years", domain.IngestOptions{}, func(f *excelize.File) {
			sheet(f, "Sheet1", []any{"land", 2023, 2024}, []any{"NO", 5, 7}, []any{"FR", 8, 9})
		},
			"land VARCHAR, 2023 BIGINT, 2024 BIGINT", `{"land":"NO","2023":5,"2024":7}` + "\n" + `{"land":"FR","2023":8,"2024":9}`, ""},
		{"texts with separators", domain.IngestOptions{}, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a;b"}, []any{"1;2"}, []any{"3;4"}) },
			"a;b VARCHAR", `{"a;b":"1;2"}` + "\n" + `{"a;b":"3;4"}`, ""},
		{"one column", domain.IngestOptions{}, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a"}, []any{1}, []any{2}) }, "a BIGINT", `{"a":1}` + "\n" + `{"a":2}`, ""},
		{"a value without a name", domain.IngestOptions{}, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a", "b"}, []any{1, 2}, []any{2, 3, 4}) },
			"a BIGINT, b BIGINT, column_3 BIGINT", `{"a":1,"b":2,"column_3":null}` + "\n" + `{"a":2,"b":3,"column_3":4}`, "1 column had no name, or one that was taken: now column_3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", book(t, test.fill))}, Options: test.options})
			if got := types(result.Columns); got != test.types {
				t.Errorf("types: got  %s\nwant %s", got, test.types)
			}
			if got := warnings(result); got != test.warnings {
				t.Errorf("warnings: got %s, want %s", got, test.warnings)
			}
			if got := l.rows(result.Columns, result); got != test.rows {
				t.Errorf("rows: got\n%s\nwant\n%s", got, test.rows)
			}
		})
	}
}

// rezip copies an archive, with files changed, added (when they are new) or dropped.
func rezip(t testing.TB, content string, change map[string]func(string) string) string {
	t.Helper()
	archive, err := zip.NewReader(strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	add := func(name, text string) {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write([]byte(text))
		}
		must(err)
	}
	for _, f := range archive.File {
		r, err := f.Open()
		must(err)
		text, err := io.ReadAll(r)
		must(err)
		if to := change[f.Name]; to != nil {
			delete(change, f.Name)
			add(f.Name, to(string(text)))
			continue
		}
		add(f.Name, string(text))
	}
	for name, to := range change {
		add(name, to(""))
	}
	must(w.Close())
	return out.String()
}

func TestWorkbookRefused(t *testing.T) {
	t.Parallel()
	plain := book(t, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a", "b"}, []any{1, "x"}, []any{2, "y"}) })
	const again = "it cannot be read to its end; open it in the program that wrote it, save it again and send that"
	change := func(name string, to func(string) string) string {
		return rezip(t, plain, map[string]func(string) string{name: to})
	}
	for _, test := range []struct{ name, file, content, want string }{
		{"cut off", "x.xlsx", plain[:len(plain)/2], "x.xlsx is damaged: " + again},
		{"a broken row", "x.xlsx", change("xl/worksheets/sheet1.xml", func(s string) string {
			return strings.Replace(s, `<row r="2">`, `<row r="2"><c r="A2"><v>1</w></c>`, 1)
		}), "x.xlsx (Sheet1) is damaged: " + again},
		{"a sheet without an end", "x.xlsx", change("xl/worksheets/sheet1.xml", func(s string) string { return s[:strings.Index(s, "</sheetData>")] }), "x.xlsx (Sheet1) is damaged: " + again},
		{"a shared text that is not there", "x.xlsx", change("xl/sharedStrings.xml", func(s string) string { return strings.Replace(s, "<si><t>y</t></si>", "", 1) }), "x.xlsx (Sheet1) is damaged: " + again},
		{"a row far away", "x.xlsx", change("xl/worksheets/sheet1.xml", func(s string) string { return strings.Replace(s, `<row r="3"`, `<row r="99999999999"`, 1) }),
			"x.xlsx (Sheet1) has rows beyond number 1048576, which a workbook cannot have"},
		{"a binary workbook", "x.xlsb", change("xl/workbook.bin", func(string) string { return "x" }), "x.xlsb is a binary Excel workbook (.xlsb); save it as .xlsx and send that"},
		{"no values", "x.xlsx", book(t, func(*excelize.File) {}), "x.xlsx holds no table and no text"},
		{"a header alone", "x.xlsx", book(t, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a"}) }), "x.xlsx (Sheet1) has no rows"},
		{"too many columns", "x.xlsx", book(t, func(f *excelize.File) { must(f.SetCellValue("Sheet1", "XFD1", 1)) }), "x.xlsx (Sheet1) has more than 2000 columns"},
		{"hidden sheets alone", "x.xlsx", book(t, func(f *excelize.File) {
			sheet(f, "Other")
			sheet(f, "Sheet1", []any{"a"}, []any{1})
			f.SetActiveSheet(1)
			must(f.SetSheetVisible("Sheet1", false))
		}), "x.xlsx has only hidden sheets: Sheet1; unhide one and send the file again"},
		{"a large one", "x.xlsx", change("xl/worksheets/sheet1.xml", func(s string) string { return s + strings.Repeat(" ", 1_000_000) }), "x.xlsx unpacks to more than 1000000 bytes, the limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}, MaxUnpacked: 1_000_000})
			if got := refusal(t, err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Macros and pictures are left out, and lines of messages are those of the sheet.
func TestWorkbookWithMacros(t *testing.T) {
	t.Parallel()
	l := setup(t)
	plain := book(t, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a"}, []any{1}) })
	content := rezip(t, plain, map[string]func(string) string{
		"xl/vbaProject.bin":    func(string) string { return "x" },
		"xl/media/image1.jpeg": func(string) string { return strings.Repeat("x", 1000) },
	})
	result := l.readsPart(l.file("x.xlsm", content), "", "a BIGINT", `{"a":1}`)
	if got, want := warnings(result), "x.xlsm: its macros are not read"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
}

// Tables side by side are read as one, with a warning.
func TestWorkbookTablesSideBySide(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{nil, "city", "people", nil, "item", "price"}, []any{nil, "Oslo", 700, nil, "plum", 2}, []any{nil, "Rome", 2800, nil, "lime", 3})
	}))}})
	want := "x.xlsx (Sheet1): an empty column is left of item; tables side by side are read as one: to have several, put each into a sheet of its own"
	if got := warnings(result); got != want || len(result.Columns) != 4 {
		t.Errorf("got %s, %+v", got, result.Columns)
	}
}
