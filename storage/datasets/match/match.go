// Package match compares texts by words, tolerant of case, accents, plurals and
// typing errors. It is done here and not by DuckDB's text functions: one pass over
// a text serves all words, and the rules can be tested on their own.
package match

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/near"
	"parley/internal/words"
)

// The names under which SQL knows the package.
const (
	// TermsFunction counts a search's words in a text.
	TermsFunction = "match_terms"
	// ScoreColumn is the name under which a query gives a row's score.
	ScoreColumn = "__score"
)

// A word that is close to one asked for counts as much as its likeness; what is
// less alike than this is another word.
const minLikeness = 0.7

// maxWords is how many different words of a search count.
const maxWords = 32

// Matcher scores texts against some words. The zero value is aimed at nothing.
type Matcher struct {
	source string
	words  []word
	set    bool
	buf    []rune
}

// word is a word to compare: its characters, and a bit for each that it has, by
// which most pairs of words are told apart at once.
type word struct {
	runes []rune
	bits  uint64
}

func newWord(buf []rune, text string) word {
	w := word{runes: buf[:0]}
	for _, r := range text {
		w.runes = append(w.runes, r)
		w.bits |= 1 << (r & 63)
	}
	return w
}

// SetWords sets the words that the Matcher looks for.
func (m *Matcher) SetWords(words string) {
	if m.set && m.source == words {
		return
	}
	*m = Matcher{source: strings.Clone(words), set: true}
	seen := map[string]bool{}
	eachWord(m.source, func(text string) bool {
		if !seen[text] {
			seen[text] = true
			m.words = append(m.words, newWord(nil, text))
		}
		return len(m.words) < maxWords
	})
}

// Words returns how many different words the matcher is aimed at.
func (m *Matcher) Words() int { return len(m.words) }

// Score says how well a text matches: 1 when it has all the words, 0 when it
// has fewer than half of them.
func (m *Matcher) Score(text string) float64 {
	if len(m.words) == 0 {
		return 0
	}
	best := make([]float64, len(m.words))
	missing := len(m.words)
	eachWord(text, func(text string) bool {
		found := newWord(m.buf, text)
		m.buf = found.runes
		for i, wanted := range m.words {
			if best[i] == 1 {
				continue
			}
			if l := likeness(wanted, found); l > best[i] {
				if best[i] = l; l == 1 {
					missing--
				}
			}
		}
		return missing > 0
	})
	var sum float64
	for _, b := range best {
		sum += b
	}
	if score := sum / float64(len(best)); score >= 0.5*minLikeness && sum >= minLikeness {
		return score
	}
	return 0
}

// Count returns how many words a text has, then how often it has each word that
// the Matcher is aimed at; one that is only alike counts less.
func (m *Matcher) Count(text string) []float64 {
	counts := make([]float64, 1+len(m.words))
	eachWord(text, func(text string) bool {
		counts[0]++
		found := newWord(m.buf, text)
		m.buf = found.runes
		for i, wanted := range m.words {
			if l := likeness(wanted, found); l == 1 {
				counts[1+i]++
			} else if l > 0 {
				counts[1+i] += l / 2
			}
		}
		return true
	})
	return counts
}

// likeness compares a word in a text with one asked for: 1 when they are the
// same, 0 when they are different words.
func likeness(wantedWord, foundWord word) float64 {
	wanted, word := wantedWord.runes, foundWord.runes
	if wantedWord.bits == foundWord.bits && slices.Equal(wanted, word) {
		return 1
	}
	if len(word) > near.MaxRunes || len(wanted) > near.MaxRunes {
		return 0
	}
	allowed := 0
	switch {
	case len(wanted) >= 8:
		allowed = 2
	case len(wanted) >= 4:
		allowed = 1
	}
	if d := len(word) - len(wanted); d > allowed || -d > allowed {
		// The beginning of a longer word is what someone types who looks for it.
		if d > 0 && len(wanted) >= 4 && slices.Equal(wanted, word[:len(wanted)]) {
			return max(minLikeness, float64(len(wanted))/float64(len(word)))
		}
		return 0
	}
	// Each change adds and takes away one kind of character at the most.
	if bits.OnesCount64(wantedWord.bits^foundWord.bits) > 2*allowed {
		return 0
	}
	distance := near.Distance(wanted, word)
	if distance > allowed {
		return 0
	}
	if l := 1 - float64(distance)/float64(max(len(wanted), len(word))); l >= minLikeness {
		return l
	}
	return 0
}

// eachWord calls f with the words of a text in the form in which they are
// compared, until it says to stop.
func eachWord(text string, f func(word string) bool) {
	if !words.IsASCII(text) {
		text = words.Fold(text)
	}
	start := -1
	for i, r := range text {
		alone := standsAlone(r)
		if !alone && partOfWord(r) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && !f(stem(text[start:i])) {
			return
		}
		start = -1
		if alone && !f(text[i:i+utf8.RuneLen(r)]) {
			return
		}
	}
	if start >= 0 {
		f(stem(text[start:]))
	}
}

func partOfWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// standsAlone reports whether a character is a word by itself, in scripts that
// write without blanks.
func standsAlone(r rune) bool {
	return r >= 0x2e80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

// stem returns a word in lower case and in the singular, roughly: the same for
// both is what counts.
func stem(word string) string {
	word = strings.ToLower(word)
	switch {
	case len(word) > 4 && strings.HasSuffix(word, "ies"):
		return word[:len(word)-3] + "y"
	case len(word) > 4 && (strings.HasSuffix(word, "sses") || strings.HasSuffix(word, "shes") ||
		strings.HasSuffix(word, "ches") || strings.HasSuffix(word, "xes")):
		return word[:len(word)-2]
	case len(word) > 3 && strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && !strings.HasSuffix(word, "us"):
		return word[:len(word)-1]
	}
	return word
}
