package source

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Units are what may stand before or after a number. The first is none; one that
// begins another comes after it.
var Units = []string{"", "%", "US$", "CA$", "AU$", "A$", "C$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "₫", "₴", "฿",
	"CHF", "USD", "EUR", "GBP", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "kr", "zł", "Kč", "Ft"}

// percent is the index of % among units.
const percent = 1

// setUnit sets the unit of a format that shows a text and so many signs of percent.
func (f *numberFormat) setUnit(text string, percents int) {
	switch {
	case percents == 1:
		f.unit, f.times100 = percent, true
	case percents == 0 && text != "":
		f.unit = max(0, slices.Index(Units, text))
	}
}

// styleMark is the first of the characters before numbers with a unit, in order of the
// styles of their cells.
const styleMark = 0xf0000

// markStyle puts the style of a number before it.
func markStyle(style int, number string) string { return string(rune(styleMark+style)) + number }

// cutStyle returns the number and the format of a cell with a mark.
func (g *grid) cutStyle(cell string) (number string, f *numberFormat) {
	c, size := utf8.DecodeRuneInString(cell)
	style := int(c) - styleMark
	if style < 0 || style >= len(g.formats) || !isDecimal(cell[size:]) {
		return cell, nil
	}
	return cell[size:], &g.formats[style]
}

func isDecimal(cell string) bool {
	if cell == "" || strings.Trim(cell, "0123456789.+-eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}

// maxDecimals limits the digits of a fraction: a longer cell is text.
const maxDecimals = 32

// show writes a number with its unit, without rounding.
func (f *numberFormat) show(number string) string {
	if f.unit == 0 {
		return number
	}
	number, negative := strings.CutPrefix(number, "-")
	digits, exponent, _ := strings.Cut(strings.ToUpper(number), "E")
	shift, _ := strconv.Atoi(exponent)
	if f.times100 {
		shift += 2
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits, point := whole+fraction, len(whole)+shift
	if point < 0 {
		digits, point = strings.Repeat("0", min(-point, 400))+digits, 0
	} else if point > len(digits) {
		digits += strings.Repeat("0", min(point-len(digits), 400))
	}
	point = min(point, len(digits))
	whole, fraction = strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	fraction = fraction[:min(len(fraction), maxDecimals)]
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	if whole == "" {
		whole = "0"
	}
	b.WriteString(whole)
	// Three digits could be thousands, and a long whole number is text.
	switch {
	case len(fraction) == 3:
		fraction += "0"
	case fraction == "" && len(whole) > 18:
		fraction = "0"
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	if f.unit != percent {
		b.WriteByte(' ')
	}
	b.WriteString(Units[f.unit])
	return b.String()
}
