package ingest

// stillIs is a quick look whether a value is of the kind that its column had
// last. Yes is certain; no means that classify must look. Most values of a
// column are alike, so this is most of what a scan does.
func stillIs(k kind, v []byte) bool {
	switch k {
	case kindInt:
		return len(v) <= 18 && v[0] != '0' && allDigits(v)
	case kindFloat:
		return plainFraction(v)
	case kindBool:
		return string(v) == "true" || string(v) == "false"
	case kindDate:
		return len(v) == 10 && plainDate(v)
	case kindTimestamp:
		return len(v) == 19 && plainDate(v) && (v[10] == ' ' || v[10] == 'T') && v[13] == ':' && v[16] == ':' &&
			pair(v, 11) < 24 && pair(v, 14) < 60 && pair(v, 17) < 60
	}
	return false
}

// plainDate knows YYYY-MM-DD up to the 28th, which every month has.
func plainDate(v []byte) bool {
	return v[4] == '-' && v[7] == '-' && pair(v, 0) < 100 && pair(v, 0) > 0 && pair(v, 2) < 100 &&
		pair(v, 5)-1 < 12 && pair(v, 8)-1 < 28
}

// pair reads two digits; what is not digits gives a number past all limits.
func pair(v []byte, at int) uint {
	tens, units := uint(v[at]-'0'), uint(v[at+1]-'0')
	if tens > 9 || units > 9 {
		return 1000
	}
	return tens*10 + units
}

// plainFraction knows 12.5 and 0.5, with few digits.
func plainFraction(v []byte) bool {
	if len(v) > 18 || v[0]-'0' > 9 || v[0] == '0' && (len(v) < 2 || v[1] != '.') {
		return false
	}
	points := 0
	for _, c := range v {
		if c == '.' {
			points++
		} else if c-'0' > 9 {
			return false
		}
	}
	return points == 1
}
