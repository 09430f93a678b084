package catalog

import (
	"math"
	"strconv"
	"strings"
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
