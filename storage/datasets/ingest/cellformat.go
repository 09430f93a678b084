package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"parley/internal/sqltext"
)

// cellFormat is how the cells of a column are read as values of a type.
type cellFormat struct {
	typ        string
	from, unit string
	// warning says how the cells are read where that is a guess.
	warning string
	// ordered says that the order of day, month and year was chosen.
	ordered bool
	// fits reports whether the format fits a group of cells. A format of
	// text has none.
	fits func(g cellGroup) bool
	// expr returns the SQL that reads a cell, which is text, as a type; nil where
	// DuckDB reads the type by itself.
	expr func(cell, typ string) string
}

// conventions is what the unambiguous cells of a file say about its ambiguous ones:
// the decimal sign, and d or m for the first number of a date; 0 where they say
// nothing, or both.
type conventions struct {
	decimal, first byte
	// semicolons says that semicolons separate the fields, as where commas are
	// decimal signs: 1.234 then can be 1234.
	semicolons bool
	// forced says that first, which then can be y too, is for all dates of a column.
	forced bool
	// times says that 9:30 is a time; it can be a duration.
	times bool
	// booleans says that yes and no are true and false, also without the other.
	booleans bool
}

var (
	numberKinds = setOf(kindInt, kindFloat, kindPoint3, kindSpecial, kindCommaGroups, kindCommaGroupsPoint, kindComma3, kindDecimalComma, kindPointGroups, kindSpaceGroups, kindLong, kindExact)
	// pointKinds prove that fractions follow a point, commaKinds that they
	// follow a comma.
	pointKinds    = setOf(kindFloat, kindExact, kindCommaGroups, kindCommaGroupsPoint)
	commaKinds    = setOf(kindDecimalComma, kindPointGroups)
	yearLastKinds = setOf(kindDayFirst, kindMonthFirst, kindEitherFirst)
)

// conventionsOf finds what the columns of a file say about ambiguous cells.
func conventionsOf(columns []columnCells) (c conventions) {
	var point, comma, day, month bool
	for i := range columns {
		seen := columns[i].kinds()
		if seen.within(numberKinds) {
			point = point || seen.meets(pointKinds)
			comma = comma || seen.meets(commaKinds)
		}
		if seen.within(yearLastKinds) {
			day = day || seen.meets(kindDayFirst.set())
			month = month || seen.meets(kindMonthFirst.set())
		}
	}
	c.decimal = choose(point, '.', comma, ',')
	c.first = choose(day, 'd', month, 'm')
	return c
}

// ordered returns the conventions for dates of an order, which may be "".
func (by conventions) ordered(order string) conventions {
	if order != "" {
		by.first, by.forced = order[0], true
	}
	return by
}

// ambiguous reports whether numbers of these kinds can be whole or fractions, and
// nothing decides.
func (by conventions) ambiguous(seen kindSet) bool {
	return by.decimal == 0 && !seen.meets(pointKinds|commaKinds) && (seen.meets(kindComma3.set()) || by.semicolons && seen.meets(kindPoint3.set()))
}

// decimalFor returns the decimal sign with which numbers of these kinds are of a type:
// 1,234 and 1.234 are whole numbers only if the sign separates thousands.
func (by conventions) decimalFor(seen kindSet, typ string) byte {
	whole, point := typ == typeBigint || strings.HasSuffix(typ, ",0)"), seen.meets(kindPoint3.set())
	switch {
	case by.decimal != 0 || !point && !seen.meets(kindComma3.set()) || seen.meets(pointKinds|commaKinds):
		return by.decimal
	case whole == point:
		return ','
	}
	return '.'
}

// choose returns the one of two that is so.
func choose(first bool, a byte, second bool, b byte) byte {
	switch {
	case first && !second:
		return a
	case second && !first:
		return b
	}
	return 0
}

// cellFormats returns all formats that may fit cells of these groups, in order.
func cellFormats(groups []cellGroup, by conventions) []cellFormat {
	var seen kindSet
	for _, g := range groups {
		seen |= g.kind.set()
	}
	var all []cellFormat
	for _, f := range slices.Concat(families, []family{exactNumbers}) {
		commas := by.ambiguous(seen) || by.decimal == ',' && !seen.meets(setOf(kindFloat, kindExact))
		if seen.meets(f.kinds) && (f.need == 0 || seen.meets(f.need)) && !((f.typ == typeDouble || f.typ == typeExact) && commas) {
			r := cellFormat{typ: f.typ, fits: func(g cellGroup) bool {
				return f.kinds.meets(g.kind.set()) && (g.form == 0 || g.form == formPadded && paddedKinds.meets(g.kind.set()) || g.kind == kindFloat && g.form == formRounded)
			}}
			if slices.ContainsFunc(groups, func(g cellGroup) bool { return g.form == formPadded && paddedKinds.meets(g.kind.set()) }) {
				r.expr = readTrimmed
			}
			all = append(all, r)
		}
	}
	if seen.meets(kindWord.set()) {
		all = append(all, booleanFormats(groups, by)...)
	}
	if seen.meets(numberKinds) {
		all = append(all, numberFormats(groups, by)...)
	}
	if seen.meets(kindTime.set()) {
		all = append(all, timeFormat(groups, by))
	}
	return append(all, dateFormats(groups, seen, by)...)
}

func readTrimmed(cell, typ string) string { return fmt.Sprintf("CAST(trim(%s) AS %s)", cell, typ) }

// booleanWords are words for true and false, and booleans their pairs of a language.
var (
	booleanWords = []string{"yes", "no", "y", "n", "t", "f", "ja", "nein", "oui", "non", "sí", "si"}
	booleans     = []struct {
		yes []string
		no  string
		// warns says that a column of the words may be something else to some readers.
		warns bool
	}{
		{yes: []string{"yes"}, no: "no"},
		{yes: []string{"y"}, no: "n"},
		{yes: []string{"t"}, no: "f"},
		{yes: []string{"ja"}, no: "nein", warns: true},
		{yes: []string{"oui"}, no: "non", warns: true},
		{yes: []string{"sí", "si"}, no: "no", warns: true},
	}
)

// booleanFormats are those of the pairs of words of which both are there.
func booleanFormats(groups []cellGroup, by conventions) (all []cellFormat) {
	for _, b := range booleans {
		isYes := func(g cellGroup) bool { return g.kind == kindWord && slices.Contains(b.yes, booleanWords[g.form]) }
		isNo := func(g cellGroup) bool { return g.kind == kindWord && booleanWords[g.form] == b.no }
		yes, no := slices.ContainsFunc(groups, isYes), slices.ContainsFunc(groups, isNo)
		if !(yes && no || by.booleans && (yes || no)) {
			continue
		}
		r := cellFormat{typ: typeBoolean, from: b.yes[0] + "/" + b.no, fits: func(g cellGroup) bool { return isYes(g) || isNo(g) },
			expr: func(cell, _ string) string {
				return fmt.Sprintf("lower(trim(%s)) IN ('%s')", cell, strings.Join(b.yes, "', '"))
			}}
		if b.warns {
			r.warning = fmt.Sprintf("%s is read as true and %s as false", strings.Join(b.yes, " or "), b.no)
		}
		all = append(all, r)
	}
	return all
}

// numberFormats are those of numbers with each unit that there is.
func numberFormats(groups []cellGroup, by conventions) []cellFormat {
	kinds, exact := map[form]kindSet{}, map[form]bool{}
	for _, g := range groups {
		if unit := g.form.unit(); numberKinds.meets(g.kind.set()) {
			kinds[unit] |= g.kind.set()
			exact[unit] = exact[unit] || g.form&formExact != 0 || exactNumbers.need.meets(g.kind.set())
		}
	}
	var all []cellFormat
	for unit, seen := range kinds {
		// With a column of mixed signs, the more frequent one is what it lacks.
		for _, decimal := range decimals(seen, by) {
			all = append(all, numberFormat(unit, seen, exact[unit], decimal))
		}
	}
	slices.SortFunc(all, func(a, b cellFormat) int { return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(b.from, a.from)) })
	return all
}

// decimals returns the decimal signs that numbers of these kinds can have: none
// where that is ambiguous.
func decimals(seen kindSet, by conventions) string {
	point, comma := seen.meets(pointKinds), seen.meets(commaKinds)
	switch {
	case point && comma:
		return ".,"
	case point:
		return "."
	case comma:
		return ","
	case by.decimal != 0:
		return string(by.decimal)
	case by.ambiguous(seen):
		return ""
	}
	return "."
}

// numberFormat reads numbers of a unit with a decimal sign. Exact says that a double does not
// hold some of them.
func numberFormat(unit form, seen kindSet, exact bool, decimal rune) cellFormat {
	fractions, groups := setOf(kindFloat, kindExact, kindPoint3, kindSpecial, kindCommaGroupsPoint), setOf(kindCommaGroups, kindComma3)
	from, to, shown := signs+removed+",", "--", "1,234"
	if decimal == ',' {
		fractions, groups = setOf(kindDecimalComma, kindComma3, kindSpecial), setOf(kindPointGroups, kindPoint3)
		from, to, shown = signs+","+removed+".", "--.", "1.234"
	}
	kinds := fractions | groups | setOf(kindInt, kindLong, kindSpaceGroups)
	if exact {
		kinds &^= kindSpecial.set()
	}
	r := cellFormat{typ: typeBigint, unit: units[unit], fits: func(g cellGroup) bool { return g.form.unit() == unit && kinds.meets(g.kind.set()) }}
	if seen.meets(kindSpaceGroups.set()) && !seen.meets(groups|setOf(kindCommaGroupsPoint)) {
		shown = "1 234"
	}
	if seen.meets(fractions) {
		if r.typ = typeDouble; exact {
			r.typ = typeExact
		}
		shown += string(decimal) + "56"
	}
	if seen.meets(groups|setOf(kindDecimalComma, kindSpaceGroups, kindCommaGroupsPoint)) || decimal == ',' && seen.meets(fractions) {
		r.from = shown
	}
	r.expr = func(cell, typ string) string {
		if unit > 0 {
			cell = fmt.Sprintf("replace(%s, %s, '')", cell, sqltext.Text(units[unit]))
		}
		if unit == euro {
			cell = fmt.Sprintf("replace(%s, 'EUR', '')", cell)
		}
		return fmt.Sprintf("CAST(translate(%s, %s, %s) AS %s)", cell, sqltext.Text(from), sqltext.Text(to), typ)
	}
	return r
}

// timeFormat reads times of 12 hours, such as 9:30 PM, and of 24 hours.
func timeFormat(groups []cellGroup, by conventions) cellFormat {
	r := cellFormat{typ: typeTime, fits: func(g cellGroup) bool {
		clock := clocks[g.form>>formClock]
		return g.kind == kindTime && (g.form <= formPadded || by.times || strings.HasSuffix(clock.shown, "pm"))
	}}
	layouts := []string{"'%H:%M'", "'%H:%M:%S'", "'%H:%M:%S.%f'"}
	most := int64(0)
	for _, g := range groups {
		if clock := clocks[g.form>>formClock]; r.fits(g) && g.form > formPadded {
			layouts = append(layouts, sqltext.Text(clock.layout[1:]))
			if g.count > most {
				most, r.from = g.count, clock.shown[1:]
			}
		}
	}
	slices.Sort(layouts)
	layouts = slices.Compact(layouts)
	r.expr = func(cell, typ string) string {
		return fmt.Sprintf("CAST(strptime(trim(%s), [%s]) AS %s)", cell, strings.Join(layouts, ", "), typ)
	}
	return r
}

// dateFormats are those of dates that are not ISO's.
func dateFormats(groups []cellGroup, seen kindSet, by conventions) []cellFormat {
	var all []cellFormat
	if seen.meets(kindNamedMonth.set()) {
		all = append(all, dateFormat(groups, setOf(kindNamedMonth), ""))
	}
	day := seen.meets(kindDayFirst.set()) || seen.meets(kindEitherFirst.set()) && by.first == 'd' && !seen.meets(kindMonthFirst.set())
	month := seen.meets(kindMonthFirst.set()) || seen.meets(kindEitherFirst.set()) && by.first == 'm' && !seen.meets(kindDayFirst.set())
	if by.forced {
		day, month = by.first == 'd' && seen.meets(yearLastKinds), by.first == 'm' && seen.meets(yearLastKinds)
	}
	if day {
		all = append(all, dateFormat(groups, setOf(kindDayFirst, kindEitherFirst), "d"))
	}
	if month {
		all = append(all, dateFormat(groups, setOf(kindMonthFirst, kindEitherFirst), "m"))
	}
	if by.forced && by.first == 'y' && seen.meets(kindDate.set()) {
		all = append(all, dateFormat(groups, kindDate.set(), "y"))
	}
	return all
}

// dateFormat reads dates of some kinds in all the forms that there are.
func dateFormat(groups []cellGroup, kinds kindSet, first string) cellFormat {
	r := cellFormat{typ: typeDate, ordered: first != "", fits: func(g cellGroup) bool { return kinds.meets(g.kind.set()) }}
	var layouts []string
	most := int64(0)
	for _, g := range groups {
		if !r.fits(g) {
			continue
		}
		f := g.form
		if g.kind == kindDate && f == formPadded {
			f = 0
		}
		layout, shown := f.layout(g.kind, first)
		layouts = append(layouts, sqltext.Text(layout))
		if f>>formClock > 0 {
			r.typ = typeTimestamp
		}
		if g.count > most {
			most, r.from = g.count, shown
		}
	}
	// The layout of a year of four digits also reads two: it comes later.
	slices.SortFunc(layouts, func(a, b string) int {
		return cmp.Or(-cmp.Compare(strings.Index(a, "%y"), strings.Index(b, "%y")), strings.Compare(a, b))
	})
	layouts = slices.Compact(layouts)
	from, to := "-.", "//"
	if first == "" {
		from, to = namedFrom, namedTo
	}
	r.expr = func(cell, typ string) string {
		return fmt.Sprintf("CAST(strptime(translate(trim(%s), '%s', '%s'), [%s]) AS %s)", cell, from, to, strings.Join(layouts, ", "), typ)
	}
	return r
}

// unlessBlank returns the SQL for a cell that is NULL where it has blanks alone.
func unlessBlank(cell string) string {
	return fmt.Sprintf("CASE WHEN trim(%s) <> '' THEN %s END", cell, cell)
}

// isMissing returns the SQL that is true for a cell that spells a missing value, or is blank.
func isMissing(cell string) string {
	list := make([]string, len(missingSpellings), len(missingSpellings)+1)
	for i, spelling := range missingSpellings {
		list[i] = sqltext.Text(spelling)
	}
	return fmt.Sprintf("lower(trim(%s)) IN (%s)", cell, strings.Join(append(list, "''"), ", "))
}
