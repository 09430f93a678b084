package agents

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 10, ""}, {"  as it is\n", 8, "as it is"}, {"0123456789", 10, "0123456789"}, {"0123456789A", 10, "0123456…"},
		{"a\x00b\xffc", 10, "ab\uFFFDc"}, {"ééééé", 9, "ééé…"}, {"\xff\xff\xff\xff\xff", 5, "\uFFFD"},
		{strings.Repeat("\x00", 20), 10, "…"}, {"a\xffb\xffc", 6, "a…"},
	} {
		if got := clean(c.text, c.limit); got != c.want {
			t.Errorf("clean(%q, %d) = %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	if got := oneLine(" two\r\n\tlines ", 100); got != "two lines" {
		t.Errorf("oneLine gives %q", got)
	}
	if got := oneLine("12\u202f345\u00a0rows", 100); got != "12\u202f345 rows" {
		t.Errorf("oneLine gives %q", got)
	}
	for text, want := range map[string]string{"": "", "So": "So.", "So!": "So!", "So…": "So…", "é": "é."} {
		if got := sentence(text); got != want {
			t.Errorf("sentence(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain", 3)
	f.Add("\x00\xffé", 4)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + (limit&0xff+0x100)&0xff
		got := clean(text, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsRune(got, 0) {
			t.Errorf("clean(%q, %d) = %q", text, limit, got)
		}
		if again := clean(got, limit); again != got {
			t.Errorf("clean(%q, %d) = %q, and then %q", text, limit, got, again)
		}
	})
}
