package dialog

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"parley/internal/locale"
)

// currencies stand before their numbers; other units follow them.
const currencies = "€$£¥"

// formatNumber formats a JSON number, or one that is written as a text, with its thousands
// apart, so many decimals at least and at most four, and its unit.
func formatNumber(numbers locale.Numbers, value json.RawMessage, unit string, decimals int) string {
	text := shortNumber(value)
	if whole, fraction, _ := strings.Cut(text, "."); len(fraction) < decimals {
		text = whole + "." + fraction + strings.Repeat("0", decimals-len(fraction))
	}
	text = numbers.Format(text)
	currency := unit != "" && strings.Contains(currencies, unit)
	negative := strings.HasPrefix(text, "-")
	switch text = escapeCell(text); {
	case unit == "":
		return text
	case currency && negative:
		return "-" + escapeCell(unit) + text[1:]
	case currency:
		return escapeCell(unit) + text
	}
	return text + " " + escapeCell(unit)
}

// shortNumber is jsonText with rounded numbers.
func shortNumber(value json.RawMessage) string {
	text := jsonText(value)
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
