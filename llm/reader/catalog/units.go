package catalog

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// unit is a unit of measurement.
type unit struct {
	name, dimension string
	// size is the unit in base units of its dimension.
	size float64
	// words name the unit anywhere in a column name, suffixes at its end only, and
	// questionWords in questions only: the numbers of a column called month are not months.
	words, suffixes, questionWords string
}

// yearSize is the average length of a year, in seconds.
const yearSize = 365.25 * 86400

var units = []unit{
	{"second", "time", 1, "seconds secs", "sec s", "second"}, {"minute", "time", 60, "minutes mins minute", "min", ""}, {"hour", "time", 3600, "hours hrs", "hr h", "hour"},
	{"day", "time", 86400, "days", "d", "day"}, {"week", "time", 604800, "weeks", "", "week"},
	{"month", "time", yearSize / 12, "months", "", "month"}, {"year", "time", yearSize, "years", "", "year"},
	{"milligram", "mass", 0.001, "mg milligrams", "", ""}, {"gram", "mass", 1, "grams gram grammes", "g", ""}, {"kilogram", "mass", 1000, "kg kgs kilogram kilograms kilo kilos", "", ""}, {"tonne", "mass", 1e6, "tonne tonnes tons", "ton t", ""},
	{"millimetre", "length", 0.001, "mm millimetres millimeters", "", ""}, {"centimetre", "length", 0.01, "cm centimetre centimetres centimeter centimeters", "", ""},
	{"metre", "length", 1, "metre metres meter meters", "m", ""}, {"kilometre", "length", 1000, "km kms kilometre kilometres kilometer kilometers", "", ""},
	{"mile", "length", 1609.344, "miles mile", "mi", ""}, {"foot", "length", 0.3048, "feet ft", "", "foot"}, {"inch", "length", 0.0254, "inches", "", "inch"},
	{"millilitre", "volume", 0.001, "ml millilitres milliliters", "", ""}, {"litre", "volume", 1, "litre litres liter liters", "l", ""},
	{"one", "count", 1, "", "", ""}, {"thousand", "count", 1e3, "thousand thousands", "", ""}, {"million", "count", 1e6, "million millions mio mn", "", ""}, {"billion", "count", 1e9, "billion billions bn", "", ""},
}

// unitWords has the units by their words in questions, and unitOf by their names.
var unitWords, unitOf = func() (words, names map[string]*unit) {
	words, names = map[string]*unit{}, map[string]*unit{}
	for i := range units {
		u := &units[i]
		names[u.name] = u
		for _, w := range strings.Fields(u.words + " " + u.suffixes + " " + u.questionWords) {
			words[w] = u
		}
	}
	return words, names
}()

// Unit returns the name of the unit that a word after a number means; "" for none.
func Unit(word string) string {
	if u := unitWords[word]; u != nil && u.dimension != "count" {
		return u.name
	}
	return ""
}

// Dimension returns the dimension of a unit; "" for none.
func Dimension(name string) string {
	if u := unitOf[name]; u != nil {
		return u.dimension
	}
	return ""
}

// CanCompare reports whether numbers in two units can be compared: one unit is unknown or
// a count, or both have the same dimension.
func CanCompare(a, b string) bool {
	x, y := Dimension(a), Dimension(b)
	return x == y || x == "" || y == "" || x == "count" || y == "count"
}

// isCalendar reports whether the length of a unit depends on the calendar.
func (u *unit) isCalendar() bool { return u.name == "month" || u.name == "year" }

// Convert converts a number from one unit to another of the same dimension. Between months
// or years and other units of time it uses average lengths, and rounds larger results: a
// year has 365 days.
func Convert(number, from, to string) (string, bool) {
	a, b := unitOf[from], unitOf[to]
	x, err := strconv.ParseFloat(number, 64)
	if a == nil || b == nil || a.dimension != b.dimension || err != nil {
		return "", false
	}
	// Rounding to 12 digits removes floating-point noise.
	const digits, minRounded = 12, 10
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x*a.size/b.size, 'g', digits, 64), 64)
	if a.isCalendar() != b.isCalendar() && math.Abs(x) >= minRounded {
		x = math.RoundToEven(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64), true
}

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
