package near

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "abcd", 1},
		{"ca", "abc", 3}, {"größe", "grösse", 2}, {strings.Repeat("a", MaxRunes), strings.Repeat("b", MaxRunes), MaxRunes},
	} {
		if got := Distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%s, %s: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := IsOneEdit(c.a, c.b); got != (c.want == 1) {
			t.Errorf("%s, %s: one edit is %v", c.a, c.b, got)
		}
	}
}

func TestIsOneEditOfLongWords(t *testing.T) {
	t.Parallel()
	if long := strings.Repeat("a", MaxRunes); IsOneEdit(long, long+"b") {
		t.Error("a word is too long to compare")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	candidates := []string{"customer_id", "Customer", "total", "day", strings.Repeat("x", 200)}
	for name, want := range map[string]string{
		"costumer": "Customer", "customer": "Customer customer_id", "TOTAL ": "total", "dya": "day", "nothing": "", "": "",
		strings.Repeat("x", 200): "",
	} {
		if got := strings.Join(Names(name, candidates, 2), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
