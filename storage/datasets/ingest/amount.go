package ingest

import (
	"bytes"
	"slices"
	"strings"

	"parley/internal/unitname"
)

// units are what may stand before or after a number.
var units = unitname.Names

// formExact is set in the form of an amount that loses digits as a double.
const formExact form = 1 << 7

// formRounded is the form of a fraction that a double rounds, and nothing else: most people
// do not miss its last digits.
const formRounded form = 1 << 6

// unit returns the index of an amount's unit.
func (f form) unit() form { return f &^ (formExact | formRounded) }

// signs are minus signs, removed what is left out of a number with points for
// fractions: opening parentheses are negative amounts of accountants.
const (
	signs   = "(−"
	removed = ") \u00a0\u2009\u202f'’+"
)

// classifyAmount detects numbers with separators of thousands, with decimal
// commas, with a unit before or after them, and in parentheses.
func classifyAmount(b []byte) (kind, form) {
	signed := false
	if len(b) > 2 && b[0] == '(' && b[len(b)-1] == ')' {
		b, signed = b[1:len(b)-1], true
	}
	b, plus, ok := cutSign(b, &signed)
	if !ok {
		return kindText, 0
	}
	unit, b := cutUnit(b, true)
	prefixed := unit > 0
	if unit > 0 {
		// EUR5 and EUR-5 are rather codes.
		if name := units[unit]; isLetter(name[len(name)-1]) && space(b) == 0 {
			return kindText, 0
		}
		var again bool
		b, again, ok = cutSign(trimSpaces(b), &signed)
		if plus = plus || again; !ok {
			return kindText, 0
		}
	} else {
		unit, b = cutUnit(b, false)
		b = trimSpaces(b)
	}
	if len(b) == 0 || plus && unit == 0 {
		return kindText, 0
	}
	k := classifyGroups(b)
	exact := form(0)
	if groupsLoseDigits(b, k) {
		exact = formExact
	}
	switch {
	case k == kindComma3 && prefixed && strings.HasSuffix(units[unit], "$"):
		// Nobody writes thousandths of dollars after a comma.
		k = kindCommaGroups
	case unit > 0:
	// Without a unit, plain numbers are in parentheses or beside spaces, which
	// DuckDB does not read as numbers.
	case k == kindInt:
		k = kindSpaceGroups
	case k == kindFloat:
		k = kindCommaGroupsPoint
	case k == kindPoint3:
		k = kindText
	}
	if k == kindText {
		return kindText, 0
	}
	if unit == eur {
		unit = euro
	}
	return k, unit | exact
}

// The sign and the code of the euro are one unit, unlike $ and USD: several currencies have
// that sign.
var euro, eur = form(slices.Index(units, "€")), form(slices.Index(units, "EUR"))

// groupsLoseDigits reports whether a number with separators, of a kind, is another one as a
// double.
func groupsLoseDigits(b []byte, k kind) bool {
	if len(b) <= exactDigits || k == kindText {
		return false
	}
	sign := -1 // where the decimal sign is
	switch k {
	case kindFloat, kindCommaGroupsPoint:
		sign = bytes.LastIndexByte(b, '.')
	case kindDecimalComma:
		sign = bytes.LastIndexByte(b, ',')
	}
	plain := make([]byte, 0, len(b))
	for i, c := range b {
		if i == sign {
			plain = append(plain, '.')
		} else if isDigit(c) {
			plain = append(plain, c)
		}
	}
	return setOf(kindLong, kindBig, kindExact).meets(classifyNumber(plain).set())
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// cutSign cuts a sign off, of which there may be one.
func cutSign(b []byte, signed *bool) (rest []byte, plus, ok bool) {
	switch {
	case len(b) > 0 && (b[0] == '-' || b[0] == '+'):
		rest, plus = b[1:], b[0] == '+'
	case bytes.HasPrefix(b, []byte("−")):
		rest = b[len("−"):]
	default:
		return b, false, true
	}
	ok = !*signed
	*signed = true
	return rest, plus, ok
}

// cutUnit cuts a unit off the start or the end.
func cutUnit(b []byte, start bool) (form, []byte) {
	// Most cells have none.
	if len(b) == 0 || start && (isDigit(b[0]) || b[0] == '.') || !start && isDigit(b[len(b)-1]) {
		return 0, b
	}
	for i, unit := range units[1:] {
		if start && unit != "%" && bytes.HasPrefix(b, []byte(unit)) {
			return form(i + 1), b[len(unit):]
		}
		if !start && bytes.HasSuffix(b, []byte(unit)) {
			return form(i + 1), b[:len(b)-len(unit)]
		}
	}
	return 0, b
}

// space returns the size of a space that b begins with, or of an apostrophe, which
// separates thousands as spaces do.
func space(b []byte) int {
	for _, s := range []string{" ", "\u00a0", "\u2009", "\u202f", "'", "’"} {
		if bytes.HasPrefix(b, []byte(s)) {
			return len(s)
		}
	}
	return 0
}

func trimSpaces(b []byte) []byte { return bytes.Trim(b, " \u00a0\u2009\u202f") }

// classifyGroups classifies digits with separators, without a sign.
func classifyGroups(b []byte) kind {
	first := countDigits(b)
	zero := first > 0 && b[0] == '0'
	if zero && first > 1 {
		return kindText
	}
	rest, digits := b[first:], first
	// thousands is the separator of all groups but the last, of which last is.
	var thousands, last byte
	seps, length := 0, 0
	for len(rest) > 0 {
		separator, size := rest[0], 1
		if separator != '.' && separator != ',' {
			separator, size = ' ', space(rest)
		}
		// Groups before the last have three digits, and the same separator.
		if size == 0 || seps > 0 && length != 3 || seps > 1 && last != thousands {
			return kindText
		}
		if seps > 0 {
			thousands = last
		}
		last = separator
		length = countDigits(rest[size:])
		if length == 0 {
			return kindText
		}
		digits += length
		seps++
		rest = rest[size+length:]
	}
	grouped := first > 0 && first <= 3 && !zero
	fits := digits <= 18
	switch {
	case seps == 0 && first > 0 && fits:
		return kindInt
	case seps == 0 || seps > 1 && !grouped:
		return kindText
	case seps == 1 && last == '.' && grouped && length == 3:
		return kindPoint3
	case seps == 1 && last == '.':
		return kindFloat
	case seps == 1 && last == ',' && grouped && length == 3:
		return kindComma3
	case seps == 1 && last == ',' && first > 0:
		return kindDecimalComma
	case last == '.' && thousands != '.' && seps > 1:
		return kindCommaGroupsPoint
	case last == ',' && thousands != ',' && seps > 1:
		return kindDecimalComma
	case length != 3 || !grouped || !fits || seps > 1 && last != thousands:
		return kindText
	case last == ',':
		return kindCommaGroups
	case last == '.':
		return kindPointGroups
	}
	return kindSpaceGroups
}
