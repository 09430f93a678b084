package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// measures has the dimensions of units that a word for a measure allows, separated by
// blanks: min after temperature is the minimum, not minutes.
var measures = map[string]string{
	"temperature": "", "pressure": "", "humidity": "", "speed": "", "velocity": "", "wind": "", "price": "", "cost": "", "fee": "", "salary": "", "wage": "", "score": "", "rating": "", "age": "",
	"size": "length", "width": "length", "height": "length", "depth": "length", "distance": "length", "level": "length volume", "length": "length time", "weight": "mass", "mass": "mass", "volume": "volume",
	"amount": "mass length volume", "quantity": "mass length volume", "stock": "mass length volume", "order": "mass length volume", "value": "mass length volume",
}

// columnUnit returns the unit of a numeric column by the words of its name, or else by its
// description; "" for none.
func columnUnit(words []string, description string) string {
	for i := range slices.Backward(words) {
		if u := nameUnit(words, i); u != nil && (i == 0 || words[i-1] != "per") {
			if isCompound(words, i, u) {
				return ""
			}
			return u.name
		}
	}
	return descriptionUnit(description)
}

// nameUnit returns the unit that a word of a name means; nil for none.
func nameUnit(words []string, i int) *unit {
	u := unitWords[words[i]]
	switch {
	case u == nil:
		return nil
	case slices.Contains(strings.Fields(u.words), words[i]):
		return u
	case i == 0 || i < len(words)-1 || !u.hasSuffix(words[i]):
		return nil
	}
	for _, w := range words[:i] {
		if dimensions, ok := measures[w]; ok && !slices.Contains(strings.Fields(dimensions), u.dimension) {
			return nil
		}
	}
	return u
}

func (u *unit) hasSuffix(word string) bool { return slices.Contains(strings.Fields(u.suffixes), word) }

// isCompound reports whether the unit of a word is part of one such as km/h: a unit of
// another dimension is beside it.
func isCompound(words []string, i int, u *unit) bool {
	for _, j := range []int{i - 1, i + 1} {
		if j < 0 || j >= len(words) {
			continue
		}
		other := unitWords[words[j]]
		if other != nil && other.dimension != u.dimension && other.dimension != "count" && u.dimension != "count" && !slices.Contains(strings.Fields(other.questionWords), words[j]) {
			return true
		}
	}
	return false
}

// descriptionUnit returns the first unit that a description gives as "in <unit>",
// "(<unit>)" or as its last word; "" for none.
func descriptionUnit(text string) string {
	text = strings.TrimRightFunc(Fold(text), func(r rune) bool { return unicode.IsSpace(r) || r == '.' || r == '!' })
	for _, mark := range []string{"(", ")", "/", ",", ".", ";", ":"} {
		text = strings.ReplaceAll(text, mark, " "+mark+" ")
	}
	words := strings.Fields(text)
	at := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	for i, w := range words {
		u := unitWords[w]
		if u == nil || at(i+1) == "per" || at(i+1) == "/" || slices.Contains(strings.Fields(u.questionWords), w) {
			continue
		}
		long := slices.Contains(strings.Fields(u.words), w)
		switch before := at(i - 1); {
		case u.dimension == "count" && (before != "in" || !strings.HasSuffix(w, "s")):
		case before == "in", before == "(" && at(i+1) == ")":
			return u.name
		case long && i == len(words)-1 && !precedesNoUnit(before) && !slices.Contains(words[max(i-2, 0):i], "per"):
			return u.name
		}
	}
	return ""
}

// precedesNoUnit reports whether the last word of a description is no unit of the column
// after a word: square metres, 3 days, km / hours.
func precedesNoUnit(word string) bool {
	return word == "square" || word == "cubic" || word == "/" || word != "" && unicode.IsDigit(rune(word[0]))
}
