package ingest_test

import (
	"strings"
	"testing"

	"parley/storage/datasets/ingest"
)

func TestFormatsRefused(t *testing.T) {
	t.Parallel()
	const known = "CSV (.csv), TSV (.tsv), JSON (.json, .geojson, .ndjson, .jsonl), Parquet (.parquet), Excel (.xlsx), HTML (.html), Word (.docx), PDF (.pdf), SQLite (.sqlite, .db), text (.txt) and Markdown (.md) can be read, " +
		"each also gzipped (.gz) or in a ZIP archive (.zip)"
	const again = "it cannot be read to its end; open it in the program that wrote it, save it again and send that"
	for _, test := range []struct{ name, file, content, want string }{
		{"Parquet in a CSV", "x.csv", "PAR1\x15\x04\x15", `x.csv is a Parquet file; name it .parquet`},
		{"CSV in a Parquet", "x.parquet", "a,b\n1,2\n", `x.parquet is not a Parquet file`},
		{"damaged Parquet", "x.parquet", "PAR1 and nothing else PAR1", `x.parquet is damaged, or not a Parquet file that can be read`},
		{"an unknown name", "x.dat", "a,b\n1,2\n", `x.dat: its name does not tell its format; ` + known},
		{"no name", "", "a,b\n1,2\n", `: its name does not tell its format; ` + known},
		{"a spreadsheet", "x.xlsx", "PK\x03\x04\x14\x00\x06\x00", `x.xlsx is damaged: ` + again},
		{"a spreadsheet as CSV", "x.csv", "PK\x03\x04\x14\x00\x06\x00", `x.csv is damaged: ` + again},
		{"text as a spreadsheet", "x.xlsx", "a,b\n1,2\n", `x.xlsx is not a .xlsx file, although its name says so`},
		{"an old spreadsheet", "x.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", `x.xls is an Excel file of the format before 2007; open it in Excel, save it as .xlsx and send that`},
		{"an encrypted spreadsheet", "x.xlsx", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", `x.xlsx is encrypted; remove its password (in Excel: File, Info, Protect Workbook), save it and send it again`},
		{"an old document", "x.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", `x.doc is an Office document of the format before 2007; save it in the current format (.xlsx, .docx) and send that`},
		{"a damaged PDF as text", "x.txt", "%PDF-1.7\n", `x.txt is damaged: ` + again},
		{"text as a PDF", "x.pdf", "text", `x.pdf is not a PDF file`},
		{"an image as text", "x.txt", "\x89PNG\r\n\x1a\n\x00\x00", `x.txt is an image; ` + known},
		{"binary", "x.csv", "a,b\n\x00\x01\x02\n", `x.csv holds binary data, not text; ` + known},
		{"damaged UTF-8 text", "x.txt", "é\nè\ncaf\xe9\n", `x.txt, line 3: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8`},
		{"empty text", "x.txt", "\n  \n", `x.txt is empty`},
		{"empty Parquet", "x.parquet", "", `x.parquet is empty`},
		{"nothing but a mark", "x.json", "\xef\xbb\xbf", `x.json is empty`},
		{"not gzipped", "x.csv.gz", "a,b\n1,2\n", `x.csv.gz is not gzipped, although its name says so`},
		{"empty gzipped", "x.csv.gz", zipped(""), `x.csv.gz is empty`},
		{"empty under the name of gzip", "x.csv.gz", "", `x.csv.gz is empty`},
		{"damaged gzip", "x.csv.gz", zipped(strings.Repeat("a,b\n", 10_000))[:60], `x.csv.gz is damaged: it cannot be unpacked completely`},
		{"gzip with a broken head", "x.csv.gz", "\x1f\x8b\x08", `x.csv.gz is not a complete gzip file`},
		{"gzip bomb", "x.csv.gz", zipped("a\n" + strings.Repeat("0\n", 600_000)), `x.csv.gz unpacks to more than 1000000 bytes, the limit`},
		{"gzip in gzip", "x.csv.gz", zipped(zipped("a\n1\n")), `x.csv.gz is gzipped twice; ` + known},
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

func TestText(t *testing.T) {
	t.Parallel()
	l := setup(t)
	result := l.mustRun(ingest.Job{Sources: []ingest.Source{
		l.file("notes.md", "\xef\xbb\xbf# One\n\nFirst.\n\nSecond.\n## Two\n\n```\n# no heading\n```\n"),
		l.file("plain.txt", "# no heading\n\nText "+strings.Repeat("word ", 500)+"\n"),
	}})
	if got, want := types(result.Columns), "document VARCHAR, passage BIGINT, text VARCHAR"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	rows := strings.Split(l.rows(result.Columns, result), "\n")
	want := []string{
		`{"document":"notes.md","passage":1,"text":"# One\n\nFirst.\n\nSecond."}`,
		"{\"document\":\"notes.md\",\"passage\":2,\"text\":\"## Two\\n\\n```\\n# no heading\\n```\"}",
		`{"document":"plain.txt","passage":1,"text":"# no heading"}`,
		`{"document":"plain.txt","passage":2,"text":"Text ` + strings.TrimSpace(strings.Repeat("word ", 349)) + `"}`,
		`{"document":"plain.txt","passage":3,"text":"` + strings.TrimSpace(strings.Repeat("word ", 151)) + `"}`,
	}
	if got := strings.Join(rows, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// JSON is known by its content where the name says CSV.
func TestJSONNamedCSV(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for name, content := range map[string]string{"x.csv": `[{"a":1},{"a":2}]`, "x.tsv": "{\"a\":1}\n{\"a\":2}"} {
		result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(name, content)}})
		if got, want := warnings(result), name+" holds JSON, and is read so"; got != want {
			t.Errorf("warnings: got %s, want %s", got, want)
		}
		if got, want := l.rows(result.Columns, result), `{"a":1}`+"\n"+`{"a":2}`; got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
