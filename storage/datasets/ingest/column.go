package ingest

import (
	"bytes"
	"slices"
	"strings"
)

// form says how a cell of a kind is written: which unit stands beside a number
// (an index of units, and formExact), or the parts of a date (dateForm). 0 is the plain form.
type form uint8

// formPadded is the form of a cell of paddedKinds with blanks around it, which DuckDB does
// not read by itself, and of a missing value that is blanks alone, which is missing among
// texts too.
const formPadded form = 1

var paddedKinds = setOf(kindBool, kindDate, kindTime, kindTimestamp, kindInstant)

// isBlank reports whether a cell is empty or has blanks alone.
func isBlank(b []byte) bool {
	for _, c := range b {
		if c != ' ' {
			return false
		}
	}
	return true
}

// maxLoose is how many bytes a cell may have that is not text.
const maxLoose = 48

// missingSpellings are the spellings of a missing value, in lower case.
var missingSpellings = []string{"na", "n/a", "#n/a", "n.a.", "n.a", "<na>", "-", "--", "–", "—", "null", "#null!", "(null)", `\n`, "none", "nan", "-nan"}

// classifyCell returns the kind and form of a cell that is not empty. It adds what
// people write to what classify detects. What it classifies as other than text,
// the SQL of a format (cellformat.go) reads as such.
func classifyCell(b []byte) (kind, form) {
	if k := classify(b); k != kindText {
		if k == kindSpecial && isNaN(b) {
			return kindMissing, 0
		}
		if (b[0] == ' ' || b[len(b)-1] == ' ') && paddedKinds.meets(k.set()) {
			return k, formPadded
		}
		if k == kindFloat && isRounded(b) {
			return k, formRounded
		}
		return k, 0
	}
	if isBlank(b) {
		return kindMissing, formPadded
	}
	if len(b) > maxLoose {
		return kindText, 0
	}
	b = bytes.Trim(b, " ")
	if b[0] == '0' && countDigits(b) == len(b) {
		return kindCode, 0
	}
	if k, f := classifyWord(b); k != kindText {
		return k, f
	}
	if isDigit(b[0]) {
		if k, f := classifyYearLast(b); k != kindText {
			return k, f
		}
		if colon := bytes.IndexByte(b, ':'); colon == 1 || colon == 2 {
			if index, ok := classifyClock(append([]byte{' '}, b...)); ok {
				return kindTime, index << formClock
			}
		}
	}
	if k, f := classifyAmount(b); k != kindText {
		return k, f
	}
	return classifyNamedMonth(b)
}

// isNaN tells NaN from the infinities.
func isNaN(b []byte) bool {
	return equalFold(bytes.TrimPrefix(bytes.Trim(b, " "), []byte{'-'}), "nan")
}

// classifyWord detects missing values, and words for true and false.
func classifyWord(b []byte) (kind, form) {
	if len(b) > 6 {
		return kindText, 0
	}
	word := strings.ToLower(string(b))
	if f := slices.Index(booleanWords, word); f >= 0 {
		return kindWord, form(f)
	}
	if slices.Contains(missingSpellings, word) {
		return kindMissing, 0
	}
	return kindText, 0
}

const (
	// maxTexts is how many texts a column has, in a block of records, before it
	// is no longer asked what its other cells are.
	maxTexts = 100
	// maxGroups is how many kinds and forms a column may have; more are text.
	maxGroups = 32
)

// cellGroup counts the cells of a column that have the same kind and form.
type cellGroup struct {
	kind  kind
	form  form
	count int64
	// lines are the first lines of such cells.
	lines []int64
}

func (g *cellGroup) add(line int64) {
	g.count++
	if len(g.lines) < maxLines {
		g.lines = append(g.lines, line)
	}
}

// merge adds the cells of a block that begins after some lines.
func (g *cellGroup) merge(next *cellGroup, lines int64) {
	g.count += next.count
	for _, line := range next.lines[:min(len(next.lines), maxLines-len(g.lines))] {
		g.lines = append(g.lines, line+lines)
	}
}

// columnCells are the cells of a column.
type columnCells struct {
	groups []cellGroup
	// last is the group of the last cell.
	last int
	// empty counts cells without a value.
	empty int64
	// text says that there are so many texts that the kinds of further cells were
	// not counted.
	text bool
	// yearFirst says that an option has dates start with the year, also one of two digits.
	yearFirst bool
}

// addValue counts a cell that is not empty.
func (c *columnCells) addValue(b []byte, line int64) {
	if c.yearFirst {
		if k, f := classifyYearFirst(b); k != kindText {
			c.add(k, f, line)
			return
		}
	}
	k, f := classifyCell(b)
	c.add(k, f, line)
}

// add counts a cell.
func (c *columnCells) add(k kind, f form, line int64) {
	if c.last >= len(c.groups) || c.groups[c.last].kind != k || c.groups[c.last].form != f {
		c.last = c.find(k, f)
	}
	g := &c.groups[c.last]
	g.add(line)
	if k == kindText && g.count > maxTexts {
		c.text = true
	}
}

// find returns the index of a group, which it adds if there is none.
func (c *columnCells) find(k kind, f form) int {
	i := slices.IndexFunc(c.groups, func(g cellGroup) bool { return g.kind == k && g.form == f })
	if i >= 0 {
		return i
	}
	if len(c.groups) >= maxGroups && k != kindText {
		return c.find(kindText, 0)
	}
	c.groups = append(c.groups, cellGroup{kind: k, form: f})
	return len(c.groups) - 1
}

// merge adds the cells of a block that begins after some lines.
func (c *columnCells) merge(next *columnCells, lines int64) {
	c.empty += next.empty
	c.text = c.text || next.text
	for _, g := range next.groups {
		c.groups[c.find(g.kind, g.form)].merge(&g, lines)
	}
}

// kinds returns the kinds of the cells that have a value.
func (c *columnCells) kinds() (seen kindSet) {
	for _, g := range c.groups {
		if g.kind != kindMissing {
			seen |= g.kind.set()
		}
	}
	return seen
}

// missing counts the cells that spell a missing value, or are blank.
func (c *columnCells) missing() (n int64) {
	for _, g := range c.groups {
		if g.kind == kindMissing {
			n += g.count
		}
	}
	return n
}

// blank counts the cells of blanks alone.
func (c *columnCells) blank() (n int64) {
	for _, g := range c.groups {
		if g.kind == kindMissing && g.form == formPadded {
			n += g.count
		}
	}
	return n
}

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
	// typeNull is a column without a value so far: the first values decide.
	typeNull = "NULL"
	// typeEmptyList is a column of nothing but empty JSON lists. It is internal:
	// it unites with any list, and alone becomes JSON.
	typeEmptyList = "[]"
	// typeExact is a decimal whose digits are not counted yet. It is internal too.
	typeExact = "DECIMAL"
)

// family is a set of kinds that one type holds.
type family struct {
	typ   string
	kinds kindSet
	// need is kinds without one of which the others are not this type.
	need kindSet
}

// families are in order: the first that holds all values is the type.
var families = []family{
	{typ: typeBoolean, kinds: setOf(kindBool)},
	{typ: typeBigint, kinds: setOf(kindInt, kindLong)},
	{typ: typeWhole, kinds: setOf(kindInt, kindLong, kindBig)},
	{typ: typeDouble, kinds: setOf(kindInt, kindFloat, kindPoint3, kindSpecial), need: setOf(kindInt, kindFloat, kindPoint3)},
	{typ: typeDate, kinds: setOf(kindDate)},
	{typ: typeTimestamp, kinds: setOf(kindDate, kindTimestamp)},
	{typ: typeInstant, kinds: setOf(kindInstant)},
	{typ: typeTime, kinds: setOf(kindTime)},
}

// exactNumbers are numbers of which a double does not hold some.
var exactNumbers = family{typ: typeExact, kinds: setOf(kindInt, kindLong, kindBig, kindFloat, kindPoint3, kindExact), need: setOf(kindLong, kindBig, kindExact)}

var nestedKinds = setOf(kindList, kindNested)

// columnKinds are the kinds of a column's values, and of the values inside its
// lists.
type columnKinds struct{ values, elements kindSet }

// typ returns the column's type. A single value that fits no other type makes it
// text, wherever it stands: the type depends on which values there are and on
// nothing else.
func (c columnKinds) typ() string {
	switch {
	case c.values == 0:
		return typeNull
	case c.values == kindList.set() && c.elements == 0:
		return typeEmptyList
	case c.values == kindList.set():
		if of := familyOf(c.elements); of != nil && !of.temporal() {
			return of.typ + "[]"
		}
		return typeVarchar + "[]"
	case c.values.within(nestedKinds):
		return typeJSON
	}
	if of := familyOf(c.values); of != nil {
		return of.typ
	}
	if c.values.within(exactNumbers.kinds) {
		return typeExact
	}
	return typeVarchar
}

// familyOf returns the family that holds all values of these kinds, nil when they
// are text; without values, it is any.
func familyOf(seen kindSet) *family {
	for i := range families {
		f := &families[i]
		if seen.within(f.kinds) && (f.need == 0 || seen.meets(f.need)) {
			return f
		}
	}
	return nil
}

func (f *family) temporal() bool {
	return f.typ == typeDate || f.typ == typeTime || f.typ == typeTimestamp || f.typ == typeInstant
}
