package ingest

// classifyISO knows dates and timestamps with the year first: 2024-01-31,
// 2024/1/31, 2024-01-31 10:30, 2024-01-31T10:30:00.123456Z. Fractions finer
// than a microsecond are text, since they would be cut.
func classifyISO(b []byte) kind {
	separator := b[4]
	month, rest, ok := smallNumber(b[5:])
	if !ok || len(rest) == 0 || rest[0] != separator {
		return kindText
	}
	day, rest, ok := smallNumber(rest[1:])
	if !ok || !isDate(number(b[:4]), month, day) {
		return kindText
	}
	if len(rest) == 0 {
		return kindDate
	}
	if rest[0] != ' ' && rest[0] != 'T' {
		return kindText
	}
	rest, seconds, ok := clock(rest[1:])
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

// classifyYearLast knows 31/12/2024, 12-31-2024 and 31.12.2024, where n is the
// length of the first number. With dots the day comes first, by custom.
func classifyYearLast(b []byte, n int) kind {
	separator := b[n]
	first := number(b[:n])
	second, rest, ok := smallNumber(b[n+1:])
	if !ok || len(rest) != 5 || rest[0] != separator || !allDigits(rest[1:]) {
		return kindText
	}
	year := number(rest[1:])
	dayFirst := isDate(year, second, first)
	monthFirst := isDate(year, first, second) && separator != '.'
	switch {
	case dayFirst && monthFirst:
		return kindEitherFirst
	case dayFirst:
		return kindDayFirst
	case monthFirst:
		return kindMonthFirst
	}
	return kindText
}

// clock reads HH:MM, HH:MM:SS or HH:MM:SS.ffffff and gives what follows.
func clock(b []byte) (rest []byte, seconds, ok bool) {
	if len(b) < 5 || b[2] != ':' || !allDigits(b[:2]) || !allDigits(b[3:5]) || number(b[:2]) > 23 || number(b[3:5]) > 59 {
		return nil, false, false
	}
	rest = b[5:]
	if len(rest) == 0 || rest[0] != ':' {
		return rest, false, true
	}
	if len(rest) < 3 || !allDigits(rest[1:3]) || number(rest[1:3]) > 59 {
		return nil, false, false
	}
	rest = rest[3:]
	if len(rest) > 0 && rest[0] == '.' {
		n := 1
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n == 1 || n > 7 {
			return nil, false, false
		}
		rest = rest[n:]
	}
	return rest, true, true
}

// isZone knows Z, +HH and +HH:MM.
func isZone(b []byte) bool {
	if len(b) == 1 {
		return b[0] == 'Z'
	}
	if (b[0] != '+' && b[0] != '-') || len(b) < 3 || !allDigits(b[1:3]) || number(b[1:3]) > 14 {
		return false
	}
	return len(b) == 3 || len(b) == 6 && b[3] == ':' && allDigits(b[4:]) && number(b[4:]) <= 59
}

// smallNumber reads one or two digits.
func smallNumber(b []byte) (n int, rest []byte, ok bool) {
	if len(b) == 0 || !isDigit(b[0]) {
		return 0, nil, false
	}
	if len(b) > 1 && isDigit(b[1]) {
		return number(b[:2]), b[2:], true
	}
	return number(b[:1]), b[1:], true
}

func number(digits []byte) (n int) {
	for _, c := range digits {
		n = n*10 + int(c-'0')
	}
	return n
}

func isDate(year, month, day int) bool {
	if year < 1 || month < 1 || month > 12 || day < 1 {
		return false
	}
	switch month {
	case 4, 6, 9, 11:
		return day <= 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return day <= 29
		}
		return day <= 28
	}
	return day <= 31
}
