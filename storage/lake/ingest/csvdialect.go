package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/storage"
)

// dialectRecords is how many records decide the separator.
const dialectRecords = 200

// separatorNames are the separators' names in messages.
var separatorNames = map[byte]string{',': "commas", ';': "semicolons", '\t': "tabs", '|': "bars"}

// chooseSeparator gives the candidate that cuts the head's records into equally
// many fields, the most of them. Where none does, it gives the one that cuts the
// header into the most, and the scan finds the ragged line. It refuses a file of
// one column whose lines are all cut by something else.
func chooseSeparator(name string, head []byte, candidates string) (byte, error) {
	for _, uniform := range []bool{true, false} {
		best, most := byte(0), 1
		for _, c := range []byte(candidates) {
			if counts := fieldCounts(head, c); counts[0] > most && (!uniform || allEqual(counts)) {
				best, most = c, counts[0]
			}
		}
		if most > 1 {
			return best, nil
		}
	}
	for _, c := range []byte(",;\t|:^~\x01\x1f") {
		counts := fieldCounts(head, c)
		if counts[0] > 1 && len(counts) > 1 && allEqual(counts) && strings.IndexByte(candidates, c) < 0 {
			return 0, refuse("%s would have a single column, but all its lines are cut by %s: its fields must be separated by %s",
				name, cmp.Or(separatorNames[c], quote(string(rune(c)))), listSeparators(candidates))
		}
	}
	return candidates[0], nil
}

func allEqual(counts []int) bool { return slices.Min(counts) == slices.Max(counts) }

func listSeparators(candidates string) string {
	var names []string
	for _, c := range []byte(candidates) {
		names = append(names, separatorNames[c])
	}
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// fieldCounts counts the fields of the head's first records, without the record
// that the head cuts off. Without records it gives 0.
func fieldCounts(head []byte, separator byte) []int {
	var counts []int
	s := newCSVScanner(separator, nil)
	s.onField = func(column int, _ []byte, _, _ bool) {
		if column == 0 {
			counts = append(counts, 0)
		}
		counts[len(counts)-1]++
	}
	b := s.newBlock()
	s.scan(b, head, len(head) < headSize, dialectRecords)
	if b.rows == 0 {
		return []int{0}
	}
	return counts[:b.rows]
}

// readHeader reads the first record, which names the columns, and gives its size
// with the blank lines before it.
func readHeader(name string, head []byte, separator byte) (header *csvBlock, fields []string, size int, err error) {
	s := newCSVScanner(separator, nil)
	s.onField = func(_ int, field []byte, _, _ bool) {
		if len(field) > 0 && field[0] == '"' {
			field = bytes.ReplaceAll(field[1:len(field)-1], []byte(`""`), []byte(`"`))
		}
		fields = append(fields, string(field))
	}
	header = s.newBlock()
	size = s.scan(header, head, true, 1)
	switch p := header.problem; {
	case p != nil:
		err = refuse("%s: %s", place(name, p.line+1, ""), p.reason)
	case len(fields) > storage.MaxColumns:
		err = refuse("%s has more than %d columns", name, storage.MaxColumns)
	case size == headSize:
		err = refuse("%s: the header is longer than %d bytes", name, headSize)
	}
	return header, fields, size, err
}

// columnNames makes distinct names of a header's fields: empty ones become
// column_N, repeated ones get a number. Names that differ only in case are equal.
func columnNames(source string, fields []string) ([]string, error) {
	given := map[string]bool{}
	for _, field := range fields {
		given[fold(field)] = true
	}
	taken := map[string]bool{}
	names := make([]string, len(fields))
	for i, field := range fields {
		name := field
		if strings.TrimSpace(name) == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		if err := checkColumnName(source, name); err != nil {
			return nil, err
		}
		base := name
		for n := 2; taken[fold(name)] || name != field && given[fold(name)]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[fold(name)] = true
		names[i] = name
	}
	return names, nil
}

// checkColumnName refuses names that cannot be columns.
func checkColumnName(source, name string) error {
	if !utf8.ValidString(name) {
		return notUTF8(source)
	}
	if wrong := storage.CheckColumnName(name); wrong != "" {
		return refuse("%s: the column name %s %s", source, quote(excerpt([]byte(name))), wrong)
	}
	return nil
}

// fold is the form in which DuckDB compares names: only A to Z lose their case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, name)
}
