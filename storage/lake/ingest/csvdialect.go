package ingest

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/storage"
)

// dialectRecords is how many records decide the separator.
const dialectRecords = 200

// separatorNames are the separators' names in messages.
var separatorNames = map[byte]string{',': "commas", ';': "semicolons", '\t': "tabs", '|': "bars"}

// chooseSeparator gives the candidate that cuts the head's records into equally
// many fields, the most of them; else one that does so below a title. Where none
// does, it gives the one that cuts the header into the most, and the scan finds
// the ragged line. It refuses a file of one column whose lines are all cut by
// something else.
func chooseSeparator(name string, head []byte, candidates string) (byte, error) {
	for _, fits := range []func(records []csvRecord) int{uniformFields, titledFields, firstFields} {
		best, most := byte(0), 1
		for _, c := range []byte(candidates) {
			if fields := fits(headRecords(head, c)); fields > most {
				best, most = c, fields
			}
		}
		if most > 1 {
			return best, nil
		}
	}
	for _, c := range []byte(",;\t|:^~\x01\x1f") {
		records := headRecords(head, c)
		if uniformFields(records) > 1 && len(records) > 1 && strings.IndexByte(candidates, c) < 0 {
			return 0, refuse("%s would have a single column, but all its lines are cut by %s: its fields must be separated by %s",
				name, cmp.Or(separatorNames[c], quote(string(rune(c)))), listSeparators(candidates))
		}
	}
	return candidates[0], nil
}

// firstFields counts the fields of the first record.
func firstFields(records []csvRecord) int {
	if len(records) == 0 {
		return 0
	}
	return len(records[0].fields)
}

// uniformFields counts the fields of the records, 0 where they differ.
func uniformFields(records []csvRecord) int {
	for _, r := range records {
		if len(r.fields) != len(records[0].fields) {
			return 0
		}
	}
	return firstFields(records)
}

// titledFields counts the fields below a title or comments, 0 without them.
func titledFields(records []csvRecord) int {
	if h := headerIndex(records); h > 0 {
		return len(records[h].fields)
	}
	return 0
}

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

// csvRecord is a record in the head of a file.
type csvRecord struct {
	fields []string
	// line is where the record begins, from 0.
	line int64
}

// headRecords gives the head's first records, without the one that the head cuts
// off.
func headRecords(head []byte, separator byte) []csvRecord {
	var records []csvRecord
	s := newCSVScanner(separator, nil)
	b := s.newBlock()
	s.onField = func(column int, field []byte, _, _ bool) {
		if column == 0 {
			records = append(records, csvRecord{line: b.lines})
		}
		r := &records[len(records)-1]
		r.fields = append(r.fields, unquote(field))
	}
	s.scan(b, head, len(head) < headSize, dialectRecords)
	return records[:b.rows]
}

// unquote gives the value of a field as it stands in the text.
func unquote(field []byte) string {
	if len(field) > 1 && field[0] == '"' {
		field = bytes.ReplaceAll(field[1:len(field)-1], []byte(`""`), []byte(`"`))
	}
	return string(field)
}

// columnNames makes distinct names of a header's fields: empty ones become
// column_N, repeated ones get a number, and underscores that begin the names of
// internal columns are left out. Names that differ only in case are equal.
func columnNames(source string, fields []string) ([]string, []storage.IngestWarning, error) {
	given := map[string]bool{}
	for _, field := range fields {
		given[fold(field)] = true
	}
	taken := map[string]bool{}
	names := make([]string, len(fields))
	var warnings []storage.IngestWarning
	for i, field := range fields {
		name := field
		if strings.HasPrefix(name, "__") {
			name = strings.TrimLeft(name, "_")
		}
		if strings.TrimSpace(name) == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		if err := checkColumnName(source, name); err != nil {
			return nil, nil, err
		}
		base := name
		for n := 2; taken[fold(name)] || name != field && given[fold(name)]; n++ {
			name = fmt.Sprintf("%s_%d", base, n)
		}
		taken[fold(name)] = true
		names[i] = name
		if strings.HasPrefix(field, "__") {
			warnings = append(warnings, storage.IngestWarning{Column: name, Message: fmt.Sprintf("the column was named %s; names that start with __ are for internal use", quote(excerpt([]byte(field))))})
		}
	}
	return names, warnings, nil
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
