// Package near finds names that are similar to one that does not exist.
package near

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxRunes limits the words that are compared, in characters.
const MaxRunes = 32

// Distance is the edit distance of two words of at most MaxRunes: the number of characters
// to add, drop, change or swap with their neighbour (optimal string alignment).
func Distance(a, b []rune) int {
	var rows [3][MaxRunes + 1]int
	before, last, row := &rows[0], &rows[1], &rows[2]
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d := min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			row[j+1] = d
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// IsOneEdit reports whether two words of at most MaxRunes have the distance 1.
func IsOneEdit(a, b string) bool {
	if d := len(a) - len(b); d > utf8.UTFMax || -d > utf8.UTFMax {
		return false
	}
	x, y := []rune(a), []rune(b)
	return len(x) <= MaxRunes && len(y) <= MaxRunes && Distance(x, y) == 1
}

// Names returns the candidates that are similar to a name, at most so many, the nearest
// first.
func Names(name string, candidates []string, most int) []string {
	wanted, ok := normalize(name)
	if !ok {
		return nil
	}
	type option struct {
		name     string
		distance int
	}
	var options []option
	for _, candidate := range candidates {
		c, ok := normalize(candidate)
		if !ok {
			continue
		}
		d := Distance(wanted, c)
		a, b := string(wanted), string(c)
		switch {
		case d <= (min(len(wanted), len(c))+1)/3:
		case len(a) >= 3 && len(b) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)):
			// "customer" for "customer_id": similar, but after typing errors.
			d += 3
		default:
			continue
		}
		options = append(options, option{candidate, d})
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
	})
	var names []string
	for _, o := range options[:min(len(options), most)] {
		names = append(names, o.name)
	}
	return names
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// normalize returns a name in lower case, without separators of words; not ok when it is too
// long to compare.
func normalize(name string) (runes []rune, ok bool) {
	if len(name) > 4*MaxRunes {
		return nil, false
	}
	runes = []rune(separators.Replace(strings.ToLower(name)))
	return runes, len(runes) <= MaxRunes
}
