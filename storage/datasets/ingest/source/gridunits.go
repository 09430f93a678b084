package source

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xlsx"
)

// totals are words that begin a row of totals.
var totals = [][]byte{[]byte("total"), []byte("totals"), []byte("grand total"), []byte("subtotal"), []byte("sum"), []byte("overall"), []byte("gesamt"), []byte("summe"),
	[]byte("total general"), []byte("totaal"), []byte("totale"), []byte("итого")}

// IsTotal reports whether the first value of a row says that it is one of totals: it is such a
// word, or ends with total.
func IsTotal(value []byte) bool {
	for _, word := range totals {
		if len(value) == len(word) && bytes.EqualFold(value, word) {
			return true
		}
	}
	return len(value) > len(" total") && bytes.EqualFold(value[len(value)-len(" total"):], []byte(" total"))
}

// isTotal reports whether a row is one of totals.
func (r *gridRow) isTotal() bool {
	for _, cell := range r.cells {
		if cell = strings.Trim(cell, " :."); cell != "" {
			return IsTotal([]byte(cell))
		}
	}
	return false
}

// unitCount counts the numbers of a column with the same unit.
type unitCount struct {
	unit  string
	count int
	// row is the first one's, from 1.
	row    int
	format *xlsx.Format
}

// columnUnits are the units of a column's numbers, without those in rows of totals.
type columnUnits struct{ counts []unitCount }

// countUnits counts the units of a row.
func (g *grid) countUnits(units []columnUnits, row gridRow) {
	if row.isTotal() {
		return
	}
	for i, cell := range row.cells {
		if cell == "" {
			continue
		}
		unit := ""
		_, format := xlsx.CutStyle(cell, g.formats)
		if format != nil {
			unit = format.Unit
		} else if !xlsx.IsDecimal(cell) {
			continue
		}
		c := &units[i]
		at := slices.IndexFunc(c.counts, func(n unitCount) bool { return n.unit == unit })
		if at < 0 {
			at = len(c.counts)
			c.counts = append(c.counts, unitCount{unit: unit, row: row.number + 1, format: format})
		}
		c.counts[at].count++
	}
}

// single returns the format of a column whose numbers all have one unit.
func (c *columnUnits) single() *xlsx.Format {
	if len(c.counts) == 1 {
		return c.counts[0].format
	}
	return nil
}

// partly reports whether some numbers of a column have a currency and others none. They are
// read without a unit: accountants show it in the first row and the last one.
func (c *columnUnits) partly() (money, plain unitCount, ok bool) {
	if len(c.counts) != 2 {
		return money, plain, false
	}
	money, plain = c.counts[0], c.counts[1]
	if money.unit == "" {
		money, plain = plain, money
	}
	return money, plain, plain.unit == "" && money.unit != xlsx.Percent
}

// show returns the cells of a row as they are written: numbers with their units, as far as their
// columns have one. Without columns, each number has its own.
func (g *grid) show(units []columnUnits, row gridRow) []string {
	if !g.marked {
		return row.cells
	}
	total := units != nil && row.isTotal()
	cells := slices.Clone(row.cells)
	for i, cell := range cells {
		number, format := xlsx.CutStyle(cell, g.formats)
		if units == nil {
			if format != nil {
				cells[i] = format.Show(number)
			}
			continue
		}
		_, _, partly := units[i].partly()
		switch single := units[i].single(); {
		case total && single != nil && xlsx.IsDecimal(number):
			cells[i] = single.Show(number) // the unit of the others
		case format == nil:
		case partly || total && len(units[i].counts) <= 1:
			cells[i] = number
		default:
			cells[i] = format.Show(number)
		}
	}
	return cells
}

// note notes which formats gave the columns their units, and says which columns are hidden and
// which have a unit in a part of their rows.
func (g *grid) note(units []columnUnits, columns []int, names []string) {
	var hidden, apart []string
	for at, column := range columns {
		name := fmt.Sprintf("column_%d", at+1)
		if names != nil && names[column] != "" {
			name = names[column]
		}
		if slices.ContainsFunc(g.hidden, func(h [2]int) bool { return h[0] <= column+1 && column+1 <= h[1] }) {
			hidden = append(hidden, name)
		}
		if at > 0 && column > columns[at-1]+1 {
			apart = append(apart, name)
		}
		if units == nil {
			continue
		}
		form := ""
		if single := units[column].single(); single != nil {
			form = "number format " + Excerpt(single.Code)
		}
		g.forms = append(g.forms, form)
		if money, plain, ok := units[column].partly(); ok {
			less := money
			if plain.count < money.count {
				less = plain
			}
			g.warnings = append(g.warnings, domain.IngestWarning{Line: int64(less.row), Column: name,
				Message: fmt.Sprintf("%s: %s in %s and %s without a unit: the column has no unit; give its cells one format to have it",
					g.name, Count(money.count, "number"), money.unit, Count(plain.count, "number"))})
		}
	}
	if len(apart) > 0 {
		g.warnings = append(g.warnings, domain.IngestWarning{Message: fmt.Sprintf("%s: an empty column is left of %s; tables side by side are read as one: to have several, put each into a sheet of its own", g.name, ListFirst(apart))})
	}
	if len(hidden) > 0 {
		g.warnings = append(g.warnings, domain.IngestWarning{Message: fmt.Sprintf("%s: %s read too: %s; to leave them out, delete them from the file", g.name, Count(len(hidden), "hidden column"), ListFirst(hidden))})
	}
}
