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

	"parley/storage"
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

func TestReadProse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Some words.\n", 200_000)
	for _, test := range []struct {
		name, content, want string
		ok                  bool
		wrong               string
	}{
		{name: "a.txt", content: "one\r\ntwo", want: "one\r\ntwo", ok: true},
		{name: "a.md", content: byteOrderMark + "# é\n", want: "# é\n", ok: true},
		{name: "a.md.gz", content: gzipped(t, "# One\n"), want: "# One\n", ok: true},
		{name: "zipped.txt", content: gzipped(t, long), want: long, ok: true},
		{name: "a.csv", content: "a,b\n1,2\n"},
		{name: "a.json", content: `[{"a":1}]`},
		{name: "empty.txt", content: " \n"},
		{name: "not.txt.gz", content: "plain"},
		{name: "a.txt", content: "%PDF-1.7 and more"},
		{name: "latin.txt", content: "caf\xe9", want: "café", ok: true},
		{name: "utf16.txt", content: "\xff\xfeh\x00i\x00", want: "hi", ok: true},
		{name: "wrong.txt", content: "é è\n\xff", ok: true, wrong: "wrong.txt, line 2"},
		{name: "long.txt", content: strings.Repeat("x", 4<<20+1), ok: true, wrong: "long.txt is longer than"},
		{name: "bomb.txt.gz", content: gzipped(t, strings.Repeat("x", 5<<20)), ok: true, wrong: "bomb.txt.gz is longer than"},
		{name: "half.txt.gz", content: gzipped(t, long)[:3000], ok: true, wrong: "half.txt.gz is damaged"},
	} {
		path := filepath.Join(t.TempDir(), "source")
		if err := os.WriteFile(path, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		text, ok, err := ReadProse(t.Context(), Source{Path: path, Name: test.name}, 4<<20)
		switch {
		case test.wrong != "":
			if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s: %v", test.name, err)
			}
		case err != nil || ok != test.ok || text != test.want:
			t.Errorf("%s: %.40q, %v, %v", test.name, text, ok, err)
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
