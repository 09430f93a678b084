package ingest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/source"
)

// maxTitle is how many records may stand above the header.
const maxTitle = 30

// csvHeader is the part of a file above its rows.
type csvHeader struct {
	fields []string
	// row is the line of the header, from 1; 0 without one.
	row int
	// size is how many bytes the header has, with all that stands above it.
	size int
	// block is what was found in these bytes, without columns.
	block *csvBlock
	// plain says that the header is one record, with nothing above it.
	plain    bool
	warnings []domain.IngestWarning
}

// readHeader finds the record that names the columns, below titles and comments,
// unless its line is given, and joins two such records. Row 0 says that no record
// names the columns. One with names of the dataset's columns does.
func readHeader(in source.Input, separator byte, row *int, have []domain.Column) (h csvHeader, err error) {
	records := headRecords(in.Head, separator)
	skip := 0
	if _, ok := separatorLine(in.Head); ok && (row == nil || *row == 0) {
		skip = 1
	}
	first := skip + headerIndex(records[skip:])
	none := row == nil && first == skip && startsWithData(records[skip:]) && !namesColumn(records[skip].fields, have)
	if row != nil && *row == 0 {
		first, none = skip, true
	} else if row != nil {
		first = slices.IndexFunc(records, func(r csvRecord) bool { return r.line == int64(*row-1) })
		if first < 0 {
			return h, refuse("%s: no row begins on line %d, the header row", in.Name, *row)
		}
		none = in.HeaderGuessed && startsWithData(records[first:]) && !namesColumn(records[first].fields, have)
	}
	last := first
	if none {
		last--
	} else if row == nil && joinable(records[min(first, len(records)):]) {
		last++
	}
	s := newCSVScanner(separator, nil)
	h.block = s.newBlock()
	h.size = s.scan(h.block, in.Head, true, int64(last)+1)
	switch p := h.block.problem; {
	case p != nil && p.encoding:
		return h, notUTF8(position(in.Name, p.line+1, ""))
	case p != nil:
		return h, refuse("%s: %s", position(in.Name, p.line+1, ""), p.reason)
	case h.size == source.HeadSize:
		return h, refuse("%s: the header is longer than %d bytes", in.Name, source.HeadSize)
	case first >= len(records):
		// The head cuts the header off, or there is none.
		return h, refuse("%s has no rows", in.Name)
	}
	h.row = int(records[first].line) + 1
	h.plain = h.row == 1 && last == 0
	h.fields = records[first].fields
	warn := func(message string) {
		h.warnings = append(h.warnings, domain.IngestWarning{Line: int64(h.row), Message: message})
	}
	if none && (row == nil || *row > 0) {
		warn(fmt.Sprintf("line %d has values like the rows below it: the columns are named column_1, column_2, …; headerRow %d reads their names from it", h.row, h.row))
	}
	if none {
		h.row = 0
		for i := range h.fields {
			h.fields[i] = fmt.Sprintf("column_%d", i+1)
		}
	}
	if first > skip {
		warn(fmt.Sprintf("the header is on line %d; %s above it not read", h.row, source.Count(first-skip, "row")))
	}
	if last > first {
		h.fields = joinHeaderRows(h.fields, records[last].fields)
		warn(fmt.Sprintf("two header rows were joined; headerRow %d keeps line %d as data", h.row, records[last].line+1))
	}
	if len(h.fields) > domain.MaxColumns {
		return h, refuse("%s has more than %d columns", in.Name, domain.MaxColumns)
	}
	for i, field := range h.fields {
		h.fields[i] = strings.TrimSpace(field)
	}
	return h, nil
}

// separatorLine returns the separator that a first line such as sep=; names, which
// is for Excel.
func separatorLine(head []byte) (separator byte, ok bool) {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if len(line) != len("sep=;") || !equalFold(line[:4], "sep=") || !bytes.Contains([]byte(",;\t|:^~"), line[4:]) {
		return 0, false
	}
	return line[4], true
}

// headerIndex returns which record names the columns: the first, unless titles or
// comments stand above one that looks like a header.
func headerIndex(records []csvRecord) int {
	fields := mostFields(records)
	if fields < 2 {
		return 0
	}
	for i, r := range records[:min(len(records), maxTitle+1)] {
		next := i+1 < len(records) && len(records[i+1].fields) == fields
		switch {
		case isComment(r) && len(r.fields) == fields && next && !isComment(records[i+1]) && !headerLike(records[i+1].fields):
			return i // a header whose first name begins with #
		case isComment(r):
			continue
		case isTitle(r, fields):
			continue
		case i+1 < len(records) && 2*filled(r.fields) <= fields && (records[i+1].line > r.line+1 || filled(records[i+1].fields) == 0):
			continue // a few values above an empty line
		case i == 0 || next && len(r.fields) == fields && headerLike(r.fields) && (fields > 2 || slices.Contains(typedColumns(records[i+1:], fields), true)):
			return i
		}
		return 0
	}
	return 0
}

// isTitle reports whether a record is too short for a header of so many fields.
func isTitle(r csvRecord, fields int) bool {
	return len(r.fields) == 1 || 2*len(r.fields) <= fields || fields > 2 && filled(r.fields) < 2
}

// mostFields counts the fields that most of the records have.
func mostFields(records []csvRecord) (fields int) {
	counts := map[int]int{}
	for _, r := range records {
		counts[len(r.fields)]++
	}
	most := 0
	for n, c := range counts {
		if c > most || c == most && n > fields {
			fields, most = n, c
		}
	}
	return fields
}

func isComment(r csvRecord) bool { return strings.HasPrefix(strings.TrimSpace(r.fields[0]), "#") }

// filled counts the fields that are not blank.
func filled(fields []string) (n int) {
	for _, f := range fields {
		if strings.TrimSpace(f) != "" {
			n++
		}
	}
	return n
}

// headerLike reports whether fields are distinct names. A year can be one.
func headerLike(fields []string) bool {
	names := map[string]bool{}
	texts := 0
	for _, f := range fields {
		f = strings.TrimSpace(f)
		if f == "" {
			continue
		}
		k := cellKind(f)
		if k != kindText && !domain.IsYear(f) || names[domain.FoldColumn(f)] {
			return false
		}
		names[domain.FoldColumn(f)] = true
		if k == kindText {
			texts++
		}
	}
	return texts > 0 && len(names) > 1 && 2*len(names) >= len(fields)
}

// cellKind returns the kind of a cell, kindMissing for an empty one.
func cellKind(cell string) kind {
	if strings.TrimSpace(cell) == "" {
		return kindMissing
	}
	k, _ := classifyCell([]byte(cell))
	return k
}

// joinable reports whether the first two records are headers of the records
// below them: groups of columns above their names, or units below the names. In
// both cases a column of other values than text has text in both.
func joinable(records []csvRecord) bool {
	if len(records) < 3 || len(records[0].fields) != len(records[1].fields) {
		return false
	}
	top, bottom := records[0].fields, records[1].fields
	typed := typedColumns(records[2:], len(top))
	groups, named := false, map[string]bool{}
	proofs, units := 0, true
	for i := range top {
		above, below := strings.TrimSpace(top[i]), cellKind(bottom[i])
		// Years are names below groups, right of a name that has none below it.
		if below == kindInt && i > 0 && domain.IsYear(strings.TrimSpace(bottom[i])) && top[0] != "" && bottom[0] == "" {
			below = kindText
		}
		switch {
		case below != kindText && below != kindMissing:
			return false
		case above == "" && below == kindMissing && i > 0:
			return false
		case i > 0 && (above == "" || named[domain.FoldColumn(above)]):
			groups = true
		}
		named[domain.FoldColumn(above)] = true
		if below == kindText && typed[i] {
			proofs++
		}
		units = units && (below == kindMissing || typed[i] && isUnit(strings.TrimSpace(bottom[i])))
	}
	// A header of groups names no column by itself where it is empty or repeated.
	return groups && proofs > 0 && headerLike(joinHeaderRows(top, bottom)) || !groups && units && proofs > 1
}

// measures are units of measure, in lower case.
var measures = []string{"kg", "g", "mg", "µg", "lb", "lbs", "oz", "km", "m", "cm", "mm", "µm", "nm", "mi", "ft", "in", "yd", "ha", "m2", "m²", "km2", "km²",
	"m3", "m³", "l", "ml", "cl", "s", "sec", "ms", "min", "h", "hr", "hrs", "d", "days", "months", "years", "°", "°c", "°f", "k", "deg", "rad", "km/h", "m/s",
	"mph", "kn", "w", "kw", "mw", "gw", "wh", "kwh", "mwh", "gwh", "j", "kj", "kcal", "v", "mv", "a", "ma", "hz", "khz", "mhz", "ghz", "pa", "hpa", "kpa", "bar",
	"mbar", "psi", "b", "kb", "mb", "gb", "tb", "px", "pt", "ppm", "ppb", "db", "mol", "mg/l", "g/l", "µg/m³", "pcs", "stk", "count"}

// isUnit reports whether a cell below a name is a unit, such as kg, EUR or (m/s).
func isUnit(cell string) bool {
	last := len(cell) - 1
	if last > 1 && (cell[0] == '(' && cell[last] == ')' || cell[0] == '[' && cell[last] == ']') {
		return true
	}
	return slices.Contains(measures, strings.ToLower(cell)) || slices.ContainsFunc(units[1:], func(unit string) bool { return strings.EqualFold(unit, cell) })
}

// typedColumns reports which columns have values, none of them text.
func typedColumns(records []csvRecord, fields int) []bool {
	typed, text := make([]bool, fields), make([]bool, fields)
	for _, r := range records {
		for i, f := range r.fields[:min(fields, len(r.fields))] {
			switch cellKind(f) {
			case kindMissing:
			case kindText:
				text[i] = true
			default:
				typed[i] = true
			}
		}
	}
	for i := range typed {
		typed[i] = typed[i] && !text[i]
	}
	return typed
}

// joinHeaderRows joins two header rows. A group stands above the first of its
// columns, and holds for those right of it that have none.
func joinHeaderRows(top, bottom []string) []string {
	fields := make([]string, len(top))
	group := ""
	for i := range top {
		if above := strings.TrimSpace(top[i]); above != "" {
			group = above
		}
		below := strings.TrimSpace(bottom[i])
		fields[i] = strings.TrimSpace(group + " " + below)
		if domain.FoldColumn(group) == domain.FoldColumn(below) {
			fields[i] = group
		}
	}
	return fields
}

// valueKinds are sets of kinds that values of one column may have.
var valueKinds = []kindSet{
	numberKinds | kindBig.set(), setOf(kindCode, kindInt), setOf(kindBool), setOf(kindWord),
	setOf(kindDate, kindTimestamp, kindInstant, kindNamedMonth) | yearLastKinds, setOf(kindTime),
}

// startsWithData reports whether the first record is not the header: it has values
// of the same kinds as the records below it, and in no column of such values a name.
// Years, numbers in equal steps, and growing whole numbers beside a text can be the names
// of columns.
func startsWithData(records []csvRecord) bool {
	if len(records) < 2 {
		return false
	}
	proofs := 0
	var numbers []string
	besideText := false
	for i, cell := range records[0].fields {
		cell = strings.TrimSpace(cell)
		above := cellKind(cell)
		below, years := kindsBelow(records[1:], i)
		switch {
		case above == kindMissing || below == 0 || below.meets(kindText.set()):
			besideText = besideText || above == kindText
			continue
		case !alike(above.set() | below):
			return false
		case numberKinds.meets(above.set()):
			numbers = append(numbers, cell)
		}
		if years || !domain.IsYear(cell) {
			proofs++
		}
	}
	return proofs > 0 && (proofs > len(numbers) || !inSteps(numbers) && !(besideText && areGrowing(numbers)))
}

// namesColumn reports whether a field is the name of a column.
func namesColumn(fields []string, columns []domain.Column) bool {
	names := make(map[string]bool, len(columns))
	for _, c := range columns {
		names[domain.FoldColumn(c.Name)] = true
	}
	return slices.ContainsFunc(fields, func(field string) bool { return names[domain.FoldColumn(strings.TrimSpace(field))] })
}

// areGrowing reports whether there are three whole numbers or more, each larger than the one before.
func areGrowing(numbers []string) bool {
	before := math.Inf(-1)
	for _, text := range numbers {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n != math.Trunc(n) || n <= before {
			return false
		}
		before = n
	}
	return len(numbers) > 2
}

// kindsBelow returns the kinds of the values in a column, and whether all are years.
func kindsBelow(records []csvRecord, column int) (seen kindSet, years bool) {
	years = true
	for _, r := range records {
		if column >= len(r.fields) {
			continue
		}
		cell := strings.TrimSpace(r.fields[column])
		if k := cellKind(cell); k != kindMissing {
			seen |= k.set()
			years = years && domain.IsYear(cell)
		}
	}
	return seen, years
}

// alike reports whether values of these kinds can be in one column.
func alike(seen kindSet) bool {
	for _, kinds := range valueKinds {
		if seen.within(kinds) {
			return true
		}
	}
	return false
}

// inSteps reports whether numbers grow in equal steps. Two must be neighbors.
func inSteps(numbers []string) bool {
	if len(numbers) < 2 {
		return false
	}
	var before, step float64
	for i, text := range numbers {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return false
		}
		switch {
		case i == 1:
			step = n - before
		case i > 1 && math.Abs(n-before-step) > 1e-9*math.Abs(n):
			return false
		}
		before = n
	}
	return step > 0 && (len(numbers) > 2 || step == 1)
}

// isTotal reports whether a row is one of totals by its first value.
func isTotal(fields [][]byte) bool {
	for _, f := range fields {
		if f = bytes.Trim(f, " :."); len(f) > 0 {
			return source.IsTotal(f)
		}
	}
	return false
}

// rowWarnings say which rows are left out, and which look like totals.
func rowWarnings(b *csvBlock) (warnings []domain.IngestWarning) {
	if b.empty > 0 {
		warnings = append(warnings, domain.IngestWarning{Message: source.Count(int(b.empty), "row") + " without a value not read"})
	}
	for _, line := range b.totals.lines {
		warnings = append(warnings, domain.IngestWarning{Line: line + 1, Message: "the row looks like a row of totals, which sums count again; if it is one, delete it from the file"})
	}
	if more := int(b.totals.count) - len(b.totals.lines); more > 0 {
		warnings = append(warnings, domain.IngestWarning{Message: source.Count(more, "more row") + " like a row of totals"})
	}
	return warnings
}

// csvTotals is the last row of a file, if its first value says that it is one of totals.
type csvTotals struct {
	cells []string
	// offset is where it begins, lines how many lines follow the rows above it.
	offset, lines int64
}

// readTotals finds the last row of a table, and returns it if it is one of totals.
func readTotals(path string, separator byte, columns int) (csvTotals, error) {
	tail, from, err := readTail(path)
	if err != nil {
		return csvTotals{}, err
	}
	var lines int64
	for at := lastLine(tail); at > 0; at = lastLine(tail) {
		line := bytes.TrimRight(tail[at:], "\r\n")
		lines++
		records := headRecords(append(bytes.Clone(line), '\n'), separator)
		switch {
		case bytes.Count(line, []byte{'"'})%2 == 1:
			return csvTotals{}, nil // a value of several lines
		case len(records) == 0 || filled(records[0].fields) == 0:
			tail = tail[:at]
			continue
		case len(records[0].fields) != columns || !isTotalRow(records[0].fields):
			return csvTotals{}, nil
		}
		return csvTotals{cells: records[0].fields, offset: from + int64(at), lines: lines}, nil
	}
	return csvTotals{}, nil
}

func isTotalRow(cells []string) bool {
	fields := make([][]byte, len(cells))
	for i, cell := range cells {
		fields[i] = []byte(cell)
	}
	return isTotal(fields)
}

// checkTotals is checkRows without the last row, if that has the totals of the rows above it.
func (r *run) checkTotals(ctx context.Context, in source.Input, header csvHeader, names []string, file *csvFile) (*table, *csvBlock, error) {
	totals, err := readTotals(in.Path, file.separator, len(names))
	if err != nil {
		return nil, nil, err
	}
	if totals.cells == nil || totals.offset < int64(header.size) {
		return r.checkRows(ctx, in, header, names, file)
	}
	before, above := r.progress.now, in
	if above.Path, err = r.cutFile(in.Path, totals.offset); err != nil {
		return nil, nil, err
	}
	t, whole, err := r.checkRows(ctx, above, header, names, file)
	if err == nil {
		var sums bool
		if sums, err = r.hasSums(ctx, t, totals.cells); sums {
			t.report.Warnings = append(t.report.Warnings, domain.IngestWarning{
				Line: whole.lines + 1, Message: "the row of totals not read, so that sums do not count it again: " + source.Excerpt(strings.Join(totals.cells, " ")),
			})
			whole.lines += totals.lines
			return t, whole, nil
		}
	}
	if ctx.Err() != nil {
		return nil, nil, err
	}
	r.progress.now = before
	return r.checkRows(ctx, in, header, names, file)
}

// hasSums reports whether cells have the sum of the numbers of a column.
func (r *run) hasSums(ctx context.Context, t *table, cells []string) (bool, error) {
	want := make([]string, len(t.columns))
	for i, c := range t.columns {
		want[i] = c.Type
	}
	from, values := t.read(want, false)
	var exprs []string
	var totals, within []float64
	for i, c := range t.columns {
		if total, unit, ok := totalOf(cells[i], t.report.Columns[i].From); ok && total != 0 && isNumber(c.Type) {
			exprs = append(exprs, fmt.Sprintf("sum(CAST(%s AS DOUBLE))", values[i]))
			totals, within = append(totals, total), append(within, unit/2+1e-9*math.Abs(total))
		}
	}
	if len(exprs) == 0 {
		return false, nil
	}
	sums, dest := make([]sql.NullFloat64, len(exprs)), make([]any, len(exprs))
	for i := range sums {
		dest[i] = &sums[i]
	}
	if err := r.db.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s", strings.Join(exprs, ", "), from)).Scan(dest...); err != nil {
		return false, fmt.Errorf("sum columns: %w", err)
	}
	for i, sum := range sums {
		if sum.Valid && math.Abs(sum.Float64-totals[i]) <= within[i] {
			return true, nil
		}
	}
	return false, nil
}

// totalOf returns the number in a cell of a column whose cells have a form, and the unit of its
// last digit.
func totalOf(cell, from string) (total, unit float64, ok bool) {
	decimal := '.'
	if strings.HasSuffix(from, ",56") || from == "1.234" {
		decimal = ','
	}
	number := strings.Map(func(c rune) rune {
		switch {
		case c == decimal:
			return '.'
		case c == '-' || c == '(' || c == '−':
			return '-'
		case c >= '0' && c <= '9':
			return c
		}
		return -1
	}, cell)
	_, fraction, _ := strings.Cut(number, ".")
	total, err := strconv.ParseFloat(number, 64)
	return total, math.Pow10(-len(fraction)), err == nil
}
