package chart

import (
	"slices"
	"strings"

	"parley/internal/domain"
)

// grain is what times are multiples of; "" for no time.
type grain string

const (
	years    grain = "year"
	quarters grain = "quarter"
	months   grain = "month"
	weeks    grain = "week"
	days     grain = "day"
	seconds  grain = "second"
)

// timeFormats say how times are written, in d3's notation.
var timeFormats = map[grain]string{
	years: "%Y", quarters: "%Y Q%q", months: "%b %Y", weeks: "%-d %b %Y", days: "%-d %b %Y", seconds: "%-d %b %Y %H:%M",
}

// calendar has the ranges of numbers that are parts of a calendar, by the last word of a
// name.
var calendar = map[string]struct{ least, most float64 }{
	"year": {1000, 9999}, "quarter": {1, 4}, "month": {1, 12}, "week": {1, 53}, "weekday": {0, 7}, "dow": {0, 7}, "day": {1, 31}, "hour": {0, 23},
}

// isCalendar reports whether numbers are parts of a calendar: years, or months from 1 to 12.
func (c *column) isCalendar() bool {
	if len(c.words) == 0 || !c.whole {
		return false
	}
	last := c.words[len(c.words)-1]
	within, ok := calendar[last]
	if !ok || c.least < within.least || c.most > within.most || anyIn(c.words, aggregates) {
		return false
	}
	if c.sort = "ascending"; last == "year" {
		c.grain = years
	}
	return true
}

// decideTime makes a column of dates and times a period. It reports false for others.
func (c *column) decideTime() bool {
	if c.grain = grainOf(c.values); c.grain == "" {
		return false
	}
	c.role = period
	if c.grain == years && every(c.values, func(text string) bool { return len(text) == len("2025-01") }) {
		c.grain = months
	}
	// A name tells more than values, of which there may be few.
	for _, g := range []grain{years, quarters, months, weeks} {
		if slices.Contains(c.words, string(g)) && c.grain != seconds {
			c.grain = g
		}
	}
	return true
}

// grainOf returns the grain of the texts of dates and times; "" where one of them is no time
// that charts can show.
func grainOf(values [][]byte) grain {
	found := grain("")
	for _, value := range values {
		if isNull(value) {
			continue
		}
		g := grainOfTime(string(value))
		if g == "" {
			return ""
		}
		if found == "" || slices.Index(finer, g) > slices.Index(finer, found) {
			found = g
		}
	}
	return found
}

var finer = []grain{years, months, days, seconds}

// grainOfTime returns the coarsest grain of a JSON string: 2025-07, 2025-07-01,
// 2025-07-01T00:00:00.
func grainOfTime(value string) grain {
	const form = `"0000-00-00T00:00:00`
	text := strings.TrimSuffix(strings.TrimSuffix(value, `"`), "Z")
	for i := range min(len(text), len(form)) {
		if digit := text[i] >= '0' && text[i] <= '9'; form[i] == '0' && !digit || form[i] != '0' && text[i] != form[i] {
			return ""
		}
	}
	day, clock := "01", ""
	switch n := len(text); {
	case n == len(`"0000-00`):
	case n == len(`"0000-00-00`):
		day = text[9:11]
	case n >= len(form) && strings.Trim(text[len(form):], ".0123456789") == "":
		day, clock = text[9:11], text[12:]
	default:
		return ""
	}
	month := text[6:8]
	switch {
	case month < "01" || month > "12" || day < "01" || day > "31":
		return ""
	case strings.Trim(clock, "0:.") != "":
		return seconds
	case day != "01":
		return days
	case month != "01":
		return months
	}
	return years
}

// hasNoZone reports whether times have a clock but no zone.
func (c *column) hasNoZone() bool {
	for _, value := range c.values {
		if !isNull(value) {
			return len(value) > len(`"0000-00-00"`) && value[len(value)-2] != 'Z'
		}
	}
	return false
}

// sequences have names in an order of their own.
var sequences = [][]string{
	{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"},
	{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"},
	{"Q1", "Q2", "Q3", "Q4"},
}

// decideOrder makes a column of texts that have an order of their own a period. It reports
// false for others.
func (c *column) decideOrder() bool {
	switch {
	case len(c.words) > 0 && c.words[len(c.words)-1] == "year" && every(c.values, domain.IsYear):
		c.grain = years
	case every(c.values, isQuarterOrWeek):
		c.sort = "ascending"
	case every(c.values, isRange):
		c.sort, c.binned = nil, true // as the query has them
	default:
		at := slices.IndexFunc(sequences, func(sequence []string) bool {
			return every(c.values, func(text string) bool { return slices.Contains(sequence, text) })
		})
		if at < 0 {
			return false
		}
		var order []any
		for _, name := range sequences[at] {
			order = append(order, name)
		}
		c.sort = order
	}
	c.role = period
	return true
}

// every reports whether all texts that are there fulfil a condition, without regard to
// escapes.
func every(values [][]byte, is func(string) bool) bool {
	for _, value := range values {
		if isNull(value) {
			continue
		}
		if value[0] != '"' || !is(string(value[1:len(value)-1])) {
			return false
		}
	}
	return true
}

const digits = "0123456789"

// isQuarterOrWeek reports whether a text is one such as 2025-Q3 or 2025-W07.
func isQuarterOrWeek(text string) bool {
	return len(text) >= 6 && len(text) <= 8 && strings.Trim(text[:4], digits) == "" && strings.Trim(text[4:], digits+"- QWqw") == "" &&
		strings.ContainsAny(text[4:], "QWqw") && strings.ContainsAny(text[len(text)-1:], digits)
}

// isRange reports whether a text is a range of whole numbers: 20-29, 20–29, <20, 90+.
func isRange(text string) bool {
	rest := strings.Trim(strings.Trim(text, digits), " ")
	return strings.ContainsAny(text, digits) && slices.Contains([]string{"-", "–", "to", "<", ">", "≤", "≥", "+", "<=", ">="}, rest) && !strings.HasPrefix(text, "-")
}
