package source

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// Units are what may stand before or after a number. The first is none; one that
// begins another comes after it.
var Units = []string{"", "%", "US$", "CA$", "AU$", "A$", "C$", "R$", "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "₫", "₴", "฿",
	"CHF", "USD", "EUR", "GBP", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "kr", "zł", "Kč", "Ft"}

// percent is the index of % among units.
const percent = 1

// numberFormat is what the format of a cell shows with its number.
type numberFormat struct {
	// unit is an index of Units.
	unit int
	// times100 says that the number is shown times 100.
	times100 bool
	// code is the part of the format for numbers from 0 on.
	code string
}

// moneyFormats are the formats with a currency that have a number instead of a code.
var moneyFormats = map[int]string{5: `"$"#,##0`, 6: `"$"#,##0`, 7: `"$"#,##0.00`, 8: `"$"#,##0.00`, 42: `"$"#,##0`, 44: `"$"#,##0.00`}

// parseFormat reads the code of a format.
func parseFormat(code string) numberFormat {
	var shown strings.Builder
	percents, rest := 0, code
	for rest != "" && rest[0] != ';' {
		c, size := utf8.DecodeRuneInString(rest)
		rest = rest[size:]
		switch _, next := utf8.DecodeRuneInString(rest); {
		case c == '"':
			var text string
			text, rest, _ = strings.Cut(rest, `"`)
			shown.WriteString(text)
		case c == '\\':
			shown.WriteString(rest[:next])
			rest = rest[next:]
		case c == '_' || c == '*': // a blank, and what fills the cell
			rest = rest[next:]
		case c == '[':
			var text string
			text, rest, _ = strings.Cut(rest, "]")
			if symbol, ok := strings.CutPrefix(text, "$"); ok {
				symbol, _, _ = strings.Cut(symbol, "-")
				shown.WriteString(symbol)
			}
		case c == '%':
			percents++
		case c == 'G' && strings.HasPrefix(rest, "eneral"):
			rest = rest[len("eneral"):]
		case !strings.ContainsRune("0#?.,+-()", c):
			shown.WriteRune(c)
		}
	}
	f := numberFormat{code: strings.TrimSpace(code[:len(code)-len(rest)])}
	text := strings.Trim(shown.String(), " \u00a0\u202f()-+")
	switch {
	case percents == 1:
		f.unit, f.times100 = percent, true
	case percents == 0 && text != "":
		f.unit = max(0, slices.Index(Units, text))
	}
	return f
}

// maxStyles is how many styles of a workbook may show units: as many as there are marks.
const maxStyles = 0xfffd

// styleMark is the first of the characters before numbers with a unit, in order of the
// styles of their cells.
const styleMark = 0xf0000

// markStyle puts the style of a number before it.
func markStyle(style int, number string) string { return string(rune(styleMark+style)) + number }

// cutStyle gives the number and the format of a cell with a mark.
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

const (
	// maxPatterns is how many different rows of styles are held in memory, and maxStyled how
	// many styles all of them have.
	maxPatterns = 10_000
	maxStyled   = 1_000_000
)

// styledCell is a number with a unit, by its column from 0 and its style.
type styledCell struct{ column, style uint16 }

// styledRows are the styles of numbers with a unit. Most rows of a sheet have the same.
type styledRows struct {
	// row are the cells of the row that is being read.
	row      []styledCell
	patterns [][]styledCell
	known    map[string]int
	styled   int
	// runs are the first rows, from 1, of rows with the same pattern.
	runs []styledRun
	// tooMany says that there are more patterns than are held: units are not read.
	tooMany bool
}

type styledRun struct{ row, pattern int }

// end ends the row with a number.
func (s *styledRows) end(number int) {
	row := s.row
	s.row = s.row[:0]
	last := -1
	if len(s.runs) > 0 {
		last = s.runs[len(s.runs)-1].pattern
	}
	if s.tooMany || last < 0 && len(row) == 0 || last >= 0 && slices.Equal(s.patterns[last], row) {
		return
	}
	var key []byte
	for _, c := range row {
		key = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(key, c.column), c.style)
	}
	at, known := s.known[string(key)]
	if !known {
		if s.known == nil {
			s.known = map[string]int{}
		}
		at = len(s.patterns)
		s.known[string(key)] = at
		s.patterns, s.styled = append(s.patterns, slices.Clone(row)), s.styled+len(row)
	}
	s.runs = append(s.runs, styledRun{number, at})
	if len(s.patterns) > maxPatterns || s.styled > maxStyled || len(s.runs) > excelize.TotalRows {
		*s = styledRows{tooMany: true}
	}
}

// mark marks the cells of a row, which come in order.
func (s *styledRows) mark(number int, cells []string) {
	for len(s.runs) > 1 && s.runs[1].row <= number {
		s.runs = s.runs[1:]
	}
	if len(s.runs) == 0 || s.runs[0].row > number {
		return
	}
	for _, c := range s.patterns[s.runs[0].pattern] {
		if int(c.column) < len(cells) && isDecimal(cells[c.column]) {
			cells[c.column] = markStyle(int(c.style), cells[c.column])
		}
	}
}
