package engine

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"time"
	"unicode/utf8"
)

// Values as JSON, by section 7 of the interface.

// maxExact bounds the integers that a double represents exactly.
const maxExact = 1 << 53

const hexDigits = "0123456789abcdef"

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(buf []byte, s string) []byte {
	buf = append(buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				buf = append(append(buf, s[start:i]...), `\ufffd`...)
				start = i + 1
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		buf = append(buf, s[start:i]...)
		switch c {
		case '"', '\\':
			buf = append(buf, '\\', c)
		case '\n':
			buf = append(buf, '\\', 'n')
		case '\r':
			buf = append(buf, '\\', 'r')
		case '\t':
			buf = append(buf, '\\', 't')
		default:
			buf = append(buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	return append(append(buf, s[start:]...), '"')
}

func appendInt(buf []byte, v int64) []byte {
	if v > maxExact || v < -maxExact {
		return append(strconv.AppendInt(append(buf, '"'), v, 10), '"')
	}
	return strconv.AppendInt(buf, v, 10)
}

func appendUint(buf []byte, v uint64) []byte {
	if v > maxExact {
		return append(strconv.AppendUint(append(buf, '"'), v, 10), '"')
	}
	return strconv.AppendUint(buf, v, 10)
}

func appendBig(buf []byte, v *big.Int) []byte {
	if v.IsInt64() {
		return appendInt(buf, v.Int64())
	}
	return append(v.Append(append(buf, '"'), 10), '"')
}

// hugeint is a 128-bit integer in DuckDB's memory.
type hugeint struct {
	lower uint64
	upper int64
}

func (h hugeint) big() *big.Int {
	v := new(big.Int).Lsh(big.NewInt(h.upper), 64)
	return v.Or(v, new(big.Int).SetUint64(h.lower))
}

func (h hugeint) unsignedBig() *big.Int {
	v := new(big.Int).Lsh(new(big.Int).SetUint64(uint64(h.upper)), 64)
	return v.Or(v, new(big.Int).SetUint64(h.lower))
}

// appendFloat appends a double, or a float when bits is 32.
func appendFloat(buf []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(buf, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(buf, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(buf, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(buf, v, format, -1, bits)
}

// appendDecimal appends unscaled / 10^scale as text, with all its digits.
func appendDecimal(buf []byte, unscaled *big.Int, scale int) []byte {
	digits := new(big.Int).Abs(unscaled).String()
	for len(digits) <= scale {
		digits = "0" + digits
	}
	buf = append(buf, '"')
	if unscaled.Sign() < 0 {
		buf = append(buf, '-')
	}
	buf = append(buf, digits[:len(digits)-scale]...)
	if scale > 0 {
		buf = append(buf, '.')
		buf = append(buf, digits[len(digits)-scale:]...)
	}
	return append(buf, '"')
}

func appendBinary(buf []byte, b []byte) []byte {
	buf = append(buf, '"')
	buf = base64.StdEncoding.AppendEncode(buf, b)
	return append(buf, '"')
}

// appendBits appends a bit string: the first byte says how many bits of the
// second are padding.
func appendBits(buf []byte, b []byte) []byte {
	buf = append(buf, '"')
	if len(b) > 1 {
		skip := int(b[0])
		for at := skip; at < 8*(len(b)-1); at++ {
			buf = append(buf, '0'+b[1+at/8]>>(7-at%8)&1)
		}
	}
	return append(buf, '"')
}

// bignum decodes a BIGNUM: three bytes of header, whose first bit is set for positive
// numbers, then the magnitude; complemented for negative ones.
func bignum(b []byte) *big.Int {
	if len(b) < 4 {
		return new(big.Int)
	}
	magnitude := bytes.Clone(b[3:])
	if b[0]&0x80 != 0 {
		return new(big.Int).SetBytes(magnitude)
	}
	for i := range magnitude {
		magnitude[i] = ^magnitude[i]
	}
	v := new(big.Int).SetBytes(magnitude)
	return v.Neg(v)
}

// appendUUID appends a UUID: in DuckDB a hugeint with the first bit inverted.
func appendUUID(buf []byte, h hugeint) []byte {
	upper := uint64(h.upper) ^ 1<<63
	buf = append(buf, '"')
	for i := range 32 {
		if i == 8 || i == 12 || i == 16 || i == 20 {
			buf = append(buf, '-')
		}
		word := upper
		if i >= 16 {
			word = h.lower
		}
		buf = append(buf, hexDigits[word>>(60-4*(i%16))&15])
	}
	return append(buf, '"')
}

// appendDocument appends a value of the type JSON, or its text if it is not valid.
func appendDocument(buf []byte, s string) []byte {
	if !utf8.ValidString(s) || !json.Valid([]byte(s)) {
		return appendText(buf, s)
	}
	out := bytes.NewBuffer(buf)
	if err := json.Compact(out, []byte(s)); err != nil {
		return appendText(buf, s)
	}
	return out.Bytes()
}

// maxNesting limits the levels of arrays and objects in a cell, for clients' parsers. A
// deeper one is written as text.
const maxNesting = 100

// nestsDeeper reports whether a JSON value has more levels than limit.
func nestsDeeper(value []byte, limit int) bool {
	if value[0] != '[' && value[0] != '{' {
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return true
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return false
}

// appendScore appends a row's score, from 0 to 1.
func appendScore(buf []byte, score float64) []byte {
	buf = append(buf, `"__metadata":{"score":`...)
	switch {
	case !(score > 0):
		buf = append(buf, '0')
	case score >= 1:
		buf = append(buf, "1.0"...)
	default:
		buf = appendFloat(buf, score, 64)
	}
	return append(buf, '}')
}

// Dates and times, in ISO 8601, whose years may have more than four digits.

const microsPerSecond = 1_000_000

// appendDate appends the date that is so many days after 1970-01-01.
func appendDate(buf []byte, days int32) []byte {
	switch days {
	case math.MaxInt32:
		return append(buf, `"infinity"`...)
	case -math.MaxInt32:
		return append(buf, `"-infinity"`...)
	}
	return append(appendDay(append(buf, '"'), int64(days)), '"')
}

// appendTimestamp appends a count of units since 1970, perSecond of them a
// second, with fraction digits; zone is "" or "Z".
func appendTimestamp(buf []byte, v, perSecond int64, digits int, zone string) []byte {
	switch v {
	case math.MaxInt64:
		return append(buf, `"infinity"`...)
	case -math.MaxInt64:
		return append(buf, `"-infinity"`...)
	}
	perDay := 86_400 * perSecond
	days, rest := v/perDay, v%perDay
	if rest < 0 {
		days, rest = days-1, rest+perDay
	}
	buf = append(appendDay(append(buf, '"'), days), 'T')
	buf = appendClock(buf, rest, perSecond, digits)
	return append(append(buf, zone...), '"')
}

func appendTime(buf []byte, v, perSecond int64, digits int) []byte {
	return append(appendClock(append(buf, '"'), v, perSecond, digits), '"')
}

// appendTimeTZ appends a time of day with its offset. DuckDB packs 40 bits of
// microseconds above 24 bits that hold the offset from the largest one down.
func appendTimeTZ(buf []byte, packed uint64) []byte {
	const maxOffset = 16*3600 - 1
	buf = appendClock(append(buf, '"'), int64(packed>>24), microsPerSecond, 6)
	offset := maxOffset - int64(packed&0xffffff)
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	buf = appendPadded(append(buf, sign), offset/3600, 2)
	buf = appendPadded(append(buf, ':'), offset/60%60, 2)
	if s := offset % 60; s != 0 {
		buf = appendPadded(append(buf, ':'), s, 2)
	}
	return append(buf, '"')
}

// appendInterval appends an ISO 8601 duration.
func appendInterval(buf []byte, months, days int32, micros int64) []byte {
	buf = append(buf, '"', 'P')
	none := len(buf)
	part := func(v int64, unit byte) {
		if v != 0 {
			buf = append(strconv.AppendInt(buf, v, 10), unit)
		}
	}
	part(int64(months/12), 'Y')
	part(int64(months%12), 'M')
	part(int64(days), 'D')
	if micros != 0 {
		buf = append(buf, 'T')
		part(micros/(3600*microsPerSecond), 'H')
		part(micros/(60*microsPerSecond)%60, 'M')
		seconds, fraction := micros/microsPerSecond%60, micros%microsPerSecond
		if seconds != 0 || fraction != 0 {
			if micros < 0 {
				buf, seconds, fraction = append(buf, '-'), -seconds, -fraction
			}
			buf = strconv.AppendInt(buf, seconds, 10)
			buf = append(appendFraction(buf, fraction, 6), 'S')
		}
	}
	if len(buf) == none {
		buf = append(buf, "T0S"...)
	}
	return append(buf, '"')
}

// appendDay appends a day of the proleptic Gregorian calendar. Years beyond
// four digits, and those before year 1, carry a sign.
func appendDay(buf []byte, days int64) []byte {
	year, month, day := time.Unix(days*86_400, 0).UTC().Date()
	switch {
	case year > 9999:
		buf = strconv.AppendInt(append(buf, '+'), int64(year), 10)
	case year < 0:
		buf = appendPadded(append(buf, '-'), int64(-year), 4)
	default:
		buf = appendPadded(buf, int64(year), 4)
	}
	buf = appendPadded(append(buf, '-'), int64(month), 2)
	return appendPadded(append(buf, '-'), int64(day), 2)
}

func appendClock(buf []byte, v, perSecond int64, digits int) []byte {
	seconds := v / perSecond
	buf = appendPadded(buf, seconds/3600, 2)
	buf = appendPadded(append(buf, ':'), seconds/60%60, 2)
	buf = appendPadded(append(buf, ':'), seconds%60, 2)
	return appendFraction(buf, v%perSecond, digits)
}

// appendFraction appends the digits behind the point, without the zeros that
// end them.
func appendFraction(buf []byte, v int64, digits int) []byte {
	if v == 0 {
		return buf
	}
	for v%10 == 0 {
		v, digits = v/10, digits-1
	}
	return appendPadded(append(buf, '.'), v, digits)
}

func appendPadded(buf []byte, v int64, width int) []byte {
	for limit := int64(10); width > 1; width-- {
		if v < limit {
			buf = append(buf, '0')
		}
		limit *= 10
	}
	return strconv.AppendInt(buf, v, 10)
}
