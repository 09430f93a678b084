package ingest

import (
	"bytes"
	"math"
	"strconv"
)

// kind is the narrowest class of values that one value belongs to.
type kind uint8

const (
	kindBool kind = iota
	// kindInt is a whole number that fits 64 bits.
	kindInt
	// kindBig is a whole number of at most 38 digits that does not.
	kindBig
	kindFloat
	// kindSpecial is NaN or an infinity: a number only among numbers.
	kindSpecial
	// kindID is digits that a number would not give back: 007, +49, 40 digits.
	kindID
	kindDate
	// Dates with the year last: the day is first, the month is first, or both
	// readings are possible.
	kindDayFirst
	kindMonthFirst
	kindEitherFirst
	kindTime
	kindTimestamp
	kindInstant
	// kindList is a JSON list of scalars, kindNested any other JSON list and
	// every object.
	kindList
	kindNested
	// kindCode is text with letters and digits, such as 12345-R.
	kindCode
	kindText
	kinds
)

// classify gives the kind of a text value that is not empty. Whatever it calls a
// number, date or time, DuckDB reads as such, to the same value.
func classify(value []byte) kind {
	b := value
	// Blanks around a number or a date carry nothing; in text they stay.
	if b[0] == ' ' || b[len(b)-1] == ' ' {
		b = bytes.Trim(b, " ")
		if len(b) == 0 {
			return kindText
		}
	}
	switch c := b[0]; {
	case c >= '0' && c <= '9':
		return classifyDigits(b, value)
	case c == '-' || c == '.':
		if k := classifyNumber(b); k != kindText {
			return k
		}
		if c == '-' {
			return special(b[1:], value)
		}
	case c == '+':
		if k := classifyNumber(b[1:]); k == kindInt || k == kindBig || k == kindFloat || k == kindID {
			return kindID
		}
	case c == 't' || c == 'T' || c == 'f' || c == 'F':
		if equalFold(b, "true") || equalFold(b, "false") {
			return kindBool
		}
	case c == 'n' || c == 'N' || c == 'i' || c == 'I':
		return special(b, value)
	}
	return textKind(value)
}

func special(b, value []byte) kind {
	if equalFold(b, "nan") || equalFold(b, "inf") || equalFold(b, "infinity") {
		return kindSpecial
	}
	return textKind(value)
}

// classifyDigits is for values that start with a digit.
func classifyDigits(b, value []byte) kind {
	n := 1
	for n < len(b) && isDigit(b[n]) {
		n++
	}
	if n == len(b) {
		return wholeNumber(b, b)
	}
	switch c := b[n]; {
	case (c == '-' || c == '/') && n == 4:
		if k := classifyISO(b); k != kindText {
			return k
		}
	case (c == '-' || c == '/' || c == '.') && n <= 2:
		if k := classifyYearLast(b, n); k != kindText {
			return k
		}
	case c == ':' && n == 2:
		if rest, _, ok := clock(b); ok && len(rest) == 0 {
			return kindTime
		}
	}
	if c := b[n]; c == '.' || c == 'e' || c == 'E' {
		if k := classifyNumber(b); k != kindText {
			return k
		}
	}
	return textKind(value)
}

// classifyNumber knows whole numbers and fractions with an optional minus;
// everything else is text to it.
func classifyNumber(b []byte) kind {
	digits := b
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	i, mantissa := 0, 0
	for i < len(digits) && isDigit(digits[i]) {
		i++
	}
	mantissa = i
	whole := i
	if i == len(digits) {
		if whole == 0 {
			return kindText
		}
		return wholeNumber(b, digits)
	}
	if digits[i] == '.' {
		i++
		for i < len(digits) && isDigit(digits[i]) {
			i++
			mantissa++
		}
	}
	if mantissa == 0 || len(b) > 300 {
		return kindText
	}
	if i < len(digits) {
		if !exponent(digits[i:]) {
			return kindText
		}
		// Too large or too small for a double would become infinity or zero.
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || math.IsInf(f, 0) || (f == 0 && bytes.ContainsAny(digits[:i], "123456789")) {
			return kindID
		}
	}
	if whole > 1 && digits[0] == '0' {
		return kindID
	}
	return kindFloat
}

func exponent(b []byte) bool {
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	b = b[1:]
	if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	return allDigits(b) && len(b) <= 5
}

// wholeNumber judges a number whose digits, without the sign, are all digits.
func wholeNumber(b, digits []byte) kind {
	switch {
	case len(digits) > 1 && digits[0] == '0':
		return kindID
	case len(digits) <= 18:
		return kindInt
	case len(digits) > 38:
		return kindID
	}
	if _, err := strconv.ParseInt(string(b), 10, 64); err != nil {
		return kindBig
	}
	return kindInt
}

func textKind(b []byte) kind {
	letter, digit := false, false
	for _, c := range b[:min(len(b), 64)] {
		switch {
		case isDigit(c):
			digit = true
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80:
			letter = true
		}
	}
	if letter && digit {
		return kindCode
	}
	return kindText
}

func isDigit(c byte) bool { return c-'0' < 10 }

func allDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
	}
	return len(b) > 0
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
