package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

func TestText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Some words.\n", 200_000)
	for _, test := range []struct {
		name, content, want string
		wrong               string
	}{
		{name: "a.txt", content: "one\r\ntwo", want: "one\r\ntwo"},
		{name: "a.md", content: "\ufeff# é\n", want: "# é\n"},
		{name: "a.md.gz", content: gzipped(t, "# One\n"), want: "# One\n"},
		{name: "zipped.txt", content: gzipped(t, long), want: long},
		{name: "a.csv", content: "a,b\n1,2\n"},
		{name: "a.json", content: `[{"a":1}]`},
		{name: "page.html", content: "<h1>One</h1><p>Some words.</p>", want: "One\n\n\n\nSome words."},
		{name: "table.html", content: "<p>Words</p><table><tr><th>a</th></tr><tr><td>1</td></tr></table>"},
		{name: "empty.txt", content: " \n", wrong: "empty.txt is empty"},
		{name: "not.txt.gz", content: "plain", wrong: "not.txt.gz is not gzipped"},
		{name: "latin.txt", content: "caf\xe9", want: "café"},
		{name: "utf16.txt", content: "\xff\xfeh\x00i\x00", want: "hi"},
		{name: "wrong.txt", content: "é è\n\xff", wrong: "wrong.txt, line 2"},
		{name: "long.txt", content: strings.Repeat("x", 4<<20+1), wrong: "long.txt is longer than"},
		{name: "bomb.txt.gz", content: gzipped(t, strings.Repeat("x", 5<<20)), wrong: "bomb.txt.gz is longer than"},
		{name: "half.txt.gz", content: gzipped(t, long)[:3000], wrong: "half.txt.gz is damaged"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "source")
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		made, err := Text(t.Context(), Source{Path: path, Name: test.name}, domain.IngestOptions{}, dir, 4<<20)
		var text []byte
		if made != "" {
			text, _ = os.ReadFile(made)
		}
		switch {
		case test.wrong != "":
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s: %v", test.name, err)
			}
		case err != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(test.want):
			t.Errorf("%s: %.40q, %v", test.name, text, err)
		}
	}
	for name, want := range map[string]bool{"a.txt": true, "a.MD.gz": true, "a.pdf": true, "a.docx": true, "a.htm": true, "a.zip": true, "a": true, "a.csv": false, "a.json.gz": false, "a.xlsx": false} {
		if source.MayBeText(name) != want {
			t.Errorf("%s: may be text: %v", name, !want)
		}
	}
}

func FuzzSplitProse(f *testing.F) {
	f.Add("one\n\ntwo three é four", 8)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < utf8.UTFMax || size > 1<<20 || !utf8.ValidString(text) {
			return
		}
		var whole strings.Builder
		for _, piece := range SplitProse(text, size) {
			if len(piece) > size || !utf8.ValidString(piece) {
				t.Errorf("a piece of %d bytes: %q", len(piece), piece)
			}
			whole.WriteString(piece)
		}
		if strings.TrimSpace(whole.String()) != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, whole.String())
		}
	})
}
