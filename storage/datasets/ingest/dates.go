package ingest

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

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

// clock reads HH:MM, HH:MM:SS or HH:MM:SS.ffffff and returns what follows.
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

// A dateForm is how a date is written: what separates its numbers or their order,
// whether its year has two digits, whether the name of its month is written out,
// and the clock behind it.
const (
	// formOrder is the index of a separator, or of an order where the month is a
	// name.
	formOrder form = 3
	formYear2 form = 1 << 2
	formFull  form = 1 << 3
	// formClock is the first bit of an index of clocks.
	formClock = 4
)

const dateSeparators = "/.-"

// clocks are what may follow a date, as strptime reads them, and as reports show
// them.
var clocks = []struct{ layout, shown string }{
	{"", ""}, {" %H:%M", " h:m"}, {" %H:%M:%S", " h:m:s"},
	{" %I:%M %p", " h:m pm"}, {" %I:%M:%S %p", " h:m:s pm"}, {" %I:%M%p", " h:mpm"}, {" %I:%M:%S%p", " h:m:spm"},
}

// namedOrders are the orders of dates whose month is a name.
var namedOrders = []struct{ layout, shown string }{{"%b %d %Y", "mon d, y"}, {"%d %b %Y", "d mon y"}, {"%Y %b %d", "y mon d"}}

// classifyYearLast detects dates whose year is last (31/12/2024, 12-31-2024,
// 31.12.2024, 12/31/24), and decides whether the day or the month is first. With
// dots it is the day, by custom.
func classifyYearLast(b []byte) (kind, form) {
	n, widths, separator, rest, ok := threeNumbers(b)
	if !ok || widths[0] > 2 {
		return kindText, 0
	}
	f := form(strings.IndexByte(dateSeparators, separator))
	switch {
	case widths[2] == 4:
	case widths[2] != 2 || separator == '-' || separator == '.' && widths[0]+widths[1] < 4:
		// 1.2.10 is rather a version, and 04-05-06 can have its year first.
		return kindText, 0
	default:
		f |= formYear2
		n[2] = centuryOf(n[2])
	}
	clock, ok := classifyClock(rest)
	if !ok {
		return kindText, 0
	}
	f |= clock << formClock
	dayFirst := isDate(n[2], n[1], n[0])
	monthFirst := isDate(n[2], n[0], n[1]) && separator != '.'
	switch {
	case dayFirst && monthFirst:
		return kindEitherFirst, f
	case dayFirst:
		return kindDayFirst, f
	case monthFirst:
		return kindMonthFirst, f
	}
	return kindText, 0
}

// classifyYearFirst detects dates whose year is first and has two digits: 24/01/31.
func classifyYearFirst(b []byte) (kind, form) {
	n, widths, separator, rest, ok := threeNumbers(bytes.Trim(b, " "))
	if !ok || widths[0] != 2 || widths[2] > 2 || !isDate(centuryOf(n[0]), n[1], n[2]) {
		return kindText, 0
	}
	clock, ok := classifyClock(rest)
	if !ok {
		return kindText, 0
	}
	return kindDate, form(strings.IndexByte(dateSeparators, separator)) | formYear2 | clock<<formClock
}

// centuryOf returns the year that two digits mean, as strptime reads them.
func centuryOf(year int) int {
	if year < 69 {
		return 2000 + year
	}
	return 1900 + year
}

// classifyClock detects what follows a date: nothing, or 9:05, 09:05:30, 9:05 PM.
func classifyClock(b []byte) (index form, ok bool) {
	if len(b) == 0 {
		return 0, true
	}
	if b[0] != ' ' || len(b) < 5 {
		return 0, false
	}
	b = b[1:]
	hours := countDigits(b)
	if hours == 0 || hours > 2 {
		return 0, false
	}
	if hours == 1 {
		b = append([]byte{'0'}, b...)
	}
	hour := pair(b, 0)
	rest, seconds, ok := clock(b)
	if seconds {
		index = 1
	}
	half := strings.ToLower(string(rest))
	switch {
	case !ok || bytes.IndexByte(b, '.') >= 0:
		return 0, false
	case half == "":
		return 1 + index, true
	case hour < 1 || hour > 12:
		return 0, false
	case half == " am" || half == " pm":
		return 3 + index, true
	case half == "am" || half == "pm":
		return 5 + index, true
	}
	return 0, false
}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// monthOf returns the number of a month, 0 for another word. Full says that the
// name is written out and has more than three letters.
func monthOf(name string) (number int, full bool) {
	name = strings.ToLower(name)
	for i, month := range months {
		if name == month || name == month[:3] {
			return i + 1, len(name) > 3
		}
	}
	return 0, false
}

// classifyNamedMonth detects dates such as Nov 16, 2004; 16-Nov-04; 16. November
// 2004; 2004-Nov-16.
func classifyNamedMonth(b []byte) (kind, form) {
	parts := strings.SplitN(plainNamed(string(b)), " ", 4)
	if len(parts) < 3 {
		return kindText, 0
	}
	var f form
	year, name, day := parts[2], parts[0], parts[1]
	if c := day[:min(1, len(day))]; c == "" || !isDigit(c[0]) {
		f, name, day = 1, parts[1], parts[0]
		if len(day) == 4 {
			f, year, day = 2, day, year
		}
	}
	month, full := monthOf(name)
	if month == 0 || len(day) > 2 || len(year) != 4 && (len(year) != 2 || f == 2) {
		return kindText, 0
	}
	d, dayErr := strconv.ParseUint(day, 10, 16)
	y, yearErr := strconv.ParseUint(year, 10, 16)
	if dayErr != nil || yearErr != nil {
		return kindText, 0
	}
	if len(year) == 2 {
		f |= formYear2
		y = uint64(centuryOf(int(y)))
	}
	if full {
		f |= formFull
	}
	if len(parts) == 4 {
		clock, ok := classifyClock([]byte(" " + parts[3]))
		if !ok || clock == 0 {
			return kindText, 0
		}
		f |= clock << formClock
	}
	if !isDate(int(y), month, int(d)) {
		return kindText, 0
	}
	return kindNamedMonth, f
}

// namedFrom and namedTo are what translate replaces in dates whose month is a
// name; what has no counterpart is removed.
const (
	namedFrom = "-/,."
	namedTo   = "  "
)

// plainNamed replaces the separators of a date as the SQL does.
func plainNamed(s string) string {
	return strings.Map(func(r rune) rune {
		switch i := strings.IndexRune(namedFrom, r); {
		case i < 0:
			return r
		case i < len(namedTo):
			return rune(namedTo[i])
		}
		return -1
	}, s)
}

// layout returns what strptime reads a date by, and how reports show it. First is
// what dates of numbers start with: d, m or y.
func (f form) layout(k kind, first string) (layout, shown string) {
	clock := clocks[f>>formClock]
	if k == kindNamedMonth {
		order := namedOrders[f&formOrder]
		layout, shown = order.layout, order.shown
		if f&formFull != 0 {
			layout = strings.Replace(layout, "%b", "%B", 1)
		}
	} else {
		separator := dateSeparators[f&formOrder : f&formOrder+1]
		switch first {
		case "m":
			layout, shown = "%m/%d/%Y", "m/d/y"
		case "y":
			layout, shown = "%Y/%m/%d", "y/m/d"
		default:
			layout, shown = "%d/%m/%Y", "d/m/y"
		}
		shown = strings.ReplaceAll(shown, "/", separator)
	}
	if f&formYear2 != 0 {
		layout, shown = strings.Replace(layout, "%Y", "%y", 1), strings.Replace(shown, "y", "yy", 1)
	}
	return layout + clock.layout, shown + clock.shown
}
