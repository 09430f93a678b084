package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// internalKey begins the keys of a row that are not data.
const internalKey = "__"

// field is a value of a row, as JSON.
type field struct {
	name  string
	value json.RawMessage
}

// Rows makes a table of the rows of a result: columns in the order in which they
// come, numbers to the right, and a score where rows fit only so well. Rows that
// are no JSON objects are an error.
func Rows(rows []json.RawMessage) (Table, error) {
	var t Table
	columns := map[string]int{}
	read := make([][]field, len(rows))
	scores, ranked := make([]string, len(rows)), false
	for i, row := range rows {
		fields, err := fieldsOf(row)
		if err != nil {
			return Table{}, fmt.Errorf("row %d is no JSON object", i+1)
		}
		for _, f := range fields {
			if f.name == internalKey+"metadata" {
				score, whole := scoreOf(f.value)
				scores[i], ranked = score, ranked || !whole
			}
			if strings.HasPrefix(f.name, internalKey) {
				continue
			}
			if _, known := columns[f.name]; !known {
				columns[f.name] = len(t.Columns)
				t.Columns = append(t.Columns, Column{Name: f.name, Right: true})
			}
			read[i] = append(read[i], f)
		}
	}
	for _, fields := range read {
		cells := make([]string, len(t.Columns))
		for i := range cells {
			cells[i] = None
		}
		for _, f := range fields {
			at := columns[f.name]
			text, number, null := cellOf(f.value)
			cells[at] = text
			t.Columns[at].Right = t.Columns[at].Right && (number || null)
		}
		t.Rows = append(t.Rows, cells)
	}
	if ranked {
		t.addScores(scores)
	}
	return t, nil
}

func (t *Table) addScores(scores []string) {
	name := "score"
	for _, column := range t.Columns {
		if column.Name == name {
			name = internalKey + name
		}
	}
	t.Columns = append(t.Columns, Column{Name: name, Right: true})
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], scores[i])
	}
}

// fieldsOf reads the fields of an object in their order.
func fieldsOf(row json.RawMessage) ([]field, error) {
	decoder := json.NewDecoder(bytes.NewReader(row))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, fmt.Errorf("no object: %w", err)
	}
	var fields []field
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		f := field{name: fmt.Sprint(name)}
		if err := decoder.Decode(&f.value); err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func scoreOf(metadata json.RawMessage) (text string, whole bool) {
	var m struct{ Score *float64 }
	if json.Unmarshal(metadata, &m) != nil || m.Score == nil {
		return "", true
	}
	return strconv.FormatFloat(*m.Score, 'f', 2, 64), *m.Score >= 1
}

// numeral is a number that JSON cannot hold exactly, and comes as a string.
var numeral = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]+)?|Infinity)$|^NaN$`)

// cellOf gives a value as it is shown: strings bare, lists and objects as JSON.
func cellOf(value json.RawMessage) (text string, number, null bool) {
	if string(value) == "null" {
		return None, false, true
	}
	if json.Unmarshal(value, &text) == nil {
		return text, numeral.MatchString(text), false
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value), false, false
	}
	text = compact.String()
	return text, strings.ContainsAny(text[:1], "-0123456789"), false
}
