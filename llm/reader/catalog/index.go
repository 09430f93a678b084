package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// Limits of the index of values.
const (
	maxIndexedValue = 80
	maxValueTokens  = 12
	maxPerWord      = 400
)

// Cell names a value of a column.
type Cell struct {
	Column int
	Value  string
}

// Index finds the values of a catalog by their words.
type Index struct {
	whole map[string][]Cell
	words map[string][]Cell
}

func newIndex(c *Catalog) *Index {
	x := &Index{whole: map[string][]Cell{}, words: map[string][]Cell{}}
	for i := range c.Columns {
		column := &c.Columns[i]
		if column.Kind == Number && column.Native || column.Kind == Date && column.Native || column.Kind == Other {
			continue
		}
		for _, v := range column.Values {
			x.add(i, v)
		}
	}
	return x
}

func (x *Index) add(column int, value string) {
	if len(value) > maxIndexedValue || Missing(value) {
		return
	}
	tokens := ValueTokens(value)
	if len(tokens) == 0 || len(tokens) > maxValueTokens {
		return
	}
	key := Key(tokens)
	x.whole[key] = append(x.whole[key], Cell{column, value})
	if len(tokens) == 1 {
		return
	}
	seen := map[string]bool{}
	for _, w := range tokens {
		if len(w) > 2 && !Stop[w] && !seen[w] && len(x.words[w]) < maxPerWord {
			seen[w] = true
			x.words[w] = append(x.words[w], Cell{column, value})
		}
	}
}

// Key is the form under which words are found: their stems.
func Key(words []string) string { return strings.Join(Stems(words), " ") }

// Whole finds the values that consist of just these words.
func (x *Index) Whole(key string) []Cell { return x.whole[key] }

// Containing finds the longer values that a word is part of.
func (x *Index) Containing(word string) []Cell { return x.words[word] }

// ValueTokens cuts a value into folded words and the signs that tell values apart:
// O+ and O- are two values.
func ValueTokens(value string) []string {
	var tokens []string
	folded := Fold(value)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			tokens = append(tokens, folded[start:end])
			start = -1
		}
	}
	for i, r := range folded {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if start < 0 {
				start = i
			}
		case (r == '+' || r == '-' || r == '#' || r == '*') && start >= 0 && i+1 == len(folded):
			flush(i)
			tokens = append(tokens, string(r))
		default:
			flush(i)
		}
	}
	flush(len(folded))
	return tokens
}

// maxNearKeys bounds how many keys are compared for a misspelled word.
const maxNearKeys = 20_000

// Near finds the keys of one word that are one changed, added, left out or swapped
// letter away from a stem, and begin with the same letter.
func (x *Index) Near(stem string) []string {
	var found []string
	if len(x.whole) > maxNearKeys || stem == "" {
		return nil
	}
	for key := range x.whole {
		if key != "" && key[0] == stem[0] && len(key) >= 4 && OneEdit(stem, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// OneEdit reports whether one changed, added, left out or swapped letter makes a of b.
func OneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(a) < len(b):
		return a[i:] == b[i+1:]
	case i == len(a):
		return false
	case a[i+1:] == b[i+1:]:
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
