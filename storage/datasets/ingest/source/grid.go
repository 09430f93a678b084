package source

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xlsx"
)

const (
	// headerSearch is how many rows with values are searched for the header.
	headerSearch = 50
	// maxMerged is how many columns all merged cells of a grid may cover together.
	maxMerged = 10_000_000
)

// grid is a table as people see it: rows of cells, of which some are merged, with titles
// above the header. Rows and columns count from 0.
type grid struct {
	name   string
	merges []merge
	// last is the last row with a value, by column.
	last []int
	// each returns the rows that have a value, in order. Cells are valid until the next
	// row.
	each func(give func(row int, cells []string) error) error
	// headerRow is the number of the header from 1, 0 without one, and warnings say what is
	// above it, once it was written.
	headerRow int
	warnings  []domain.IngestWarning
	// guessed says that the first row is taken for the header, and nothing else was possible.
	guessed bool
	// formats are how cells show their numbers, by their styles; marked says that numbers with
	// a unit have the mark of their style before them.
	formats []xlsx.Format
	marked  bool
	// forms are the formats that gave the columns their units, "" without one.
	forms []string
	// hidden are the first and last of hidden columns, from 1.
	hidden [][2]int
}

// merge is a range of merged cells, its ends included.
type merge struct{ top, left, bottom, right int }

// gridRow is a row with the values of merged cells in each of them.
type gridRow struct {
	number int
	cells  []string
	// own counts the values; that of merged cells counts once.
	own int
	// wide says that cells are merged with those to their right.
	wide bool
}

// count notes the values of a row.
func (g *grid) count(row int, cells []string) {
	for len(g.last) < len(cells) {
		g.last = append(g.last, -1)
	}
	for i, cell := range cells {
		if cell != "" {
			g.last[i] = row
		}
	}
}

// writeCSV writes the header and the rows below it, each on the line of its number, so
// that messages name the rows of the sheet. Columns without a value are left out.
// HeaderRow, unless nil, is the number of the header from 1, 0 for none.
func (g *grid) writeCSV(out io.Writer, headerRow *int) error {
	if len(g.last) > domain.MaxColumns {
		return refuse("%s has more than %d columns", g.name, domain.MaxColumns)
	}
	var covered int
	for _, m := range g.merges {
		if covered += min(m.right, len(g.last)) - m.left; covered > maxMerged {
			return refuse("%s has too many merged cells", g.name)
		}
	}
	slices.SortFunc(g.merges, func(a, b merge) int { return cmp.Compare(a.top, b.top) })
	var units []columnUnits
	if g.marked {
		units = make([]columnUnits, len(g.last))
		err := g.eachRow(headerRow, func([]gridRow, int, int) error { return nil }, func(row gridRow) error {
			g.countUnits(units, row)
			return nil
		})
		if err != nil {
			return err
		}
	}

	w := &gridWriter{out: out, csv: csv.NewWriter(out)}
	err := g.eachRow(headerRow, func(first []gridRow, header, joined int) error {
		for i, last := range g.last {
			if last >= first[header].number {
				w.columns = append(w.columns, i)
			}
		}
		if headerRow != nil && *headerRow == 0 {
			g.note(units, w.columns, nil)
			return nil
		}
		row := first[header]
		g.headerRow, g.guessed = row.number+1, headerRow == nil && header == 0 && joined < 0
		g.noteAbove(header, joined)
		row.cells = g.show(nil, row)
		if joined >= 0 {
			row.cells = joinGroups(g.show(nil, first[joined]), row.cells)
		}
		g.note(units, w.columns, row.cells)
		return w.write(row)
	}, func(row gridRow) error {
		row.cells = g.show(units, row)
		return w.write(row)
	})
	if err != nil {
		return err
	}
	w.csv.Flush()
	return w.csv.Error()
}

// eachRow returns the first rows with the index of the header among them, and that of a row which is
// joined to it, then each row below the header, or all rows without one.
func (g *grid) eachRow(headerRow *int, start func(first []gridRow, header, joined int) error, give func(gridRow) error) error {
	fill := filler{merges: g.merges, spans: make([]span, len(g.last))}
	var first []gridRow
	started := false
	begin := func() error {
		started = true
		header, joined, err := findHeader(g.name, first, headerRow)
		if err == nil {
			err = start(first, header, joined)
		}
		below := header + 1
		if headerRow != nil && *headerRow == 0 {
			below = header
		}
		for i := below; err == nil && i < len(first); i++ {
			err = give(first[i])
		}
		first = nil
		return err
	}
	err := g.each(func(number int, cells []string) error {
		row := fill.row(number, cells)
		if started {
			return give(row)
		}
		first = append(first, row)
		if len(first) < headerSearch || headerRow != nil && number < *headerRow-1 {
			return nil
		}
		return begin()
	})
	if err == nil && !started && len(first) > 0 {
		err = begin()
	}
	return err
}

// noteAbove says what is above the header: rows that are not read, and one that is joined to it.
func (g *grid) noteAbove(header, joined int) {
	warn := func(message string) {
		g.warnings = append(g.warnings, domain.IngestWarning{Line: int64(g.headerRow), Message: g.name + ": " + message})
	}
	above := header
	if joined >= 0 {
		above = joined
		warn("two header rows were joined")
	}
	if above > 0 {
		warn(fmt.Sprintf("the header is in row %d; %s above it not read", g.headerRow, Count(above, "row")))
	}
}

// span is what a merged cell gives to the rows below its first.
type span struct {
	until int
	value string
}

// filler fills merged cells with the value of their first.
type filler struct {
	merges []merge
	// spans are the merged cells that go on, by column.
	spans []span
}

func (f *filler) row(number int, cells []string) gridRow {
	row := gridRow{number: number, cells: make([]string, len(f.spans))}
	copy(row.cells, cells)
	for _, cell := range cells {
		if cell != "" {
			row.own++
		}
	}
	for i := range f.spans {
		if number <= f.spans[i].until && row.cells[i] == "" {
			row.cells[i] = f.spans[i].value
		}
	}
	for len(f.merges) > 0 && f.merges[0].top <= number {
		m := f.merges[0]
		f.merges = f.merges[1:]
		if m.top < number || m.left >= len(row.cells) || row.cells[m.left] == "" {
			continue // the first cell has no value
		}
		for i := m.left; i <= min(m.right, len(row.cells)-1); i++ {
			row.wide = row.wide || i > m.left
			row.cells[i] = row.cells[m.left]
			f.spans[i] = span{m.bottom, row.cells[m.left]}
		}
	}
	return row
}

// findHeader returns the index of the row that names the columns: the given one, or the
// first that has about as many values as the rows do. Joined is the index of a row
// above it that names groups of columns, -1 without one. Without a header, it is the
// first row.
func findHeader(name string, rows []gridRow, headerRow *int) (header, joined int, err error) {
	if headerRow != nil && *headerRow == 0 {
		return 0, -1, nil
	}
	if headerRow != nil {
		header = slices.IndexFunc(rows, func(r gridRow) bool { return r.number == *headerRow-1 })
		if header < 0 {
			return 0, 0, refuse("%s: row %d, the header row, has no values", name, *headerRow)
		}
		return header, -1, nil
	}
	counts := make([]int, len(rows))
	for i, row := range rows {
		counts[i] = row.own
	}
	slices.Sort(counts)
	typical := counts[len(counts)/2]
	adjacent := func(i int) bool {
		return i >= 0 && i+1 < len(rows) && rows[i].number+1 == rows[i+1].number
	}
	for i, row := range rows {
		if 2*row.own <= typical {
			continue
		}
		// A line with an empty row below it is a title.
		if i+1 < len(rows) && row.own < rows[i+1].own && !adjacent(i) {
			continue
		}
		switch {
		case row.wide && row.own > 1 && adjacent(i) && i+2 < len(rows):
			return i + 1, i, nil
		case adjacent(i-1) && rows[i-1].wide && rows[i-1].own > 1:
			return i, i - 1, nil
		}
		return i, -1, nil
	}
	return 0, -1, nil
}

// joinGroups puts the names of groups before those of their columns.
func joinGroups(groups, names []string) []string {
	joined := make([]string, len(names))
	for i, name := range names {
		if joined[i] = strings.TrimSpace(groups[i] + " " + name); groups[i] == name {
			joined[i] = name
		}
	}
	return joined
}

// gridWriter writes rows on the lines of their numbers.
type gridWriter struct {
	out     io.Writer
	csv     *csv.Writer
	columns []int
	next    int
	record  []string
}

func (w *gridWriter) write(row gridRow) error {
	w.record = w.record[:0]
	empty := true
	for _, i := range w.columns {
		w.record = append(w.record, row.cells[i])
		empty = empty && row.cells[i] == ""
	}
	if empty {
		return nil
	}
	if row.number > w.next {
		w.csv.Flush()
		if _, err := fmt.Fprint(w.out, strings.Repeat("\n", row.number-w.next)); err != nil {
			return err
		}
	}
	w.next = row.number + 1
	return w.csv.Write(w.record)
}

// htmlTable is a table as a grid whose merged cells are the spans.
type htmlTable struct {
	name    string
	caption *strings.Builder
	rows    [][]string
	merges  []merge
	// until is the last row that a cell of a row above covers, by column.
	until []int
	// cell collects the text of the open cell, which covers so many rows and columns.
	cell             *strings.Builder
	inRow            bool
	rowspan, colspan int
}

func (t *htmlTable) endRow() {
	t.endCell()
	t.inRow = false
}

// covered counts the next columns of the row that cells from above cover.
func (t *htmlTable) covered() (columns int) {
	number := len(t.rows) - 1
	for at := len(t.rows[number]); at+columns < len(t.until) && t.until[at+columns] >= number; {
		columns++
	}
	return columns
}

// endCell puts the open cell into the first columns that no cell from above covers.
func (t *htmlTable) endCell() {
	if t.cell == nil {
		return
	}
	number := len(t.rows) - 1
	row := t.rows[number]
	for range t.covered() {
		row = append(row, "")
	}
	left := len(row)
	row = append(row, strings.TrimSpace(t.cell.String()))
	for len(row) < left+t.colspan {
		row = append(row, "")
	}
	if t.rowspan > 1 || t.colspan > 1 {
		t.merges = append(t.merges, merge{number, left, number + t.rowspan - 1, left + t.colspan - 1})
	}
	for len(t.until) < len(row) {
		t.until = append(t.until, -1)
	}
	for i := left; i < len(row); i++ {
		t.until[i] = max(t.until[i], number+t.rowspan-1)
	}
	t.rows[number], t.cell = row, nil
}

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
