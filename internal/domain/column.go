package domain

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxColumns is the most columns of a dataset, MaxColumnName the most characters of
// a column's name.
const (
	MaxColumns    = 2_000
	MaxColumnName = 256
)

// CheckColumnName returns what is wrong with the name of a column, "" when it is
// right.
func CheckColumnName(name string) string {
	switch {
	case name == "":
		return "must not be empty"
	case strings.HasPrefix(name, "__"):
		return "must not start with __, which is for internal use"
	case utf8.RuneCountInString(name) > MaxColumnName:
		return fmt.Sprintf("must be at most %d characters", MaxColumnName)
	case strings.ContainsRune(name, 0):
		return "must not hold the character NUL"
	}
	return ""
}

// CutColumnName returns the start of a name that is too long for a column with a suffix of ASCII
// and a number behind its name, and the suffix.
func CutColumnName(name, suffix string) string {
	left := MaxColumnName - len(suffix) - len("_2000") // MaxColumns
	for i := range name {
		if left == 0 {
			return strings.TrimSpace(name[:i]) + suffix
		}
		left--
	}
	return name + suffix
}

// FoldColumn returns the form in which DuckDB compares names of columns: only A to Z lose their
// case.
func FoldColumn(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}

// NumberUnits are what may stand before or after a number of a file. The first is none; one that
// begins another comes after it.
var NumberUnits = []string{"", "%", "US$", "CA$", "AU$", "A$", "C$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "₫", "₴", "฿",
	"CHF", "USD", "EUR", "GBP", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "kr", "zł", "Kč", "Ft"}

// IsYear reports whether a text is a year, from 1000 to 2999.
func IsYear(text string) bool {
	return len(text) == 4 && (text[0] == '1' || text[0] == '2') && strings.Trim(text, "0123456789") == ""
}

// unitWords are units and words for them, in lower case, with how they are written. Those of one
// letter and min can also be other words: they are units in parentheses only.
var unitWords = map[string]string{
	"euro": "€", "euros": "€", "dollar": "$", "dollars": "$", "percent": "%", "percentage": "%", "pct": "%",
	"ms": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s", "min": "min", "mins": "min", "minutes": "min", "h": "h", "hrs": "h", "hours": "h", "days": "days",
	"kwh": "kWh", "mwh": "MWh", "wh": "Wh", "kw": "kW", "mw": "MW", "w": "W", "kg": "kg", "g": "g", "t": "t", "km": "km", "m": "m", "cm": "cm", "mm": "mm", "m²": "m²", "m2": "m²", "m³": "m³", "m3": "m³",
	"l": "l", "ml": "ml", "°c": "°C", "°f": "°F", "km/h": "km/h", "mb": "MB", "gb": "GB", "kb": "KB",
}

// unitOf returns how a unit is written that a word means; "" for none.
func unitOf(word string) string {
	switch upper := strings.ToUpper(word); upper {
	case "":
		return ""
	case "EUR":
		return "€"
	case "USD":
		return "$"
	case "GBP":
		return "£"
	default:
		if slices.Contains(NumberUnits, upper) {
			return upper
		}
	}
	return unitWords[strings.ToLower(word)]
}

var (
	unitInBrackets    = regexp.MustCompile(`^(.*\S)\s*[(\[]\s*(?:in )?([^()\[\]]+?)\s*[)\]]$`)
	unitAtEnd         = regexp.MustCompile(`^(.*?[^\s_,])(?:[\s_,]+in)?[\s_,]+([^\s_,]{2,}|[%$€£¥])$`)
	unitInDescription = regexp.MustCompile(`(?i)\bin ([a-z]{2,}|%|€|\$|£)(?:$|[\s.,;)])`)
)

// CutUnit cuts the unit off the name of a column: "costs (€)", "weight kg", "resolution_minutes". The
// unit is "" if there is none.
func CutUnit(name string) (rest, unit string) {
	if found := unitInBrackets.FindStringSubmatch(name); found != nil && unitOf(found[2]) != "" {
		return found[1], unitOf(found[2])
	}
	if found := unitAtEnd.FindStringSubmatch(name); found != nil && unitOf(found[2]) != "" && found[2] != "min" {
		return found[1], unitOf(found[2])
	}
	return name, ""
}

// WithoutUnit returns the name of a column, or of a figure of one, without a unit at its end. The
// reader splits words: k_wh.
func WithoutUnit(name, unit string) string {
	if rest, found := CutUnit(name); found == unit {
		return rest
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' })
	for n := 1; n < len(words) && n < 3; n++ {
		if strings.EqualFold(strings.Join(words[len(words)-n:], ""), unit) {
			return strings.Join(words[:len(words)-n], " ")
		}
	}
	return name
}

// UnitOf returns the unit that the name of a column has, or else its description; "" for none.
func UnitOf(name, description string) string {
	if _, unit := CutUnit(name); unit != "" {
		return unit
	}
	for _, found := range unitInDescription.FindAllStringSubmatch(description, -1) {
		if unit := unitOf(found[1]); unit != "" {
			return unit
		}
	}
	return ""
}

// IsCurrency reports whether a unit is one of money.
func IsCurrency(unit string) bool {
	return len(unit) > 0 && unit != "%" && slices.Contains(NumberUnits, unit)
}
