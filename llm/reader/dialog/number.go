package dialog

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"parley/internal/locale"
	"parley/internal/unitname"
)

// formatNumber formats a JSON number, or one that is written as a text, with its thousands
// apart, so many decimals at least and at most four, and its unit. A duration gets the unit that fits.
func formatNumber(numbers locale.Numbers, value json.RawMessage, unit string, decimals int) string {
	text := shortNumber(value)
	fitted, next := fitDuration(text, unit)
	if next != unit {
		text, unit, decimals = fitted, next, 0
	}
	if whole, fraction, _ := strings.Cut(text, "."); len(fraction) < decimals {
		text = whole + "." + fraction + strings.Repeat("0", decimals-len(fraction))
	}
	switch {
	case unit == "":
		return escapeCell(numbers.Format(text))
	case unitname.IsCurrency(unit):
		return escapeCell(numbers.Money(text, unit))
	}
	return escapeCell(numbers.Format(text)) + " " + escapeCell(unit)
}

// durations are the units of durations with how many make the next one.
var durations = []struct {
	unit, next string
	size       float64
}{{"ms", "s", 1000}, {"s", "min", 60}, {"min", "h", 60}, {"h", "days", 24}}

// fitDuration writes a duration of more than two of the next unit in that one.
func fitDuration(text, unit string) (string, string) {
	for _, d := range durations {
		n, err := strconv.ParseFloat(text, 64)
		if d.unit == unit && err == nil && math.Abs(n) >= 2*d.size {
			text, unit = strconv.FormatFloat(math.Round(n/d.size*10)/10, 'f', -1, 64), d.next
		}
	}
	return text, unit
}

// shortNumber is jsonText with rounded numbers.
func shortNumber(value json.RawMessage) string {
	text := strings.TrimSuffix(jsonText(value), ".0")
	_, decimals, _ := strings.Cut(text, ".")
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case len(decimals) <= 4 || err != nil, math.Abs(n) >= 1e15, math.Abs(n) < 1e-9:
		return text
	}
	digits := 2
	if math.Abs(n) < 1 {
		digits = 3 - int(math.Floor(math.Log10(math.Abs(n))))
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(n, 'f', digits, 64), "0"), ".")
}
