package engine

import (
	"math"
	"strconv"
	"time"
)

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
