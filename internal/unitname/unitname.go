// Package unitname has the units of numbers: which there are, and those that names and descriptions of
// columns have. Converting numbers is left to others.
package unitname

import (
	"regexp"
	"slices"
	"strings"
)

// Names are what may stand before or after a number of a file. The first is none; one that
// begins another comes after it.
var Names = []string{"", "%", "US$", "CA$", "AU$", "A$", "C$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "₫", "₴", "฿",
	"CHF", "USD", "EUR", "GBP", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "kr", "zł", "Kč", "Ft"}

// unitWords are units and words for them, in lower case, with how they are written. Those of one
// letter and min can also be other words: they are units in parentheses only.
var unitWords = map[string]string{
	"euro": "€", "euros": "€", "dollar": "$", "dollars": "$", "percent": "%", "percentage": "%", "pct": "%",
	"ms": "ms", "milliseconds": "ms", "s": "s", "sec": "s", "secs": "s", "seconds": "s", "min": "min", "mins": "min", "minutes": "min", "h": "h", "hrs": "h", "hours": "h", "days": "days",
	"kwh": "kWh", "mwh": "MWh", "wh": "Wh", "kw": "kW", "mw": "MW", "w": "W", "kg": "kg", "g": "g", "t": "t", "km": "km", "m": "m", "cm": "cm", "mm": "mm", "m²": "m²", "m2": "m²", "m³": "m³", "m3": "m³",
	"l": "l", "ml": "ml", "°c": "°C", "°f": "°F", "km/h": "km/h", "mb": "MB", "gb": "GB", "kb": "KB",
}

// known returns how a unit is written that a word means; "" for none.
func known(word string) string {
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
		if slices.Contains(Names, upper) {
			return upper
		}
	}
	return unitWords[strings.ToLower(word)]
}

var (
	unitInBrackets    = regexp.MustCompile(`^(.*\S)\s*[(\[]\s*(?:in )?([^()\[\]]+?)\s*[)\]]$`)
	unitAtEnd         = regexp.MustCompile(`^(.*?[^\s_,])(?:[\s_,]+in)?[\s_,]+([^\s_,]{2,}|[%$€£¥])$`)
	unitInDescription = regexp.MustCompile(`(?i)\bin ([a-z]{2,}|%|€|\$|£)(?:$|[\s.,;:)])`)
)

// Cut cuts the unit off the name of a column: "costs (€)", "weight kg", "resolution_minutes". The
// unit is "" if there is none.
func Cut(name string) (rest, unit string) {
	if found := unitInBrackets.FindStringSubmatch(name); found != nil && known(found[2]) != "" {
		return found[1], known(found[2])
	}
	if found := unitAtEnd.FindStringSubmatch(name); found != nil && known(found[2]) != "" && found[2] != "min" {
		return found[1], known(found[2])
	}
	return name, ""
}

// Without returns the name of a column, or of a figure of one, without a unit at its end. The
// reader splits words: k_wh.
func Without(name, unit string) string {
	if rest, found := Cut(name); found == unit {
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

// Of returns the unit that the name of a column has, or else its description; "" for none.
func Of(name, description string) string {
	if _, unit := Cut(name); unit != "" {
		return unit
	}
	for _, found := range unitInDescription.FindAllStringSubmatch(description, -1) {
		if unit := known(found[1]); unit != "" {
			return unit
		}
	}
	return ""
}

// IsCurrency reports whether a unit is one of money.
func IsCurrency(unit string) bool {
	return len(unit) > 0 && unit != "%" && slices.Contains(Names, unit)
}
