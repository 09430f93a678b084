package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// decision is what a column of cells becomes.
type decision struct {
	cellFormat
	// missing says that cells that spell a missing value are NULL.
	missing bool
	// blank says that cells of blanks alone are NULL, also where the column is text.
	blank bool
	// spelled counts the cells that spell a missing value, which are values of a text.
	spelled int64
	// report says how the column was read; its name is not set.
	report domain.ColumnReport
	// line is that of the first number that is rounded. The warning says so, or why a column is
	// text that could be something else, if it can.
	line int64
}

// values are the groups of cells that have a value.
func (c *columnCells) values() []cellGroup {
	return slices.DeleteFunc(slices.Clone(c.groups), func(g cellGroup) bool { return g.kind == kindMissing })
}

// decide returns the type of a column: of the first format that fits all its
// cells that have a value. One that does not fit makes it text.
func decide(c *columnCells, by conventions) decision {
	values := c.values()
	d := decision{cellFormat: cellFormat{typ: typeNull}, missing: len(values) < len(c.groups), blank: c.blank() > 0}
	if len(values) > 0 {
		all := cellFormats(values, by)
		i := slices.IndexFunc(all, func(r cellFormat) bool { return fitsAll(r, values) })
		if i < 0 {
			return decideText(c, by, values, all)
		}
		d.cellFormat, d.spelled = all[i], c.missing()-c.blank()
		d.noteRounded(values)
	}
	d.report = domain.ColumnReport{Type: d.typ, From: d.from, Unit: d.unit, Missing: c.empty + c.missing()}
	return d
}

// decideAs reads a column as a type that its owner wants. It is not ok when a
// cell does not fit, the first of which is on a line.
func decideAs(c *columnCells, by conventions, typ string) (d decision, line int64, ok bool) {
	values := c.values()
	codes := isNumber(typ) && c.kinds().meets(kindCode.set())
	for i := range values {
		if values[i].kind = values[i].kind.plain(); codes && values[i].kind == kindCode {
			values[i].kind = kindInt
		}
	}
	d = decision{cellFormat: cellFormat{typ: typ}, missing: len(values) < len(c.groups), blank: c.blank() > 0}
	d.report = domain.ColumnReport{Type: typ, Missing: c.empty + c.missing()}
	if typ == typeVarchar {
		d.missing, d.report.Missing = false, c.empty+c.blank()
		return d, 0, true
	}
	if money := moneyOf(values); isNumber(typ) {
		for i := range values {
			if numberKinds.meets(values[i].kind.set()) {
				values[i].form |= money // where some have the sign and others none, it is that of all
			}
		}
	}
	by.decimal, by.times, by.booleans = by.decimalFor(c.kinds(), typ), typ == typeTime, true
	all := slices.DeleteFunc(cellFormats(values, by), func(r cellFormat) bool { return !holds(typ, r.typ) })
	if typ == typeBoolean {
		// DuckDB refuses other numbers than these, which checkFit finds.
		all = append(all, cellFormat{typ: typ, from: "1/0", expr: readTrimmed, fits: func(g cellGroup) bool { return g.kind == kindInt && g.form == 0 }})
	}
	best, _, misfits := bestFormat(all, values)
	if misfits > 0 {
		// The owner gave the order, also where most dates have another form.
		if i := slices.IndexFunc(all, func(r cellFormat) bool { return r.ordered }); i >= 0 && by.forced {
			best = all[i]
		}
		return d, misfitLines(best, values)[0], false
	}
	if d.from, d.unit, d.expr = best.from, best.unit, best.expr; codes && d.expr == nil {
		d.expr = readTrimmed
	}
	d.report.From, d.report.Unit = best.from, best.unit
	d.noteRounded(values)
	return d, 0, true
}

// noteRounded warns of numbers that a double rounds.
func (d *decision) noteRounded(values []cellGroup) {
	i := slices.IndexFunc(values, func(g cellGroup) bool { return g.kind == kindFloat && g.form&formRounded != 0 })
	if i >= 0 && d.typ == typeDouble {
		d.warning, d.line = rounded(values[i].count), values[i].lines[0]+1
	}
}

// bestFormat returns the first format that fits the most cells, how many these
// are, and how many it does not fit.
func bestFormat(all []cellFormat, values []cellGroup) (best cellFormat, fits, misfits int64) {
	best.fits = func(cellGroup) bool { return false }
	for _, g := range values {
		misfits += g.count
	}
	total := misfits
	for _, r := range all {
		n := int64(0)
		for _, g := range values {
			if r.fits(g) {
				n += g.count
			}
		}
		if n > fits {
			best, fits, misfits = r, n, total-n
		}
	}
	return best, fits, misfits
}

// misfitLines returns the first lines of cells that a format does not fit, from 1.
func misfitLines(r cellFormat, values []cellGroup) []int64 {
	var lines []int64
	for _, g := range values {
		if !r.fits(g) {
			lines = append(lines, g.lines...)
		}
	}
	slices.Sort(lines)
	lines = lines[:min(len(lines), maxLines)]
	for i := range lines {
		lines[i]++
	}
	return lines
}

// holds reports whether a type has the values of another.
func holds(typ, other string) bool {
	if typ == typeDouble || decimalPattern.MatchString(typ) {
		return isNumber(other) || other == typeExact
	}
	return typ == other || typ == typeTimestamp && other == typeDate
}

func fitsAll(r cellFormat, groups []cellGroup) bool {
	return !slices.ContainsFunc(groups, func(g cellGroup) bool { return !r.fits(g) })
}

// decideText makes a column text, and says which cells kept it from what most of
// its cells are.
func decideText(c *columnCells, by conventions, values []cellGroup, all []cellFormat) decision {
	d := decision{cellFormat: cellFormat{typ: typeVarchar}, blank: c.blank() > 0, report: domain.ColumnReport{Type: typeVarchar, Missing: c.empty + c.blank()}}
	seen := c.kinds()
	switch {
	case seen.within(numberKinds) && by.ambiguous(seen):
		shown := "1,234"
		if !seen.meets(kindComma3.set()) {
			shown = "1.234"
		}
		d.warning = fmt.Sprintf("the column is text: %s can be 1234 or the fraction 1.234, and no cell decides; choose the type whole number (integer) for 1234, or number for the fraction", shown)
		return d
	case seen.within(kindEitherFirst.set()):
		d.warning = "the column is text: its dates can be d/m/y or m/d/y, and no cell decides; choose the type date, day first (date:dmy), or date, month first (date:mdy)"
		return d
	}
	best, fits, misfits := bestFormat(all, values)
	if seen.within(numberKinds) && fits > 0 && len(unitsOf(values)) > 1 {
		d.report.Misfits, d.report.MisfitLines = misfits, misfitLines(best, values)
		d.warning = "the column is text: its numbers have different units: " + strings.Join(unitsOf(values), ", ")
		if money := moneyOf(values); money != 0 {
			d.warning = fmt.Sprintf("the column is text: some of its numbers have a unit and others none; choose the type number to read all in %s", units[money])
		}
		return d
	}
	if fits == 0 || 2*misfits > fits {
		if seen.within(numberKinds) && seen.meets(pointKinds) && seen.meets(commaKinds) {
			d.warning = "the column is text: some of its numbers have a decimal point, others a decimal comma"
		}
		if seen.within(yearLastKinds) {
			d.warning = "the column is text: some of its dates are d/m/y, others m/d/y"
		}
		return d
	}
	d.report.Misfits, d.report.MisfitLines = misfits, misfitLines(best, values)
	switch {
	case seen.meets(kindCode.set()): // codes are texts
	case c.text:
		d.warning = fmt.Sprintf("the column is text: at least %d cells cannot be read as %s", misfits, domain.TypeWord(best.typ))
	default:
		d.warning = fmt.Sprintf("the column is text: %s of %d cannot be read as %s", source.Count(int(misfits), "cell"), misfits+fits, domain.TypeWord(best.typ))
	}
	return d
}

// moneyOf returns the currency that some numbers have and others not, 0 without one, or with
// further units.
func moneyOf(values []cellGroup) (money form) {
	plain := false
	for _, g := range values {
		switch unit := g.form.unit(); {
		case !numberKinds.meets(g.kind.set()):
		case unit == 0:
			plain = true
		case units[unit] == "%" || money != 0 && money != unit:
			return 0
		default:
			money = unit
		}
	}
	if !plain {
		return 0
	}
	return money
}

// unitsOf lists the units of numbers, the most frequent first.
func unitsOf(values []cellGroup) (names []string) {
	counts := map[form]int64{}
	for _, g := range values {
		counts[g.form.unit()] += g.count
	}
	forms := slices.SortedFunc(maps.Keys(counts), func(a, b form) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for _, f := range forms {
		names = append(names, cmp.Or(units[f], "none"))
	}
	return names
}

// sql returns how DuckDB reads a cell of the column as a type that is wanted: the
// type in which it is to read the file, and the SQL of the value.
func (d *decision) sql(cell, typ string) (read, expr string) {
	switch {
	case d.typ == typeNull:
		return typeVarchar, fmt.Sprintf("CAST(NULL AS %s)", physical(typ))
	case d.typ == typeVarchar || physical(typ) == typeVarchar:
		if d.blank {
			cell = unlessBlank(cell)
		}
		return typeVarchar, convert(cell, typeVarchar, typ)
	case d.expr == nil && !d.missing && !decimalPattern.MatchString(typ):
		return typ, cell
	case d.expr == nil:
		expr = readTrimmed(cell, typ)
	default:
		expr = d.expr(cell, typ)
	}
	if d.missing {
		expr = fmt.Sprintf("CASE WHEN %s THEN NULL ELSE %s END", isMissing(cell), expr)
	}
	return typeVarchar, expr
}
