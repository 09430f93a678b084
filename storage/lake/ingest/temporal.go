package ingest

import "time"

// classifyTemporal detects times (10:30), and dates and timestamps with the year
// first (2024-01-31, 2024/1/31, 2024-01-31T10:30:00.123456Z). Fractions finer
// than a microsecond are text, since they would be cut.
func classifyTemporal(b []byte) kind {
	if isPlainDate(b) {
		return classifyAfterDate(b[10:])
	}
	if rest, _, ok := clock(b); ok {
		if len(rest) == 0 {
			return kindTime
		}
		return kindText
	}
	numbers, widths, separator, rest, ok := threeNumbers(b)
	if ok && widths[0] == 4 && widths[2] <= 2 && separator != '.' && isDate(numbers[0], numbers[1], numbers[2]) {
		return classifyAfterDate(rest)
	}
	return kindText
}

// threeNumbers reads three numbers of up to four digits, the second of at most
// two, with the same separator between them.
func threeNumbers(b []byte) (numbers, widths [3]int, separator byte, rest []byte, ok bool) {
	for i := range numbers {
		if i > 0 {
			if len(b) == 0 || i == 2 && b[0] != separator {
				return
			}
			separator, b = b[0], b[1:]
		}
		widths[i] = countDigits(b)
		if widths[i] == 0 || widths[i] > 4 {
			return
		}
		for _, c := range b[:widths[i]] {
			numbers[i] = numbers[i]*10 + int(c-'0')
		}
		b = b[widths[i]:]
	}
	ok = (separator == '-' || separator == '/' || separator == '.') && widths[1] <= 2
	return numbers, widths, separator, b, ok
}

// classifyAfterDate tells dates from timestamps by what follows the date.
func classifyAfterDate(b []byte) kind {
	if len(b) == 0 {
		return kindDate
	}
	if b[0] != ' ' && b[0] != 'T' {
		return kindText
	}
	rest, seconds, ok := clock(b[1:])
	switch {
	case !ok:
		return kindText
	case len(rest) == 0:
		return kindTimestamp
	case seconds && isZone(rest):
		return kindInstant
	}
	return kindText
}

// clock reads HH:MM, HH:MM:SS or HH:MM:SS.ffffff and gives what follows.
func clock(b []byte) (rest []byte, seconds, ok bool) {
	if len(b) < 5 || b[2] != ':' || pair(b, 0) > 23 || pair(b, 3) > 59 {
		return nil, false, false
	}
	rest = b[5:]
	if len(rest) == 0 || rest[0] != ':' {
		return rest, false, true
	}
	if len(rest) < 3 || pair(rest, 1) > 59 {
		return nil, false, false
	}
	rest = rest[3:]
	if len(rest) > 0 && rest[0] == '.' {
		n := countDigits(rest[1:])
		if n == 0 || n > 6 {
			return nil, false, false
		}
		rest = rest[1+n:]
	}
	return rest, true, true
}

// isZone detects Z, +HH and +HH:MM.
func isZone(b []byte) bool {
	if len(b) == 1 {
		return b[0] == 'Z'
	}
	if (b[0] != '+' && b[0] != '-') || len(b) < 3 || pair(b, 1) > 14 {
		return false
	}
	return len(b) == 3 || len(b) == 6 && b[3] == ':' && pair(b, 4) <= 59
}

// pair reads two digits; what is not digits gives a number past all limits.
func pair(b []byte, at int) uint {
	tens, units := uint(b[at]-'0'), uint(b[at+1]-'0')
	if tens > 9 || units > 9 {
		return 1000
	}
	return tens*10 + units
}

// isPlainDate is a quick check for YYYY-MM-DD up to the 28th, which every month
// has: most dates are such.
func isPlainDate(b []byte) bool {
	return len(b) >= 10 && b[4] == '-' && b[7] == '-' && pair(b, 0)-1 < 99 && pair(b, 2) < 100 && pair(b, 5)-1 < 12 && pair(b, 8)-1 < 28
}

func isDate(year, month, day int) bool {
	date := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return year > 0 && int(date.Month()) == month && date.Day() == day
}
