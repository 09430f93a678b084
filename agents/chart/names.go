package chart

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/internal/domain"
)

// maxTitle limits the title of an axis, in bytes.
const maxTitle = 60

// words returns the words of a name, in lower case: order_id, orderId and sum(order id).
func words(name string) []string {
	var all []string
	start, lower := -1, false
	for i, r := range name {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r) || r == '%'
		if start >= 0 && (!letter || lower && unicode.IsUpper(r)) {
			all = append(all, strings.ToLower(name[start:i]))
			start = -1
		}
		if letter && start < 0 {
			start = i
		}
		lower = unicode.IsLower(r)
	}
	if start >= 0 {
		all = append(all, strings.ToLower(name[start:]))
	}
	return all
}

func set(text string) map[string]bool {
	all := map[string]bool{}
	for _, word := range strings.Fields(text) {
		all[word] = true
	}
	return all
}

func anyIn(words []string, of map[string]bool) bool {
	return slices.ContainsFunc(words, func(word string) bool { return of[word] })
}

var (
	// idWords end the names of numbers and texts that only tell things apart.
	idWords = set("id ids uuid guid key code sku isbn ean iban zip zipcode postcode postal phone fax email mail url link uri ip lat latitude lon lng longitude no nr hash token version")
	// aggregates are words in names of what was computed of many rows.
	aggregates = set("count counts number num total totals sum avg average mean median min max minimum maximum share percent percentage pct ratio rate n")
	// unsummable are words in names of numbers whose sum means nothing.
	unsummable = set(`avg average mean median mode min max minimum maximum least most lowest highest smallest largest first last share percent percentage pct ratio rate % per
		price score rating rank age temperature temp humidity pressure speed stddev variance density index year margin`)
	shares    = set("share percent percentage pct ratio rate fraction proportion margin")
	functions = map[string]string{"sum": "Total", "total": "Total", "avg": "Average", "average": "Average", "mean": "Average", "median": "Median", "min": "Lowest", "max": "Highest", "count": "Number of"}
)

// isID reports whether the words of a name are those of an identifier.
func isID(words []string) bool { return len(words) > 0 && idWords[words[len(words)-1]] }

// displayName returns a name as the title of an axis.
func displayName(name string) string {
	name = strings.Trim(name, "_")
	if function, argument, ok := strings.Cut(name, "("); ok && strings.HasSuffix(argument, ")") {
		argument = strings.Trim(argument[:len(argument)-1], `"`)
		switch title := functions[strings.ToLower(function)]; {
		case strings.EqualFold(function, "count_star"), strings.EqualFold(function, "count") && argument == "*":
			return "Count"
		case strings.EqualFold(title, argument):
			name = argument
		case title != "" && argument != "" && !strings.ContainsAny(argument, "()"):
			name = title + " " + argument
		}
	}
	name = strings.ReplaceAll(harmless(name), "_", " ")
	name = strings.Join(strings.Fields(name), " ")
	name = domain.Truncate(name, maxTitle)
	first, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return "Value"
	}
	return string(unicode.ToUpper(first)) + name[size:]
}

// harmless returns a text without what Vega-Lite does not escape where it makes expressions of
// titles, for tooltips: backslashes and quotes.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '”'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == '\\' || r == utf8.RuneError:
			return -1
		}
		return r
	}, text)
}

// counts are words in names of numbers that have no unit of the column that was counted.
var counts = set("count counts number")

// maxUnit limits a unit, in bytes.
const maxUnit = 20

// displayUnit returns a unit as it is shown; "" for none that can be.
func displayUnit(unit string) string {
	if len(unit) > maxUnit {
		return ""
	}
	return strings.TrimSpace(harmless(unit))
}

// siFormat writes thousands as k and millions as M.
const siFormat = "~s"

// axisFormat returns the format of a measure on an axis; "" for that of the renderer, which
// has as many digits as the ticks need.
func (c *column) axisFormat() string {
	switch {
	case c.isShare():
		return "~%"
	case max(math.Abs(c.least), math.Abs(c.most)) >= 1e6:
		return siFormat
	case c.whole:
		return ",d"
	}
	return ""
}

// valueFormat returns the format of one value of a measure.
func (c *column) valueFormat() string {
	switch {
	case c.isShare():
		return ".1~%"
	case c.whole:
		return ",d"
	case max(math.Abs(c.least), math.Abs(c.most)) >= 1:
		return ",.2~f"
	}
	return ".4~g"
}
