package xlsx

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/internal/unitname"
)

// Percent is the unit of numbers that are shown times 100.
const Percent = "%"

// setUnit sets the unit of a format that shows a text and so many signs of percent.
func (f *Format) setUnit(text string, percents int) {
	switch {
	case percents == 1:
		f.Unit, f.times100 = Percent, true
	case percents == 0 && slices.Contains(unitname.Names, text):
		f.Unit = text
	}
}

// styleMark is the first of the characters before numbers with a unit, in order of the
// styles of their cells.
const styleMark = 0xf0000

// markStyle puts the style of a number before it.
func markStyle(style int, number string) string { return string(rune(styleMark+style)) + number }

// CutStyle returns the number and the format of a cell with the mark of its style; nil for others.
func CutStyle(cell string, formats []Format) (number string, f *Format) {
	c, size := utf8.DecodeRuneInString(cell)
	style := int(c) - styleMark
	if style < 0 || style >= len(formats) || !IsDecimal(cell[size:]) {
		return cell, nil
	}
	return cell[size:], &formats[style]
}

// IsDecimal reports whether a cell is a plain number.
func IsDecimal(cell string) bool {
	if cell == "" || strings.Trim(cell, "0123456789.+-eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}

// maxDecimals limits the digits of a fraction: a longer cell is text.
const maxDecimals = 32

// Show writes a number with its unit, without rounding.
func (f *Format) Show(number string) string {
	if f.Unit == "" {
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
	if f.Unit != Percent {
		b.WriteByte(' ')
	}
	b.WriteString(f.Unit)
	return b.String()
}
