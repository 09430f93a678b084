package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/storage/datasets/ingest"
)

// bookOf makes a workbook of XML as other programs write it: files by their names, without the
// declarations.
func bookOf(t testing.TB, files map[string]string) string {
	t.Helper()
	list := []string{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`}
	for name, content := range files {
		list = append(list, name, `<?xml version="1.0" encoding="UTF-8"?>`+content)
	}
	return archive(t, list...)
}

// relationsOf writes the relations of a file by their kinds, with ids r0, r1, …
func relationsOf(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`, i/2, pairs[i], pairs[i+1])
	}
	return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` + b.String() + `</Relationships>`
}

const (
	spreadsheet   = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	listOfOneBook = `<workbook ` + spreadsheet + `><sheets><sheet name="One" sheetId="1" r:id="r0"/></sheets></workbook>`
)

// Other programs write files of other names, prefixes of elements, cells and rows without names,
// and texts within cells.
func TestWorkbookOfOtherPrograms(t *testing.T) {
	t.Parallel()
	l := setup(t)
	content := bookOf(t, map[string]string{
		"_rels/.rels":                  relationsOf("officeDocument", "/xl/data/Book.xml"),
		"xl/data/book.xml":             `<workbook ` + spreadsheet + `><workbookPr date1904="1"/><sheets><sheet name="One" sheetId="1" r:id="r0"/></sheets></workbook>`,
		"xl/data/_rels/book.xml.rels":  relationsOf("worksheet", `sheets\first.xml`, "styles", "../looks.xml", "sharedStrings", "texts.xml"),
		"xl/looks.xml":                 `<styleSheet ` + spreadsheet + `><cellStyleXfs><xf numFmtId="10"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>`,
		"xl/data/texts.xml":            `<sst ` + spreadsheet + `><si><t>day</t></si><si><r><t>na</t></r><r><t xml:space="preserve">me </t></r><rPh sb="0" eb="1"><t>spoken</t></rPh></si></sst>`,
		"xl/data/sheets/first.xml":     firstSheet,
		"xl/data/sheets/needless.xml":  "<",
		"xl/data/drawings/drawing.xml": "<",
	})
	result := l.readsPart(l.file("x.xlsx", content), "", "day DATE, name VARCHAR, ok BOOLEAN, at TIMESTAMP",
		`{"day":"1904-01-02","name":"<A&B>_x0041_","ok":true,"at":"2024-02-29 13:05:09"}`+"\n"+`{"day":"2024-02-29","name":"one two","ok":false,"at":null}`)
	if got := warnings(result); got != "" {
		t.Errorf("warnings: %s", got)
	}
}

const firstSheet = `<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData><!-- <row> -->
	<x:row><x:c t="s"><x:v>0</x:v></x:c><x:c t="s"><x:v> 1 </x:v></x:c><x:c t="str"><x:v>ok</x:v></x:c><x:c t="inlineStr"><x:is><x:t>at</x:t></x:is></x:c></x:row>
	<x:row><x:c s="1"><x:v>1</x:v></x:c><x:c t="inlineStr"><x:is><x:t><![CDATA[<A]]>&amp;_x0042_></x:t><x:r><x:t>_x005F_x0041_</x:t></x:r></x:is></x:c><x:c t="b"><x:v>1</x:v></x:c><x:c t="d"><x:v>2024-02-29T13:05:09</x:v></x:c></x:row>
	<x:row r="5"><x:c r="C5" t="b"><x:v>0</x:v></x:c><x:c r="A5" s="1"><x:v>43889</x:v></x:c><x:c r="B5" t="inlineStr"><x:is><x:r><x:t>one</x:t></x:r><x:r><x:t> two</x:t></x:r></x:is></x:c></x:row>
</x:sheetData></x:worksheet>`

// What is in cells beside their values, and elements of other names, are left out.
func TestWorkbookBesideValues(t *testing.T) {
	t.Parallel()
	l := setup(t)
	files := map[string]string{
		"xl/workbook.xml":            `<workbook ` + spreadsheet + `><sheets><sheet name="One" r:id="r0"/><sheet name="Two" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relationsOf("worksheet", "one.xml", "worksheet", "two.xml"), "xl/two.xml": "<worksheet>",
		"xl/styles.xml": `<styleSheet><cellXfs><xf/><xf numFmtId="14"/></cellXfs></styleSheet>`,
		"xl/one.xml": `<worksheet><sheetData><row xmlns:r="r" r="1"><c t="str"><v>a</v></c><c t="str"><v>b</v></c><c t="str"><v>c</v></c></row>` +
			`<row><c t="inlineStr"><is><t>x</t></is><v>x</v></c><c><f>1+1</f><v>5</v><extLst><ext><t>9</t></ext></extLst></c><c t="e"><v>#BUSY!</v></c></row>` +
			`<row><c t="str"><f/><v>_xD83D__xDE00__x000A_</v></c><c><v>7</v></c><s:c s="1" xmlns:s="s"><v>45000</v></s:c></row></sheetData>` +
			`<controls><from><row>1</row></from></controls></worksheet>`,
	}
	for _, encoding := range []string{"UTF-8", "ISO-8859-1"} {
		content := bookOf(t, files)
		if encoding != "UTF-8" {
			changed := map[string]func(string) string{"xl/one.xml": func(s string) string { return strings.Replace(s, "UTF-8", encoding, 1) }}
			content = rezip(t, content, changed)
		}
		result := l.readsPart(l.file("x.xlsx", content), "One", "a VARCHAR, b BIGINT, c DATE", `{"a":"x","b":5,"c":null}`+"\n"+`{"a":"😀\n","b":7,"c":"2023-03-15"}`)
		if got, want := warnings(result), "x.xlsx (One): 1 cells hold an error of a formula, such as #N/A; they are read as missing"; got != want {
			t.Errorf("warnings: got %s, want %s", got, want)
		}
	}
}

// Many texts are read from a file, each cell's own.
func TestWorkbookManyTexts(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const count = 6_000 // more than the 4 MiB that are in memory
	long := strings.Repeat("long", 180)
	var texts, rows strings.Builder
	for i := range count {
		fmt.Fprintf(&texts, "<si><t>%s %d</t></si>", long, i)
		fmt.Fprintf(&rows, `<row><c t="s"><v>%d</v></c><c><v>%d</v></c></row>`, count-1-i, count-1-i)
	}
	content := bookOf(t, map[string]string{
		"xl/workbook.xml": listOfOneBook, "xl/_rels/workbook.xml.rels": relationsOf("worksheet", "one.xml"),
		"xl/sharedStrings.xml": `<sst ` + spreadsheet + `>` + texts.String() + `</sst>`,
		"xl/one.xml":           `<worksheet ` + spreadsheet + `><sheetData><row><c t="str"><v>text</v></c><c t="str"><v>number</v></c></row>` + rows.String() + `</sheetData></worksheet>`,
	})
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", content)}})
	got := strings.Split(l.rows(result.Columns, result), "\n")
	if len(got) != count {
		t.Fatalf("%d rows", len(got))
	}
	for i, row := range got {
		if want := fmt.Sprintf(`{"text":"%s %d","number":%d}`, long, count-1-i, count-1-i); row != want {
			t.Fatalf("row %d: got %s, want %s", i, row, want)
		}
	}
}

// Numbers that dates cannot have, and codes that are none, stay numbers.
func TestWorkbookNumbersAsStored(t *testing.T) {
	t.Parallel()
	l := setup(t)
	cell := func(style int, value string) string { return fmt.Sprintf(`<c s="%d"><v>%s</v></c>`, style, value) }
	content := bookOf(t, map[string]string{
		"xl/workbook.xml": listOfOneBook, "xl/_rels/workbook.xml.rels": relationsOf("worksheet", "one.xml"),
		"xl/styles.xml": `<styleSheet ` + spreadsheet + `><numFmts><numFmt numFmtId="200" formatCode="000"/></numFmts><cellXfs><xf/><xf numFmtId="14"/><xf numFmtId="46"/><xf numFmtId="200"/></cellXfs></styleSheet>`,
		"xl/one.xml": `<worksheet ` + spreadsheet + `><sheetData><row><c t="str"><v>day</v></c><c t="str"><v>took</v></c><c t="str"><v>code</v></c></row>` +
			`<row>` + cell(1, "-1") + cell(2, "-0.5") + cell(3, "7.25") + `</row><row>` + cell(1, "1e12") + cell(2, "2") + cell(3, "-7") + `</row></sheetData></worksheet>`,
	})
	l.readsPart(l.file("x.xlsx", content), "", "day BIGINT, took VARCHAR, code VARCHAR",
		`{"day":-1,"took":"-12:00:00","code":"7.25"}`+"\n"+`{"day":1000000000000,"took":"48:00:00","code":"-007"}`)
}
