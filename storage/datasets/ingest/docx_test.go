package ingest_test

import (
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// word makes a document with a body.
func word(t testing.TB, body string) string {
	t.Helper()
	return archive(t, "[Content_Types].xml", "<Types/>", "word/document.xml",
		`<?xml version="1.0"?><w:document xmlns:w="w" xmlns:mc="mc"><w:body>`+body+`</w:body></w:document>`)
}

func TestDocument(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.file("report.docx", word(t, `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p>
<w:p><w:pPr><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t xml:space="preserve">Some </w:t></w:r><w:r><w:t>text</w:t><w:tab/><w:t>&amp; more.</w:t><w:br/><w:t>Line.</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
<w:p><w:pPr><w:pStyle w:val="Heading2"/></w:pPr><w:r><w:t>Two</w:t></w:r></w:p><w:p><w:r><w:t>End.</w:t></w:r></w:p>`))
	l.readsPart(source, "", "document VARCHAR, passage BIGINT, text VARCHAR",
		`{"document":"report.docx","passage":1,"text":"# One\n\nSome text\t& more.\nLine.\n\na \tb"}`+"\n"+
			`{"document":"report.docx","passage":2,"text":"## Two\n\nEnd."}`)
}

func TestDocumentRefused(t *testing.T) {
	t.Parallel()
	const again = "it cannot be read to its end; open it in the program that wrote it, save it again and send that"
	for _, test := range []struct{ name, content, want string }{
		{"no text", word(t, "<w:p/>"), "x.docx holds no table and no text"},
		{"not XML", word(t, "<w:p>"), "x.docx is damaged: " + again},
		{"nested deeply", word(t, strings.Repeat("<w:p>", 300)+strings.Repeat("</w:p>", 300)), "x.docx is damaged: " + again},
		{"no body", archive(t, "[Content_Types].xml", "<Types/>", "word/x.xml", "<x/>"), "x.docx is damaged: " + again},
		{"a bomb", word(t, "<w:p><w:r><w:t>"+strings.Repeat("x", 1_000_000)+"</w:t></w:r></w:p>"), "x.docx unpacks to more than 1000000 bytes, the limit"},
		{"a presentation", archive(t, "[Content_Types].xml", "<Types/>", "ppt/presentation.xml", "<x/>"), "x.docx is a presentation; save its text as .txt and send that"},
		{"text", "just text", "x.docx is not a .docx file, although its name says so"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.docx", test.content)}, MaxUnpacked: 1_000_000, Options: domain.IngestOptions{}})
			if got := refusal(t, err); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
