package ingest_test

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// archive makes a ZIP archive of pairs of names and contents.
func archive(t testing.TB, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		must(err)
	}
	must(w.Close())
	return out.String()
}

func TestArchive(t *testing.T) {
	t.Parallel()
	l := setup(t)
	workbook := book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"a"}, []any{1})
		sheet(f, "Two", []any{"b"}, []any{2})
	})
	source := l.file("data.zip", archive(t, "x/orders.csv", "id\n1\n", "README.md", "# Read me", "__MACOSX/._orders.csv", "x", ".DS_Store", "x", "logo.png", "x",
		"book.xlsx", workbook, "more/orders.json", `[{"id":2}]`, "packed.tsv.gz", zipped("p\tq\n1\t2\n")))
	if got, want := l.parts(source), "orders, book Sheet1, book Two, orders 2, packed"; got != want {
		t.Errorf("parts: got %s, want %s", got, want)
	}
	result := l.readsPart(source, "orders.csv", "id BIGINT", `{"id":1}`)
	if got, want := warnings(result), "data.zip: not read, since their names do not say what they are: logo.png\n"+
		"data.zip: texts beside tables are not read unless they are chosen: README"; got != want {
		t.Errorf("warnings: got %s, want %s", got, want)
	}
	l.readsPart(source, "Book Two", "b BIGINT", `{"b":2}`)
	l.readsPart(source, "packed", "p BIGINT, q BIGINT", `{"p":1,"q":2}`)
	l.readsPart(source, "readme", "document VARCHAR, passage BIGINT, text VARCHAR", `{"document":"README.md","passage":1,"text":"# Read me"}`)
	l.refuses(source, domain.IngestOptions{}, "data.zip holds 5 tables: orders, book Sheet1, book Two, orders 2, packed; choose one")
	l.readsPart(l.file("one.zip", archive(t, "a.csv", "a\n1\n", "a.txt", "about it")), "", "a BIGINT", `{"a":1}`)
	l.readsPart(l.file("book.zip", archive(t, "book.xlsx", workbook)), "two", "b BIGINT", `{"b":2}`)
	l.readsPart(l.file("texts.zip", archive(t, "a.txt", "One.", "b.md", "Two.")), "", "document VARCHAR, passage BIGINT, text VARCHAR",
		`{"document":"a.txt","passage":1,"text":"One."}`+"\n"+`{"document":"b.md","passage":1,"text":"Two."}`)
	l.readsPart(l.file("book.xlsx.gz", zipped(workbook)), "Two", "b BIGINT", `{"b":2}`)
}

// A file of an archive that cannot be read is named.
func TestArchiveWarnings(t *testing.T) {
	t.Parallel()
	l := setup(t)
	source := l.file("x.zip", archive(t, "a.csv", "a\n1\n", "README.md", "text", "b.txt", "text", "empty.csv", "", "b.xlsx", "no workbook", "inner.zip", archive(t, "c.csv", "c\n1\n")))
	result := l.readsPart(source, "", "a BIGINT", `{"a":1}`)
	if got, want := warnings(result), "not read: empty.csv is empty\nnot read: b.xlsx is not a .xlsx file, although its name says so\nnot read: inner.zip is a ZIP archive within another; send it by itself\n"+
		"x.zip: texts beside tables are not read unless they are chosen: README, b"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestArchiveRefused(t *testing.T) {
	t.Parallel()
	whole := archive(t, "a.csv", "a\n"+strings.Repeat("hello\n", 1000))
	damaged := strings.Replace(whole, "\n", "x", 1)
	encrypted := []byte(whole)
	encrypted[6] |= 1
	encrypted[bytes.Index(encrypted, []byte("PK\x01\x02"))+8] |= 1
	for _, test := range []struct{ name, content, want string }{
		{"cut off", whole[:len(whole)-30], "x.zip is damaged: it cannot be read to its end; open it in the program that wrote it, save it again and send that"},
		{"damaged", damaged[:40] + "\x00\x00\x00\x00" + damaged[44:], "x.zip is damaged: a.csv cannot be unpacked completely"},
		{"encrypted", string(encrypted), "x.zip is encrypted; pack its files without a password and send it again"},
		{"in another", archive(t, "x.zip", archive(t, "a.csv", "a\n1\n")), "x.zip is a ZIP archive within another; send it by itself"},
		{"a bomb", archive(t, "a.csv", "a\n"+strings.Repeat("0\n", 600_000)), "x.zip unpacks to more than 1000000 bytes, the limit"},
		{"a bomb of files", archive(t, "a.csv", strings.Repeat("0\n", 300_000), "b.csv", strings.Repeat("0\n", 300_000)), "x.zip unpacks to more than 1000000 bytes, the limit"},
		{"empty", archive(t), "x.zip holds no file that can be read; "},
		{"nothing known", archive(t, "a.exe", "x"), "x.zip holds no file that can be read; "},
		{"an OpenDocument", archive(t, "mimetype", "x", "content.xml", "<x/>"), "x.zip is an OpenDocument file; save it as .xlsx, .docx or .csv and send that"},
		{"a wrong file", archive(t, "a.csv", "a,b\n1\n"), "x.zip (a.csv), line 2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			_, err := l.run(ingest.Job{Sources: []ingest.Source{l.file("x.zip", test.content)}, MaxUnpacked: 1_000_000})
			got := refusal(t, err)
			if strings.HasSuffix(test.want, " ") {
				got = got[:min(len(got), len(test.want))]
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
