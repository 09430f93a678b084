package rules

import (
	"regexp"
	"strings"
)

var (
	numberCell = regexp.MustCompile(`^[\s$£€¥+~<>≈-]*[−–-]?\d[\d,]*(\.\d+)?\s*(%|st|nd|rd|th|[a-zA-Z²³/]{0,6})?[\s*†‡]*(\(.*\)|\[.*\])?$`)
	timeCell   = regexp.MustCompile(`^\+?\d{1,3}:\d{2}(:\d{2})?([.,]\d+)?$`)
	isoDate    = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
	wordDate   = regexp.MustCompile(`(?i)^((mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?,?\s+)?(\d{1,2}(st|nd|rd|th)?\s+)?` +
		`(jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec(ember)?)\.?` +
		`(\s+\d{1,2}(st|nd|rd|th)?)?(,?\s+\d{4})?(\s*[\[(].*)?$`)
	integerCell = regexp.MustCompile(`^[−–-]?[\d,]+$`)
)

// emptyCells are texts that say that there is no value.
var emptyCells = set(`null none n/a na nan nil - – — -- ? unknown tba tbd .. ... x`)

// kindOfValues says what texts are, by most of them.
func kindOfValues(values []string) (k kind, integers bool) {
	var seen, numbers, dates, times, whole int
	for _, v := range sample(values) {
		v = strings.TrimSpace(v)
		if v == "" || emptyCells[strings.ToLower(v)] {
			continue
		}
		seen++
		switch {
		case timeCell.MatchString(v):
			times++
		case isoDate.MatchString(v), wordDate.MatchString(v) && len(v) > 3:
			dates++
		case numberCell.MatchString(v):
			numbers++
			if integerCell.MatchString(v) {
				whole++
			}
		}
	}
	most := func(n int) bool { return seen > 0 && n*10 >= seen*7 }
	switch {
	case most(times):
		return kindTime, false
	case most(dates):
		return kindDate, false
	case most(numbers):
		return kindNumber, whole == numbers
	}
	return kindText, false
}

// sample takes some values, spread evenly over all.
func sample(values []string) []string {
	const most = 200
	if len(values) <= most {
		return values
	}
	some := make([]string, most)
	for i := range some {
		some[i] = values[i*len(values)/most]
	}
	return some
}

// numeric is SQL that reads a column as numbers.
func (c *column) numeric(ref string) string {
	switch {
	case c.kind == kindNumber && c.typed:
		return ref
	case c.kind == kindDate:
		return c.dated(ref)
	case c.kind == kindTime && c.typed:
		return ref
	case c.kind == kindTime:
		parts := "list_reverse(string_split(regexp_extract(" + ref + ", '[0-9:.]+'), ':'))"
		part := func(n string) string {
			return "coalesce(TRY_CAST(list_extract(" + parts + ", " + n + ") AS DOUBLE), 0)"
		}
		return "CASE WHEN regexp_matches(" + ref + ", '[0-9]') THEN " + part("1") + " + 60 * " + part("2") + " + 3600 * " + part("3") + " END"
	}
	return "TRY_CAST(regexp_extract(translate(replace(CAST(" + ref + " AS VARCHAR), ',', ''), '−–', '--'), '-?[0-9]+([.][0-9]+)?') AS DOUBLE)"
}

// dateFormats are the ways in which texts write dates that are understood.
var dateFormats = []string{"%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%B %d %Y", "%A, %B %d, %Y",
	"%A %d %B %Y", "%m/%d/%Y", "%d.%m.%Y", "%B %Y", "%b %Y", "%Y", "%B %d", "%d %B", "%b %d", "%d %b"}

// dated is SQL that reads a column as points in time.
func (c *column) dated(ref string) string {
	if c.typed {
		return ref
	}
	formats := make([]string, len(dateFormats))
	for i, f := range dateFormats {
		formats[i] = literal(f)
	}
	clean := "trim(regexp_replace(regexp_replace(" + ref + `, '[\[(].*$', ''), '([0-9])(st|nd|rd|th)', '\1'))`
	return "try_strptime(" + clean + ", [" + strings.Join(formats, ", ") + "])"
}
