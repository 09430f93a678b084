package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/storage"
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
	l.refuses(l.file("scan.pdf", pdf(nil)), storage.IngestOptions{},
		"scan.pdf holds no text: its pages are images; use text recognition (OCR) and send the result")
	l.refuses(l.file("cut.pdf", "%PDF-1.4\nxyz"), storage.IngestOptions{},
		"cut.pdf is damaged: it cannot be read to its end; open it in the program that wrote it, save it again and send that")
}
