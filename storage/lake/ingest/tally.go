package ingest

import (
	"strconv"
	"unicode/utf8"
)

// Names of types, as columns carry them.
const (
	typeBoolean     = "BOOLEAN"
	typeBigint      = "BIGINT"
	typeWhole       = "DECIMAL(38,0)"
	typeDouble      = "DOUBLE"
	typeVarchar     = "VARCHAR"
	typeDate        = "DATE"
	typeTime        = "TIME"
	typeTimestamp   = "TIMESTAMP"
	typeInstant     = "TIMESTAMP WITH TIME ZONE"
	typeJSON        = "JSON"
	typeTimestampNS = "TIMESTAMP_NS"
	typeBlob        = "BLOB"
	// typeNull is a column without a value so far: whatever comes decides.
	typeNull = "NULL"
	// typeEmptyList is a column of nothing but empty JSON lists. It never
	// leaves this package: it joins any list, and alone becomes JSON.
	typeEmptyList = "[]"
)

// oddOneOut says how rare values must be that do not fit a column's type for
// them to be mistakes: one in this many. Where they are more frequent, the
// column is text.
const oddOneOut = 1000

// tally counts a column's values by kind, and remembers the first of each.
type tally struct {
	count [kinds]int64
	first [kinds]*sighting
	// skipped values were counted nowhere: the column was plainly text.
	skipped int64
	last    kind
	// elements are the values inside lists.
	elements *tally
}

// sighting is a value and the row that has it.
type sighting struct {
	row   int64
	value string
}

func (t *tally) add(k kind, row int64, value []byte) {
	t.count[k]++
	t.last = k
	if t.first[k] == nil {
		t.first[k] = &sighting{row, excerpt(value)}
	}
}

// merge adds what was counted later, in rows that began at base.
func (t *tally) merge(later *tally, base int64) {
	t.skipped += later.skipped
	for k := range later.count {
		t.count[k] += later.count[k]
		if f := later.first[k]; f != nil && t.first[k] == nil {
			t.first[k] = &sighting{f.row + base, f.value}
		}
	}
}

func (t *tally) sum(of ...kind) (n int64) {
	for _, k := range of {
		n += t.count[k]
	}
	return n
}

func (t *tally) total() int64 {
	n := t.skipped
	for _, c := range t.count {
		n += c
	}
	return n
}

// family is a set of kinds that one type holds.
type family struct {
	typ   string
	what  string
	kinds []kind
	// need is a kind without which the others are not this type.
	need []kind
	// layout is how strptime reads a date that is not ISO's.
	layout string
	// codes reports that an identifier among the values makes all of them text.
	codes bool
}

// families are in order: the first that holds all values is the type.
var families = []family{
	{typ: typeBoolean, what: "true or false", kinds: []kind{kindBool}},
	{typ: typeBigint, what: "a whole number", kinds: []kind{kindInt}, codes: true},
	{typ: typeWhole, what: "a whole number", kinds: []kind{kindInt, kindBig}, codes: true},
	{typ: typeDouble, what: "a number", kinds: []kind{kindInt, kindFloat, kindSpecial}, need: []kind{kindInt, kindFloat}, codes: true},
	{typ: typeDate, what: "a date", kinds: []kind{kindDate}},
	{typ: typeTimestamp, what: "a date and time", kinds: []kind{kindDate, kindTimestamp}, need: []kind{kindTimestamp}},
	{typ: typeInstant, what: "a date and time with its time zone", kinds: []kind{kindInstant}},
	{typ: typeDate, what: "a date", kinds: []kind{kindDayFirst, kindEitherFirst}, need: []kind{kindDayFirst}, layout: "%d/%m/%Y"},
	{typ: typeDate, what: "a date", kinds: []kind{kindMonthFirst, kindEitherFirst}, need: []kind{kindMonthFirst}, layout: "%m/%d/%Y"},
	{typ: typeTime, what: "a time", kinds: []kind{kindTime}},
}

// mistake is a value that does not fit, in a column where nearly all do.
type mistake struct {
	sighting
	family *family
}

// resolve gives the family that all values belong to, nil when they are text.
// With a mistake, all but very few belong to it.
func (t *tally) resolve() (*family, *mistake) {
	total := t.total()
	for i := range families {
		f := &families[i]
		if t.sum(f.kinds...) == total && (f.need == nil || t.sum(f.need...) > 0) {
			return f, nil
		}
	}
	var best *family
	var most int64
	for i := range families {
		f := &families[i]
		if n := t.sum(f.kinds...); n > most && (f.need == nil || t.sum(f.need...) > 0) {
			best, most = f, n
		}
	}
	if best == nil || (total-most)*oddOneOut > total {
		return nil, nil
	}
	if best.codes && t.sum(kindID, kindCode) > 0 {
		return nil, nil
	}
	return nil, &mistake{*t.firstOutside(best), best}
}

func (t *tally) firstOutside(f *family) *sighting {
	var first *sighting
	for k, s := range t.first {
		if s != nil && !f.holds(kind(k)) && (first == nil || s.row < first.row) {
			first = s
		}
	}
	return first
}

func (f *family) holds(k kind) bool {
	for _, own := range f.kinds {
		if own == k {
			return true
		}
	}
	return false
}

// unsure reports whether values that were skipped could change what resolve
// says: the misfits that were counted are too few to make the column text.
func (t *tally) unsure() bool {
	if t.skipped == 0 {
		return false
	}
	total := t.total()
	for i := range families {
		outside := total - t.skipped - t.sum(families[i].kinds...)
		if outside*oddOneOut <= total {
			return true
		}
	}
	return false
}

// excerpt is as much of a value as a message shows.
func excerpt(value []byte) string {
	const most = 60
	if len(value) <= most {
		return string(value)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return string(value[:cut]) + "…"
}

func quote(s string) string { return strconv.Quote(s) }
