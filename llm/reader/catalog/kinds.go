package catalog

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// kindOfType returns the kind of the values of a DuckDB type, and whether the type is
// native.
func kindOfType(name string) (k Kind, native, integers bool) {
	name, _, _ = strings.Cut(strings.ToUpper(name), "(")
	switch strings.TrimSpace(name) {
	case "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT":
		return Number, true, true
	case "FLOAT", "DOUBLE", "DECIMAL", "REAL":
		return Number, true, false
	case "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "DATETIME", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS":
		return Date, true, false
	case "BOOLEAN":
		return Bool, true, false
	case "VARCHAR", "TEXT", "STRING", "UUID":
		return Text, true, false
	case "TIME", "INTERVAL":
		return Clock, true, false
	}
	return Other, true, false
}

// Comparable reports whether values of a DuckDB type can be compared with a value in a
// question. Lists, structs and bytes cannot.
func Comparable(name string) bool {
	kind, _, _ := kindOfType(name)
	return kind != Other
}

// IsList reports whether a DuckDB type is one of lists of texts.
func IsList(name string) bool { return strings.ToUpper(name) == "VARCHAR[]" }

// IsNumber reports whether a DuckDB type is one of numbers.
func IsNumber(name string) bool {
	kind, _, _ := kindOfType(name)
	return kind == Number
}

// Ordered reports whether a DuckDB type has a useful minimum and maximum: numbers, dates
// and times.
func Ordered(name string) bool {
	kind, _, _ := kindOfType(name)
	return kind == Number || kind == Date || kind == Clock
}

var (
	numberCell = lazyRegexp(`^[\s$£€¥+~<>≈-]*[−–-]?(\d[\d,]*(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?)\s*(%|st|nd|rd|th|[a-zA-Z²³/€$£]{0,6})?[\s*†‡]*(\(.*\)|\[.*\])?$`)
	clockCell  = lazyRegexp(`^\+?\d{1,3}:\d{2}(:\d{2})?([.,]\d+)?$`)
	isoDate    = lazyRegexp(`^\d{4}-\d{2}-\d{2}`)
	slashDate  = lazyRegexp(`^(\d{1,2}/\d{1,2}/\d{4}|\d{1,2}\.\d{1,2}\.\d{4})`)
	wordDate   = lazyRegexp(`(?i)^((mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,?\s+)?(\d{1,2}(st|nd|rd|th)?\s+)?` +
		`(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)\.?` +
		`(\s+\d{1,2}(st|nd|rd|th)?)?(,?\s+\d{4})?(\s*[\[(].*)?$`)
	integerCell = lazyRegexp(`^[−–-]?([\d,]+|\d{1,3}(\.\d{3}){2,})$`)
)

// lazyRegexp compiles an expression when it is first used: most processes use none.
func lazyRegexp(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// absentTexts are texts that are never a value, and missingTexts those that can stand for a
// missing one.
var (
	absentTexts  = WordSet(`null n/a na nan nil - – — -- .. ... #null! #n/a`)
	missingTexts = WordSet(`none ? unknown tba tbd x`)
)

// IsAbsent reports whether a cell's text is never a value.
func IsAbsent(cell string) bool {
	cell = strings.TrimSpace(cell)
	return cell == "" || absentTexts[strings.ToLower(cell)]
}

// IsMissing reports whether a cell's text stands for a missing value.
func IsMissing(cell string) bool {
	cell = strings.TrimSpace(cell)
	return IsAbsent(cell) || missingTexts[strings.ToLower(cell)]
}

// minKindTenths is the share of cells, in tenths, that must be of a kind for a text column
// to be of that kind.
const minKindTenths = 8

// kindOfValues returns the kind that most texts have.
func kindOfValues(values []string) (k Kind, integers bool) {
	var seen, numbers, dates, clocks, whole int
	for _, v := range sample(values, 200) {
		v = strings.TrimSpace(v)
		if IsMissing(v) {
			continue
		}
		seen++
		switch {
		case clockCell().MatchString(v):
			clocks++
		case isoDate().MatchString(v), slashDate().MatchString(v), len(v) > 3 && wordDate().MatchString(v):
			dates++
		case numberCell().MatchString(v) && !leadingZero(v):
			numbers++
			if integerCell().MatchString(v) {
				whole++
			}
		}
	}
	most := func(n int) bool { return seen > 0 && n*10 >= seen*minKindTenths }
	switch {
	case most(clocks):
		return Clock, false
	case most(dates):
		return Date, false
	case most(numbers):
		return Number, whole == numbers
	}
	return Text, false
}

// leadingZero reports whether digits are a code rather than a number: 00123.
func leadingZero(v string) bool {
	return len(v) > 1 && v[0] == '0' && v[1] >= '0' && v[1] <= '9'
}

// sample returns at most n values, evenly spread.
func sample(values []string, n int) []string {
	if len(values) <= n {
		return values
	}
	some := make([]string, n)
	for i := range some {
		some[i] = values[i*len(values)/n]
	}
	return some
}

var (
	digits  = lazyRegexp(`[−–-]?\d[\d,]*(\.\d+)?`)
	toPlain = strings.NewReplacer(",", "", "−", "-", "–", "-")
)

// ParseNumber parses the number in a cell as the SQL of package ir does.
func ParseNumber(cell string) (float64, bool) {
	text := cell
	if !isPlainNumber(cell) {
		if text = digits().FindString(cell); text == "" {
			return 0, false
		}
		text = toPlain.Replace(text)
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil
}

// isPlainNumber reports whether a cell is nothing but a number as most are written, which
// needs no regular expression.
func isPlainNumber(cell string) bool {
	whole, fraction, hasPoint := strings.Cut(strings.TrimPrefix(cell, "-"), ".")
	return isDigits(whole) && (!hasPoint || isDigits(fraction))
}

func isDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return text != ""
}

// TrueTexts are the texts of cells that stand for true in a boolean column.
var TrueTexts = map[string]bool{"true": true, "t": true, "yes": true, "y": true, "1": true, "on": true, "x": true}

var falseTexts = map[string]bool{"false": true, "f": true, "no": true, "n": true, "0": true, "off": true, "": true}

// IsBoolean reports whether all values of a column mean true or false, independent of its
// type.
func (c *Column) IsBoolean() bool {
	switch {
	case c.List:
		return false
	case c.Kind == Bool:
		return true
	}
	yes := false
	for _, v := range c.Values {
		v = strings.ToLower(strings.TrimSpace(v))
		if !TrueTexts[v] && !falseTexts[v] {
			return false
		}
		yes = yes || TrueTexts[v]
	}
	return yes && c.Complete && len(c.Values) <= 2
}

// FirstYear and LastYear are the least and the greatest number that is taken for a year.
const (
	FirstYear = 1000
	LastYear  = 2100
)

// IsYear reports whether all numbers of a column are years.
func (c *Column) IsYear() bool {
	least, err := strconv.Atoi(c.Least)
	most, err2 := strconv.Atoi(c.Most)
	return c.Kind == Number && c.Integers && err == nil && err2 == nil && least >= FirstYear && most <= LastYear
}

var birthWords = WordSet("birth born dob birthdate birthday birthyear")

// IsBirth reports whether a column has dates or years of birth.
func (c *Column) IsBirth() bool {
	return (c.Kind == Date || c.IsYear()) && slices.ContainsFunc(c.Words, func(w string) bool { return birthWords[w] })
}
