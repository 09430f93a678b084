package link

import (
	"strings"
	"time"
	"unicode/utf8"

	"parley/llm/reader/catalog"
)

// Limits of phrases.
const (
	maxPhrases     = 24
	maxPhraseWords = 5
)

// questionWords are words for operations and times, which are no values.
var questionWords = catalog.WordSet(`average mean median minimum maximum min max highest lowest most least fewest top bottom first last largest
	smallest biggest greatest longest shortest oldest youngest newest latest earliest cheapest count sum more less fewer over
	under above below before after during until till since year years month months week weeks quarter quarters day days today
	yesterday tomorrow this next past previous sort sorted order ordered descending ascending alphabetical alphabetically
	different distinct unique percentage percent share ratio difference compare compared only also other than same both either
	if so then but can could would should will hello hi`)

// Phrases returns the phrases of a question, in lower case, that may be values the catalog
// does not list: quoted texts, and runs of words of which at least one is in no name and no
// listed value. The longest come first.
func Phrases(tokens []Token, cat *catalog.Catalog, now time.Time) []string {
	tokens = restoreWords(tokens, cat)
	f := &valueFinder{tokens: tokens, cat: cat, index: cat.Index(), coveredLength: make([]int, len(tokens)), names: cat.NameStems()}
	f.findQuoted()
	f.findWholeCells()
	f.findPeriods(now)
	var all []string
	seen := map[string]bool{}
	add := func(start, end int) {
		text := strings.ToLower(strings.TrimSuffix(f.textOf(start, end), "'s"))
		if len(all) < maxPhrases && !seen[text] && utf8.RuneCountInString(text) > 1 {
			seen[text] = true
			all = append(all, text)
		}
	}
	for _, x := range f.matches {
		if x.How == Quoted && len(x.Cells) == 0 {
			add(x.Start, x.End)
		}
	}
	for length := maxPhraseWords; length > 0; length-- {
		for i := 0; i+length <= len(tokens); i++ {
			if f.mayBeUnlistedValue(i, i+length) {
				add(i, i+length)
			}
		}
	}
	return all
}

// mayBeUnlistedValue reports whether tokens may be a value that the catalog does not list.
func (f *valueFinder) mayBeUnlistedValue(start, end int) bool {
	unknown := false
	for i := start; i < end; i++ {
		t := f.tokens[i]
		mark := strings.IndexFunc(t.Text, isWordRune) < 0
		if mark && i > start && t.SpaceBefore {
			return false
		}
		stop := mark || catalog.StopWords[t.Lower] || questionWords[t.Lower]
		if stop && (i == start || i == end-1) {
			return false
		}
		unknown = unknown || !stop && f.coveredLength[i] == 0 && !f.names[t.Stem]
	}
	return unknown
}
