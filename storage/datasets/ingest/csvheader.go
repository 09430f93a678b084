package ingest

import (
	"bytes"
	"fmt"
	"slices"
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
		if k != kindText && !isYear(f) || names[domain.FoldColumn(f)] {
			return false
		}
		names[domain.FoldColumn(f)] = true
		if k == kindText {
			texts++
		}
	}
	return texts > 0 && len(names) > 1 && 2*len(names) >= len(fields)
}

func isYear(cell string) bool {
	return len(cell) == 4 && (cell[0] == '1' || cell[0] == '2') && countDigits([]byte(cell)) == 4
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
		if below == kindInt && i > 0 && isYear(strings.TrimSpace(bottom[i])) && top[0] != "" && bottom[0] == "" {
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
