package ingest_test

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"fmt"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// pdf makes a PDF file of pages of lines.
func pdf(pages ...[]string) string {
	var kids []string
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	for _, lines := range pages {
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)+1))
		var text strings.Builder
		text.WriteString("BT /F1 12 Tf 72 720 Td 14 TL ")
		for _, line := range lines {
			fmt.Fprintf(&text, "(%s) Tj T* ", line)
		}
		text.WriteString("ET")
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>", len(objects)+2),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(pages))
	return pdfOf(objects...)
}

// pdfOf makes a PDF file of objects, of which the first is the catalog.
func pdfOf(objects ...string) string {
	var out, offsets strings.Builder
	out.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		fmt.Fprintf(&offsets, "%010d 00000 n \n", out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n",
		len(objects)+1, offsets.String(), len(objects)+1, start)
	return out.String()
}

func TestPDF(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	source := l.file("report.pdf", pdf([]string{"Hello world.", "Second line."}, []string{"Page two."}))
	l.readsPart(source, "", "document VARCHAR, passage BIGINT, text VARCHAR",
		`{"document":"report.pdf","passage":1,"text":"Hello world.\nSecond line.\n\nPage two."}`)
	l.refuses(l.file("scan.pdf", pdf(nil)), domain.IngestOptions{},
		"scan.pdf holds no text: its pages are images; use text recognition (OCR) and send the result")
	l.refuses(l.file("cut.pdf", "%PDF-1.4\nxyz"), domain.IngestOptions{},
		"cut.pdf is damaged: it cannot be read to its end; open it in the program that wrote it, save it again and send that")
}

// pages are the objects of a file with two pages, whose contents are those of objects 5 and 6.
func pages(first, second string) []string {
	page := "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources << /Font << /F1 7 0 R >> >> >>"
	return []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>", fmt.Sprintf(page, 5), fmt.Sprintf(page, 6),
		first, second, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}
}

func stream(entries, data string) string {
	return fmt.Sprintf("<< /Length %d%s >>\nstream\n%s\nendstream", len(data), entries, data)
}

// deflate packs the text of a page.
func deflate(text string) string {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	fmt.Fprint(w, "BT /F1 12 Tf 72 720 Td 14 TL ")
	for i := range 40 {
		fmt.Fprintf(w, "(%s line %d) Tj T* ", text, i)
	}
	fmt.Fprint(w, "ET")
	must(w.Close())
	return out.String()
}

// TestDamagedPDF refuses files of which PDFium would read a part.
func TestDamagedPDF(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	const flate = " /Filter /FlateDecode"
	one, two := stream(flate, deflate("one")), deflate("two")
	flip := func(at int, bits byte) string { return two[:at] + string([]byte{two[at] ^ bits}) + two[at+1:] }
	for name, test := range map[string]struct{ second, want string }{
		"cut.pdf":      {stream(flate, two[:len(two)/2]), "cannot be unpacked to its end"},
		"inverted.pdf": {stream(flate, flip(60, 255)), "cannot be unpacked to its end"},
		"header.pdf":   {stream(flate, flip(0, 1)), "cannot be unpacked to its end"},
		"sum.pdf":      {stream(flate, flip(len(two)-1, 1)), "does not match its checksum"},
		"filter.pdf":   {stream(" /Filter /NopeDecode", two), "is packed in an unknown way"},
		"null.pdf":     {"null", "is missing"},
	} {
		l.refuses(l.file(name, pdfOf(pages(one, test.second)...)), domain.IngestOptions{},
			name+" is damaged: content of its pages (object 6) "+test.want+"; open it in the program that wrote it, save it again and send that")
	}
	image := stream(" /Type /XObject /Subtype /Image /Width 9 /Height 9 /ColorSpace /DeviceGray /BitsPerComponent 8"+flate, "damaged")
	var ascii bytes.Buffer
	w := ascii85.NewEncoder(&ascii)
	fmt.Fprint(w, two)
	must(w.Close())
	for name, objects := range map[string][]string{
		"whole.pdf":         pages(one, stream(flate, two)),
		"after.pdf":         pages(one, stream(flate, two+"\r\n more bytes")),
		"no sum.pdf":        pages(one, stream(flate, two[:len(two)-4])),
		"half a sum.pdf":    pages(one, stream(flate, two[:len(two)-2])),
		"sums.pdf":          pages(stream(flate, deflate("one")[:len(deflate("one"))-4]+"\x00\x00\x00\x00"), stream(flate, two[:len(two)-4]+"\x00\x00\x00\x00")),
		"length.pdf":        append(pages(one, strings.Replace(stream(flate, two), fmt.Sprint("/Length ", len(two)), "/Length 8 0 R", 1)), fmt.Sprint(len(two))),
		"wrong length.pdf":  pages(one, strings.Replace(stream(flate, two), fmt.Sprint("/Length ", len(two)), "/Length 50", 1)),
		"ascii.pdf":         pages(one, stream(" /Filter [ /ASCII85Decode /FlateDecode ]", ascii.String()+"~>")),
		"damaged image.pdf": append(pages(one, stream(flate, two)), image),
		"array.pdf":         append(pages(one, "[ 8 0 R ]"), stream(flate, two)),
	} {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, pdfOf(objects...))}})
		if got := strings.Count(l.rows(result.Columns, result), "two line"); got != 40 {
			t.Errorf("%s: %d lines of the second page", name, got)
		}
	}
}

// cells is a line of [pdf] whose cells begin 120 points apart.
func cells(texts ...string) string {
	return strings.Join(texts, ") Tj 120 0 Td (") + fmt.Sprintf(") Tj -%d 0 Td (", 120*(len(texts)-1))
}

// The tables of a PDF file are parts beside its text: also one that goes on on the next page, with its
// header again, and one with values of several lines. Text in two columns is no table.
func TestPDFTables(t *testing.T) {
	t.Parallel()
	skipRaced(t)
	l := setup(t)
	prose := make([]string, 12)
	for i := range prose {
		prose[i] = strings.Join([]string{"the garden was so quiet", "and all of it asleep"}, ") Tj 160 0 Td (") + ") Tj -160 0 Td ("
	}
	source := l.file("report.pdf", pdf(
		append([]string{"This report has tables.", "", "Sales by region", cells("Region", "Orders", "Growth"), cells("North", "587", "8.5"), cells("South", "36", "-2"), cells("Far", "7", "0"), "", "", ""},
			cells("Name", "Office", "Since"), cells("Anna Lang", "Berlin", "2020-03-18"), cells("Dirk Koch", "", "2021-11-02"), cells("Eva Meier", "Bonn, at the", "2019-01-30"), cells("", "old market")),
		append([]string{cells("Name", "Office", "Since"), cells("Ben Schulz", "Bonn", "2018-05-04"), cells("Carla Lang", "Berlin", "2017-06-07"), "", "", ""}, prose...)))
	names, err := ingest.Parts(t.Context(), source, t.TempDir())
	if got := strings.Join(names, ", "); err != nil || got != "text, Sales by region, page 1" {
		t.Errorf("parts %s, %v", got, err)
	}
	l.readsPart(source, "Sales by region", "Region VARCHAR, Orders BIGINT, Growth DOUBLE",
		`{"Region":"North","Orders":587,"Growth":8.5}
{"Region":"South","Orders":36,"Growth":-2.0}
{"Region":"Far","Orders":7,"Growth":0.0}`)
	l.readsPart(source, "page 1", "Name VARCHAR, Office VARCHAR, Since DATE",
		`{"Name":"Anna Lang","Office":"Berlin","Since":"2020-03-18"}
{"Name":"Dirk Koch","Office":null,"Since":"2021-11-02"}
{"Name":"Eva Meier","Office":"Bonn, at the old market","Since":"2019-01-30"}
{"Name":"Ben Schulz","Office":"Bonn","Since":"2018-05-04"}
{"Name":"Carla Lang","Office":"Berlin","Since":"2017-06-07"}`)
	made, err := l.run(ingest.Job{Sources: []ingest.Source{source}})
	if err != nil || made.Rows != 1 || len(made.Report.Warnings) != 1 || !strings.Contains(made.Report.Warnings[0].Message, "Sales by region, page 1; choose one") {
		t.Errorf("the text: %d rows, %+v, %v", made.Rows, made.Report.Warnings, err)
	}
}
