package ingest

import (
	"bytes"
	"strconv"
	"strings"
)

// kind is the narrowest class of a value.
type kind uint8

const (
	kindBool kind = iota
	// kindInt is a whole number that fits 64 bits.
	kindInt
	// kindBig is a whole number of at most 38 digits that does not.
	kindBig
	kindFloat
	// kindPoint3 is a fraction such as 1.234, in which the point can separate
	// thousands where other values say so.
	kindPoint3
	// kindSpecial is NaN or an infinity: a number only among numbers. NaN in a cell
	// is a missing value.
	kindSpecial
	kindDate
	kindTime
	kindTimestamp
	kindInstant
	// kindList is a JSON list of scalars, kindNested any other JSON list and
	// every object.
	kindList
	kindNested
	// kindText is all else, also digits that a number would not preserve: 007,
	// +49, 40 digits.
	kindText

	// The kinds below are those of cells, which people write as they like
	// (amount.go, dates.go). In JSON they are text.

	// kindCode is digits with a leading zero: a code, which is text.
	kindCode
	// kindMissing is a spelling of a missing value, such as N/A.
	kindMissing
	// Numbers with separators: 1,234,567; 1,234.5; 1,234, which is ambiguous;
	// 1.234,5 or 1,5; 1.234.567; 1 234.
	kindCommaGroups
	kindCommaGroupsPoint
	kindComma3
	kindDecimalComma
	kindPointGroups
	kindSpaceGroups
	// kindWord is a word for true or false, which it is only beside its opposite. Its form is
	// its index in booleanWords.
	kindWord
	// Dates with the year last: the day is first, the month is first, or both
	// orders are possible.
	kindDayFirst
	kindMonthFirst
	kindEitherFirst
	// kindNamedMonth is a date whose month is a name.
	kindNamedMonth
	// kindLong is a whole number that fits 64 bits and may not fit a double, kindExact a
	// fraction that loses digits as a double.
	kindLong
	kindExact
)

// kindSet is a set of kinds.
type kindSet uint32

func (k kind) set() kindSet { return 1 << k }

func setOf(kinds ...kind) (s kindSet) {
	for _, k := range kinds {
		s |= k.set()
	}
	return s
}

// plain returns the kinds without regard to the digits of numbers.
func (s kindSet) plain() kindSet {
	for _, k := range []kind{kindLong, kindExact} {
		if s.meets(k.set()) {
			s = s&^k.set() | k.plain().set()
		}
	}
	return s
}

// within reports whether no kind is outside another set.
func (s kindSet) within(other kindSet) bool { return s&^other == 0 }

// meets reports whether some kind is in another set too.
func (s kindSet) meets(other kindSet) bool { return s&other != 0 }

// classify returns the kind of a text value that is not empty. What it classifies
// as a number, date or time, DuckDB reads as such, with the same value.
func classify(b []byte) kind {
	// Blanks around a number or a date have no meaning; in text they stay.
	if b[0] == ' ' || b[len(b)-1] == ' ' {
		b = bytes.Trim(b, " ")
		if len(b) == 0 {
			return kindText
		}
	}
	switch c := b[0]; {
	case isDigit(c) || c == '-' || c == '.':
		switch k := classifyNumber(b); {
		case k != kindText:
			return k
		case isDigit(c):
			return classifyTemporal(b)
		case c == '-':
			return special(b[1:])
		}
	case equalFold(b, "true") || equalFold(b, "false"):
		return kindBool
	default:
		return special(b)
	}
	return kindText
}

func special(b []byte) kind {
	if equalFold(b, "nan") || equalFold(b, "inf") || equalFold(b, "infinity") {
		return kindSpecial
	}
	return kindText
}

// classifyNumber detects whole numbers and fractions with an optional minus;
// everything else is text to it.
func classifyNumber(b []byte) kind {
	digits := b
	if digits[0] == '-' {
		digits = digits[1:]
	}
	whole, fraction := countDigits(digits), 0
	if whole > 0 && whole == len(digits) {
		return wholeNumber(b, digits)
	}
	rest := digits[whole:]
	if len(rest) > 0 && rest[0] == '.' {
		fraction = countDigits(rest[1:])
		rest = rest[1+fraction:]
	}
	switch {
	case whole+fraction == 0 || len(b) > 300 || whole > 1 && digits[0] == '0':
		return kindText
	case len(rest) == 0 && fraction == 3 && whole > 0 && whole <= 3 && digits[0] != '0':
		return kindPoint3
	case len(rest) == 0 && whole >= exactDigits && losesDigits(b, fraction):
		return kindExact
	case len(rest) == 0:
		return kindFloat
	case !exponent(rest):
		return kindText
	}
	// Too large or too small for a double would become infinity or zero.
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || f == 0 && bytes.ContainsAny(digits[:len(digits)-len(rest)], "123456789") {
		return kindText
	}
	return kindFloat
}

// exactDigits is how many digits before the point a fraction has that a double may not hold.
// Of others it holds so much that nobody misses the rest.
const exactDigits = 13

// losesDigits reports whether a fraction with so many digits after its point is another one
// as a double.
func losesDigits(b []byte, fraction int) bool {
	f, err := strconv.ParseFloat(string(b), 64)
	written := strconv.FormatFloat(f, 'f', fraction, 64)
	if b = bytes.TrimSuffix(b, []byte{'.'}); bytes.HasPrefix(bytes.TrimPrefix(b, []byte{'-'}), []byte{'.'}) {
		written = strings.Replace(written, "0.", ".", 1)
	}
	return err != nil || written != string(b)
}

// plain returns the kind of a number without regard to its digits.
func (k kind) plain() kind {
	switch k {
	case kindLong:
		return kindInt
	case kindExact:
		return kindFloat
	}
	return k
}

func exponent(b []byte) bool {
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	b = b[1:]
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	return len(b) > 0 && len(b) <= 5 && countDigits(b) == len(b)
}

// wholeNumber classifies a number of digits alone, without its sign.
func wholeNumber(b, digits []byte) kind {
	switch {
	case len(digits) > 1 && digits[0] == '0':
		return kindText
	case len(digits) <= 15:
		return kindInt
	case len(digits) > 38:
		return kindText
	}
	switch n, err := strconv.ParseInt(string(b), 10, 64); {
	case err != nil:
		return kindBig
	case n > 1<<53 || n < -1<<53:
		return kindLong
	}
	return kindInt
}

func isDigit(c byte) bool { return c-'0' < 10 }

// countDigits counts the digits that b begins with.
func countDigits(b []byte) (n int) {
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	return n
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i := range b {
		if b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}
