package ingest_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// inUTF16 encodes a text, the high byte first or last.
func inUTF16(text string, bigEndian bool) string {
	var out []byte
	for _, u := range utf16.Encode([]rune(text)) {
		if bigEndian {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return string(out)
}

// inLatin1 encodes a text whose characters are in Latin-1.
func inLatin1(text string) string {
	var out []byte
	for _, r := range text {
		out = append(out, byte(r))
	}
	return string(out)
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	const csv = "id,größe\n1,café\n2,😀\n"
	const latin = "id,größe\n1,café\n2,naïve\n"
	csvRows := `{"id":1,"größe":"café"}` + "\n" + `{"id":2,"größe":"😀"}`
	latinRows := `{"id":1,"größe":"café"}` + "\n" + `{"id":2,"größe":"naïve"}`
	far := "id,größe\n" + strings.Repeat("1,x\n", 600_000) + "2,é\n"
	for _, test := range []struct{ name, file, content, option, encoding, rows string }{
		{"UTF-8", "x.csv", csv, "", "utf-8", csvRows},
		{"UTF-8 with a mark", "x.csv", "\ufeff" + csv, "", "utf-8", csvRows},
		{"UTF-16 with a mark", "x.csv", inUTF16("\ufeff"+csv, false), "", "utf-16", csvRows},
		{"UTF-16 with a mark, high byte first", "x.csv", inUTF16("\ufeff"+csv, true), "", "utf-16", csvRows},
		{"UTF-16 without", "x.csv", inUTF16(csv, false), "", "utf-16", csvRows},
		{"UTF-16 without, high byte first", "x.csv", inUTF16(csv, true), "", "utf-16", csvRows},
		{"UTF-16, gzipped", "x.tsv.gz", zipped(inUTF16("\ufeff"+strings.ReplaceAll(csv, ",", "\t"), false)), "", "utf-16", csvRows},
		{"UTF-16 by option", "x.csv", inUTF16(csv, false), "utf-16", "utf-16", csvRows},
		{"Latin-1", "x.csv", inLatin1(latin), "", "windows-1252", latinRows},
		{"Latin-1 by option", "x.csv", inLatin1(latin), "windows-1252", "windows-1252", latinRows},
		{"Latin-1, gzipped", "x.csv.gz", zipped(inLatin1(latin)), "", "windows-1252", latinRows},
		{"Windows-1252", "x.csv", "a,b\n\x80,\x93x\x94\n", "", "windows-1252", `{"a":"€","b":"“x”"}`},
		{"Latin-1 in JSON", "x.json", inLatin1(`[{"größe":"café"}]`), "", "windows-1252", `{"größe":"café"}`},
		{"UTF-16 in JSON", "x.ndjson", inUTF16("\ufeff{\"a\":\"é\"}\n{\"a\":\"😀\"}\n", false), "", "utf-16", `{"a":"é"}` + "\n" + `{"a":"😀"}`},
		{"Latin-1 in text", "x.txt", inLatin1("café\n"), "", "windows-1252", `{"document":"x.txt","passage":1,"text":"café"}`},
		{"UTF-16 in text", "x.md", inUTF16("\ufeff# café\n", true), "", "utf-16", `{"document":"x.md","passage":1,"text":"# café"}`},
		{"CR alone", "x.csv", "a,b\r1,\"x\ry\"\r3,4\r", "", "utf-8", `{"a":1,"b":"x\ny"}` + "\n" + `{"a":3,"b":"4"}`},
		{"CR alone in Latin-1", "x.csv", "a,b\r1,\xe9\r", "", "windows-1252", `{"a":1,"b":"é"}`},
		{"CR alone in text", "x.txt", "one\r\rtwo\r", "", "utf-8", `{"document":"x.txt","passage":1,"text":"one\n\ntwo"}`},
		{"Latin-1 far down", "x.csv", inLatin1(far), "", "windows-1252", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			result := l.mustRun(ingest.Job{Sources: []ingest.Source{l.file(test.file, test.content)}, Options: domain.IngestOptions{Encoding: test.option}})
			if got := result.Report.Encoding; got != test.encoding {
				t.Errorf("got %s, want %s", got, test.encoding)
			}
			if got := l.rows(result.Columns, result); test.rows != "" && got != test.rows {
				t.Errorf("got\n%s\nwant\n%s", got, test.rows)
			}
			if test.rows == "" && result.Rows != 600_001 {
				t.Errorf("got %d rows", result.Rows)
			}
		})
	}
}
