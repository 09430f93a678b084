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
	// kindText is all else, also digits that a number would not give back: 007,
	// +49, 40 digits.
	kindText
	kinds
)

// kindSet is the kinds that some values have.
type kindSet uint32

func setOf(kinds ...kind) (s kindSet) {
	for _, k := range kinds {
		s.add(k)
	}
	return s
}

func (s *kindSet) add(k kind) { *s |= 1 << k }

// within reports whether no kind is outside another set.
func (s kindSet) within(other kindSet) bool { return s&^other == 0 }

// meets reports whether some kind is in another set too.
func (s kindSet) meets(other kindSet) bool { return s&other != 0 }

// classify gives the kind of a text value that is not empty. Whatever it calls a
// number, date or time, DuckDB reads as such, to the same value.
func classify(b []byte) kind {
	// Blanks around a number or a date carry nothing; in text they stay.
	if b[0] == ' ' || b[len(b)-1] == ' ' {
		b = bytes.Trim(b, " ")
		if len(b) == 0 {
			return kindText
		}
	}
	switch c := b[0]; {
	case c >= '0' && c <= '9':
		return classifyDigits(b)
	case c == '-' || c == '.':
		if k := classifyNumber(b); k != kindText {
			return k
		}
		if c == '-' {
			return special(b[1:])
		}
	case c == 't' || c == 'T' || c == 'f' || c == 'F':
		if equalFold(b, "true") || equalFold(b, "false") {
			return kindBool
		}
	case c == 'n' || c == 'N' || c == 'i' || c == 'I':
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

// classifyDigits is for values that start with a digit.
func classifyDigits(b []byte) kind {
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
		return classifyNumber(b)
	}
	return kindText
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
			return kindText
		}
	}
	if whole > 1 && digits[0] == '0' {
		return kindText
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
		return kindText
	case len(digits) <= 18:
		return kindInt
	case len(digits) > 38:
		return kindText
	}
	if _, err := strconv.ParseInt(string(b), 10, 64); err != nil {
		return kindBig
	}
	return kindInt
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
