package match

import (
	"math"
	"strings"
	"testing"
)

func score(text, words string) float64 {
	var m Matcher
	m.SetWords(words)
	return m.Score(text)
}

func TestMatcher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, words string
		least, most float64
	}{
		{"The quick brown fox", "quick fox", 1, 1},
		{"The QUICK brown FOX", "Quick, fox!", 1, 1},
		{"Crème brûlée", "creme brulee", 1, 1},
		{"creme brulee", "Crème BRÛLÉE", 1, 1},
		{"Straße in Łódź", "strasse lodz", 1, 1},
		{"many foxes and parties", "fox party", 1, 1},
		{"one box, one class", "boxes classes", 1, 1},
		{"restaurant", "restuarant", 0.8, 0.99},
		{"accommodation", "acomodation", 0.7, 0.99},
		{"international", "intern", 0.7, 0.9},
		{"quick brown", "quick fox", 0.5, 0.5},
		{"something else", "quick fox", 0, 0},
		{"cat", "car", 0, 0},
		{"日本語の本", "本", 1, 1},
		{"", "x", 0, 0},
		{"x", "", 0, 0},
		{"x", "!?", 0, 0},
		{strings.Repeat("x", 100), strings.Repeat("x", 100), 1, 1},
	} {
		if got := score(c.text, c.words); got < c.least || got > c.most {
			t.Errorf("%q in %q: %v, want %v to %v", c.words, c.text, got, c.least, c.most)
		}
	}
}

func FuzzMatcher(f *testing.F) {
	f.Add("The quick brown fox", "fox")
	f.Add("Crème brûlée \xff", "\xfe é")
	f.Add("日本語", "本")
	f.Fuzz(func(t *testing.T, text, words string) {
		s := score(text, words)
		if math.IsNaN(s) || s < 0 || s > 1 {
			t.Errorf("score %v", s)
		}
		var m Matcher
		m.SetWords(words)
		for _, n := range m.Count(text) {
			if math.IsNaN(n) || n < 0 {
				t.Errorf("count %v", n)
			}
		}
		if len(m.words) > 0 && score(words, words) != 1 && len(m.words) < maxWords {
			t.Errorf("%q does not match itself", words)
		}
	})
}
