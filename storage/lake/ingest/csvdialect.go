package ingest

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/storage"
)

// dialectRecords is how many records the separator is chosen by.
const dialectRecords = 200

// separatorNames calls separators by names that a person knows.
var separatorNames = map[byte]string{',': "commas", ';': "semicolons", '\t': "tabs", '|': "bars"}

// chooseSeparator gives the candidate that cuts the head's records into equally
// many fields, the most of them. Where none does, the one that cuts the header
// into the most is taken, and the scan tells which line is ragged. It refuses a
// file of one column whose lines are all cut by something else.
func chooseSeparator(name string, head []byte, candidates string) (byte, error) {
	best, most := candidates[0], 1
	for i := range len(candidates) {
		if counts := fieldCounts(head, candidates[i]); equal(counts) && counts[0] > most {
			best, most = candidates[i], counts[0]
		}
	}
	if most > 1 {
		return best, nil
	}
	for i := range len(candidates) {
		if counts := fieldCounts(head, candidates[i]); len(counts) > 0 && counts[0] > most {
			best, most = candidates[i], counts[0]
		}
	}
	if most > 1 {
		return best, nil
	}
	const others = ",;\t|:^~\x01\x1f"
	for i := range len(others) {
		c := others[i]
		if strings.IndexByte(candidates, c) >= 0 {
			continue
		}
		if counts := fieldCounts(head, c); len(counts) > 1 && equal(counts) && counts[0] > 1 {
			what, ok := separatorNames[c]
			if !ok {
				what = quote(string(rune(c)))
			}
			return 0, refuse("%s would have a single column, but all its lines are cut by %s: its fields must be separated by %s",
				name, what, listSeparators(candidates))
		}
	}
	return best, nil
}

func listSeparators(candidates string) string {
	var names []string
	for i := range len(candidates) {
		names = append(names, separatorNames[candidates[i]])
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// fieldCounts counts the fields of the head's first records, leaving out blank
// lines and the record that the head cuts off.
func fieldCounts(head []byte, separator byte) (counts []int) {
	fields, quoted, start := 1, false, true
	blank := true
	for i := 0; i < len(head) && len(counts) < dialectRecords; i++ {
		c := head[i]
		switch {
		case quoted:
			quoted = c != '"'
		case c == '"' && (start || i > 0 && head[i-1] == '"'):
			// A second quote right after one that closed is a quote in the text.
			quoted, blank = true, false
		case c == separator:
			fields++
			start, blank = true, false
			continue
		case c == '\n':
			if !blank {
				counts = append(counts, fields)
			}
			fields, start, blank = 1, true, true
			continue
		case c != '\r':
			blank = false
		}
		start = false
	}
	if len(head) < headSize && !blank && len(counts) < dialectRecords {
		counts = append(counts, fields)
	}
	return counts
}

func equal(counts []int) bool {
	for _, n := range counts {
		if n != counts[0] {
			return false
		}
	}
	return len(counts) > 0
}

// headerRecord reads the first record, which by our convention names the
// columns, and gives the bytes and lines up to its end.
func headerRecord(name string, head []byte, separator byte) (fields []string, size int, lines int64, err error) {
	pos := 0
	for pos < len(head) {
		n, _ := lineEnd(head[pos:], true)
		if n == 0 {
			break
		}
		pos += n
		lines++
	}
	for {
		field, width, wrong := headerField(head[pos:], separator)
		if wrong != "" {
			return nil, 0, 0, refuse("%s, line %d: %s", name, lines+1, wrong)
		}
		fields = append(fields, field)
		if len(fields) > storage.MaxColumns {
			return nil, 0, 0, refuse("%s has more than %d columns", name, storage.MaxColumns)
		}
		lines += int64(strings.Count(field, "\n"))
		pos += width
		if pos == len(head) {
			if len(head) == headSize {
				return nil, 0, 0, refuse("%s: the header is longer than %d bytes", name, headSize)
			}
			return fields, pos, lines + 1, nil
		}
		if head[pos] == separator {
			pos++
			continue
		}
		n, _ := lineEnd(head[pos:], true)
		return fields, pos + n, lines + 1, nil
	}
}

func headerField(b []byte, separator byte) (field string, width int, wrong string) {
	if len(b) > 0 && b[0] == '"' {
		end, _, closed := closingQuote(b)
		if !closed {
			return "", 0, "a quote is opened in the header and never closed"
		}
		if rest := b[end+1:]; len(rest) > 0 && rest[0] != separator {
			if n, _ := lineEnd(rest, true); n == 0 {
				return "", 0, "a quoted name in the header is followed by " + quote(excerpt(rest[:min(len(rest), 10)]))
			}
		}
		return strings.ReplaceAll(string(b[1:end]), `""`, `"`), end + 1, ""
	}
	i := bytes.IndexAny(b, string([]byte{separator, '\n', '\r'}))
	if i < 0 {
		i = len(b)
	}
	if i < len(b) && b[i] == '\r' && i+1 < len(b) && b[i+1] != '\n' {
		return "", 0, "a carriage return stands in the header; lines end with LF or CR LF"
	}
	return string(b[:i]), i, ""
}

// columnNames makes names that differ from each other of a header's fields:
// empty ones are called by their number, doubled ones get a number. Case does
// not tell columns apart.
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
		return refuse("%s: a column name is not UTF-8 text; save the file as UTF-8", source)
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
