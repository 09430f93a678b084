package engine

import (
	"math"
	"strconv"
)

// Dates and times, in ISO 8601. DuckDB's range is far wider than time.Time's
// formatting, so the calendar is done here.

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
)

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

// appendTime appends a time of day.
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
	// Days are counted from 0000-03-01, so that a leap day ends its year; the
	// calendar repeats every 400 years.
	const perEra = 146_097
	z := days + 719_468
	era := z / perEra
	if z%perEra < 0 {
		era--
	}
	day := z - era*perEra
	year := (day - day/1460 + day/36_524 - day/146_096) / 365
	ofYear := day - (365*year + year/4 - year/100)
	shifted := (5*ofYear + 2) / 153
	date := ofYear - (153*shifted+2)/5 + 1
	month := shifted + 3
	if month > 12 {
		month -= 12
	}
	year += era * 400
	if month <= 2 {
		year++
	}
	switch {
	case year > 9999:
		buf = strconv.AppendInt(append(buf, '+'), year, 10)
	case year < 0:
		buf = appendPadded(append(buf, '-'), -year, 4)
	default:
		buf = appendPadded(buf, year, 4)
	}
	buf = appendPadded(append(buf, '-'), month, 2)
	return appendPadded(append(buf, '-'), date, 2)
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
