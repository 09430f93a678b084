package ingest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// Files of some kilobytes that stand for gigabytes are refused before they are
// written anywhere.
func TestAmplification(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	sparse := `{"k0":1`
	for i := range 1_000 {
		sparse += `,"c` + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + `":1`
	}
	header := "c0"
	for i := range 500 {
		header += fmt.Sprintf(",c%d", i+1)
	}
	texts := l.parquet("texts.parquet", "SELECT repeat('x', 1000000) AS s FROM range(1100)")
	sources := map[string]ingest.Source{
		"a wide text, often": texts,
		"empty objects":      l.file("sparse.json", sparse+"}\n"+strings.Repeat("{}\n", 300_000)),
	}
	if fulltest.Full() {
		sources["a number, often"] = l.parquet("numbers.parquet", "SELECT "+strings.Repeat("1, ", 149)+"1 FROM range(1000000)")
		sources["binary data"] = l.parquet("binary.parquet", "SELECT repeat('x', 1000000)::BLOB AS s FROM range(1100)")
		// What gzip makes smaller does not count twice.
		sources["gzipped objects"] = l.file("sparse.json.gz", zipped(sparse[:strings.Index(sparse, `,"crxx"`)]+"}\n")+strings.Repeat(zipped(strings.Repeat("{}\n", 30_000)), 100))
		sources["gzipped CSV"] = l.file("sparse.csv.gz", zipped(header+"\n")+strings.Repeat(zipped(strings.Repeat("1"+strings.Repeat(",", 500)+"\n", 2_800)), 100))
		sources["gzipped padding"] = l.file("padded.parquet.gz", zipped(padded(t, texts)))
	}
	for name, source := range sources {
		info, err := os.Stat(source.Path)
		if err != nil || info.Size() > 2<<20 {
			t.Fatalf("%s: %d bytes, %v", name, info.Size(), err)
		}
		out := l.folder()
		_, err = l.run(ingest.Job{Sources: []ingest.Source{source}, OutDir: out})
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), source.Name+" is too large when decoded: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Each is small enough, all together are not.
	part := l.parquet("part.parquet", "SELECT repeat('x', 1000000) AS s FROM range(600)")
	if _, err := l.run(ingest.Job{Sources: []ingest.Source{part, part}}); err == nil || !strings.Contains(err.Error(), "is too large when decoded: 1.1 GiB") {
		t.Errorf("two together: %v", err)
	}
}

// Readers of XML hold a whole row or text in memory, with the spaces and comments around it.
func TestLongXML(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	plain := book(t, func(f *excelize.File) { sheet(f, "Sheet1", []any{"a", "b"}, []any{1, "x"}, []any{2, "y"}) })
	blank := strings.Repeat(" ", 17<<20)
	before := func(mark, text string) func(string) string {
		return func(s string) string { return strings.Replace(s, mark, text+mark, 1) }
	}
	const sheet1, texts = "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"
	for name, content := range map[string]string{
		"spaces after the rows.xlsx": rezip(t, plain, map[string]func(string) string{sheet1: before("</sheetData>", blank)}),
		"a comment.xlsx":             rezip(t, plain, map[string]func(string) string{sheet1: before("</sheetData>", "<!-- "+strings.Repeat("<row>", 7<<19)+" -->")}),
		"a long row.xlsx":            rezip(t, plain, map[string]func(string) string{sheet1: before("</row>", strings.Repeat(`<c s="1"></c>`, 3<<19))}),
		"shared texts.xlsx":          rezip(t, plain, map[string]func(string) string{texts: before("</sst>", blank)}),
		"a document.docx":            word(t, "<w:p><w:r><w:t>"+blank+"</w:t></w:r></w:p>"),
	} {
		_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file(name, content)}})
		if err == nil || !strings.Contains(refusal(t, err), " unpacks to too much: a row or text of it has more than 16777216 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// XML that is nested, refers to itself, or has values where none belong takes no more memory than
// other XML.
func TestHostileXML(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	const part = 2 << 20
	data := func(rows string) map[string]string {
		return map[string]string{"xl/workbook.xml": listOfOneBook, "xl/_rels/workbook.xml.rels": relationsOf("worksheet", "one.xml"),
			"xl/one.xml": "<worksheet><sheetData><row><c t=\"str\"><v>a</v></c></row>" + rows + "</sheetData></worksheet>"}
	}
	with := func(files map[string]string, name, content string) map[string]string {
		files[name] = content
		return files
	}
	var namespaces, attributes strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&namespaces, ` xmlns:n%d=""`, i)
		fmt.Fprintf(&attributes, ` a%d=""`, i)
	}
	text := "<t>" + strings.Repeat("x", part) + "</t>"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"namespaces":           {with(data(""), "xl/one.xml", strings.Repeat("<a"+namespaces.String()+">", 100)), "is damaged"},
		"attributes":           {data("<row" + attributes.String() + "/>"), "is damaged"},
		"depth":                {with(data(""), "xl/workbook.xml", strings.Repeat("<a>", 1000)), "is damaged"},
		"a cell without a row": {data("<c t=\"str\"><v>" + strings.Repeat("<![CDATA["+strings.Repeat("x", part)+"]]>", 9) + "</v></c>"), "unpacks to too much"},
		"a row within a row":   {data("<row><row/><c t=\"str\"><v>" + strings.Repeat("<![CDATA["+strings.Repeat("x", part)+"]]>", 9) + "</v></c></row>"), "unpacks to too much"},
		"a text within a text": {with(data(`<row><c t="s"><v>0</v></c></row>`), "xl/sharedStrings.xml", "<sst>"+strings.Repeat("<si>"+text, 9)+"</sst>"), "is damaged"},
		"one text, often":      {with(data("<row>"+strings.Repeat(`<c t="s"><v>0</v></c>`, 20)+"</row>"), "xl/sharedStrings.xml", "<sst><si>"+text+"</si></sst>"), "unpacks to too much"},
		"one sheet, often": {with(data(""), "xl/workbook.xml", `<workbook `+spreadsheet+`><sheets>`+strings.Repeat(`<sheet name="One" r:id="r0"/>`, 10_001)+`</sheets></workbook>`),
			"has more than 10000 sheets"},
		"rows that go back": {data(`<row r="5"/><row r="3"/>`), "is damaged"},
		"no relations":      {map[string]string{"xl/workbook.xml": listOfOneBook}, "is damaged"},
	} {
		_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.xlsx", bookOf(t, test.files))}})
		if err == nil || !strings.Contains(refusal(t, err), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// padded returns a Parquet file with zeros that nothing refers to, before its footer.
func padded(t *testing.T, source ingest.Source) string {
	t.Helper()
	content, err := os.ReadFile(source.Path)
	if err != nil {
		t.Fatal(err)
	}
	footer := len(content) - 8 - int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	return string(content[:footer]) + strings.Repeat("\x00", 8<<20) + string(content[footer:])
}

// A footer that says less than the file has is not believed.
func TestFooterLies(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const rows = 1_000_003
	source := l.parquet("honest.parquet", "SELECT 1 AS a, 2 AS b FROM range(1000003)")
	content, err := os.ReadFile(source.Path)
	if err != nil {
		t.Fatal(err)
	}
	// The footer is in Thrift's compact protocol: numbers are zigzag varints.
	size := int(binary.LittleEndian.Uint32(content[len(content)-8:]))
	footer := content[len(content)-8-size:]
	at := bytes.Index(footer, binary.AppendVarint(nil, rows))
	if at < 0 {
		t.Fatal("the footer has no number of rows")
	}
	copy(footer[at:], binary.AppendVarint(nil, 20_000)) // as many bytes
	path := filepath.Join(l.dir, "lie.parquet")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = l.run(ingest.Job{Sources: []ingest.Source{{Path: path, Name: "lie.parquet"}}})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("fewer rows: %v", err)
	}
}
