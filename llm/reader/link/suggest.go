package link

import (
	"cmp"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/vectors"
)

// Limits of values that are suggested.
const (
	// fewValues is the maximum number of values of a column for suggestions.
	fewValues    = 12
	maxSuggested = 8
	// minResemblance is the minimum similarity of a word and a cell.
	minResemblance = 0.6
	// minSharedLetters is the minimum length of a common prefix.
	minSharedLetters = 4
)

// findSuggestions finds cells of columns with few values that are similar to words of the
// question: "cancellations" and Cancelled, "missed" and No-show.
func (f *valueFinder) findSuggestions() {
	type option struct {
		value string
		cells map[int][]string
		score float32
		token int
	}
	byValue := map[string]int{}
	var options []option
	for i := range f.cat.Columns {
		c := &f.cat.Columns[i]
		if c.Kind != catalog.Text || !c.Complete || len(c.Values) > fewValues || len(c.Values) < 2 {
			continue
		}
		for _, v := range c.Values {
			if catalog.IsMissing(v) && len(v) < 3 {
				continue
			}
			token, score := f.mostSimilarToken(v)
			if score < minResemblance {
				continue
			}
			key := strings.ToLower(v)
			at, ok := byValue[key]
			if !ok {
				at = len(options)
				byValue[key] = at
				options = append(options, option{value: v, cells: map[int][]string{}, score: score, token: token})
			}
			options[at].cells[i] = append(options[at].cells[i], v)
		}
	}
	slices.SortStableFunc(options, func(a, b option) int { return cmp.Compare(b.score, a.score) })
	for _, o := range options[:min(len(options), maxSuggested)] {
		f.add(ir.Value{Text: o.value, Exact: true, Cells: o.cells}, o.token, o.token+1, Suggested)
	}
}

// mostSimilarToken returns the token that is most similar to a value.
func (f *valueFinder) mostSimilarToken(value string) (token int, score float32) {
	words := catalog.ValueTokens(value)
	vec := vectors.Load()
	for i, t := range f.tokens {
		if catalog.StopWords[t.Lower] || len(t.Lower) < 3 || !isWord(t.Lower) || f.coveredLength[i] > 0 || f.names[t.Stem] {
			continue
		}
		for _, w := range words {
			if catalog.StopWords[w] || len(w) < 3 {
				continue
			}
			s := float32(0)
			if !f.isName(i) {
				s = vec.Similarity(t.Lower, w)
			}
			if sharesPrefix(t.Lower, w) {
				s = max(s, 0.8)
			}
			s /= float32(len(words)+2) / 3
			if s > score {
				token, score = i, s
			}
		}
	}
	return token, score
}

// isName reports whether a token is a name by its capital letter. Words used like a name are
// other names: France and Denmark.
func (f *valueFinder) isName(i int) bool {
	return i > 0 && f.isCapitalized(i) && !f.allCapitalized()
}

// sharesPrefix reports whether two words have a long common prefix: cancellation and
// cancelled.
func sharesPrefix(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= minSharedLetters && 10*n >= 6*min(len(a), len(b)) && 2*n >= max(len(a), len(b))
}
