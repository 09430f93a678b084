package ingest_test

import (
	"strings"
	"testing"

	"parley/internal/domain"
)

func TestHTMLTables(t *testing.T) {
	t.Parallel()
	l := setup(t)
	const content = `<!DOCTYPE html><html><head><title>x</title><style>td { color: red }</style></head><body>
<h2>Cities of <b>Europe</b></h2>
<table><tr><th>city<th>people &amp; pets<tr><td>Oslo<td> 700000 <script>1</script><tr><td>Bonn<br>am Rhein<td>300000</table>
<table><caption>Visits</caption><thead><tr><th rowspan=2>land</th><th colspan=2>2024</th></tr><tr><th>Q1</th><th>Q2</th></tr></thead>
<tbody><tr><td rowspan="2">NO</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr><tr><td>DE</td><td>5</td><td>6</td></tr></tbody></table>
<table><tr><td><table id=inner><tr><td>a</td></tr><tr><td>1</td></tr></table></td></tr></table>
<table><tr><td>only one row</td></tr></table>
</body></html>`
	source := l.file("page.html", content)
	if got, want := l.parts(source), "Cities of Europe, Visits, inner"; got != want {
		t.Errorf("parts: got %s, want %s", got, want)
	}
	l.readsPart(source, "cities of europe", "city VARCHAR, people & pets BIGINT", `{"city":"Oslo","people & pets":700000}`+"\n"+`{"city":"Bonn\nam Rhein","people & pets":300000}`)
	l.readsPart(source, "Visits", "land VARCHAR, 2024 Q1 BIGINT, 2024 Q2 BIGINT",
		`{"land":"NO","2024 Q1":1,"2024 Q2":2}`+"\n"+`{"land":"NO","2024 Q1":3,"2024 Q2":4}`+"\n"+`{"land":"DE","2024 Q1":5,"2024 Q2":6}`)
	l.readsPart(source, "inner", "a BIGINT", `{"a":1}`)
	l.refuses(source, domain.IngestOptions{}, "page.html holds 3 tables: Cities of Europe, Visits, inner; choose one")
	l.readsPart(l.file("export.xls", "<table><tr><td>a</td></tr><tr><td>1</td></tr></table>"), "", "a BIGINT", `{"a":1}`)
	l.readsPart(l.file("latin.html", "<html><meta charset=iso-8859-1><table><tr><td>a</td></tr><tr><td>caf\xe9</td></tr></table>"), "", "a VARCHAR", `{"a":"café"}`)
}

func TestHTMLText(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.readsPart(l.file("page.html", `<html><head><title>no</title></head><body><h1>Title</h1><p>One <b>bold</b>
	word.</p><script>no()</script><ul><li>first<li>second</ul><!-- no --><noscript>no</noscript></body></html>`), "",
		"document VARCHAR, passage BIGINT, text VARCHAR", `{"document":"page.html","passage":1,"text":"Title\n\n\n\nOne bold word.\n\n\n\n\nfirst\nsecond"}`)
	l.refuses(l.file("empty.html", "<html><head><title>x</title></head><body></body></html>"), domain.IngestOptions{}, "empty.html holds no table and no text")
}

// What an attribute hides is not read, also where the end of an element is left out.
func TestHTMLHidden(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.readsPart(l.file("page.html", `<html><body style="visibility:hidden"><p>One<p hidden>no <b>no</b><p>two<div style="color: red; DISPLAY : none !important">no<div>no</div><br>no</div>
<span style="visibility:hidden">no</span><input hidden>three<ul><li>four<li hidden>no<ul><li>no</ul>no<li>five<li hidden>no</ul>six</body></html>`), "",
		"document VARCHAR, passage BIGINT, text VARCHAR", `{"document":"page.html","passage":1,"text":"One\n\ntwo three\n\n\nfour\nfive\n\nsix"}`)
	l.readsPart(l.file("table.html", `<table hidden><tr><td>no<tr><td>1</table><table><tr><th>a<th style="display:none">no<th>b<tr><td>1<td style="display:none">2<td>3
<tr hidden><td>no<td>no<tr><td>4<td style="display:none"><table><tr><td>no</table>5<td>6<span hidden>7</span></table>`), "",
		"a BIGINT, b BIGINT", `{"a":1,"b":3}`+"\n"+`{"a":4,"b":6}`)
}

func TestHTMLRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, content, want string }{
		{"nested deeply", strings.Repeat("<table><tr><td>", 100), "x.html: more than 32 tables are nested"},
		{"many cells", "<table>" + strings.Repeat("<tr><td colspan=2000>x", 2001), "x.html has more than 4000000 cells in tables, the limit for HTML files"},
		{"a long tag", "<html><a href='" + strings.Repeat("x", 17<<20) + "'>", "x.html: a tag or a text is longer than 16777216 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			l.refuses(l.file("x.html", test.content), domain.IngestOptions{}, test.want)
		})
	}
}
