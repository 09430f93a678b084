package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/internal/jsonscan"
)

// internalKey is the prefix of the keys of a row that are not data.
const internalKey = "__"

// Rows returns a table of the rows of a result: columns in the order of their first
// appearance, numbers on the right, and a score if the rows match only in part. Without rows
// it has the columns with these names. A row that is not a JSON object is an error.
func Rows(rows []json.RawMessage, names []string) (Table, error) {
	var t Table
	if len(rows) == 0 {
		for _, name := range names {
			t.Columns = append(t.Columns, Column{Name: name})
		}
	}
	columns := map[string]int{}
	scores, ranked := make([]string, len(rows)), false
	for i, row := range rows {
		if row = bytes.TrimSpace(row); !json.Valid(row) || row[0] != '{' {
			return Table{}, fmt.Errorf("row %d is no JSON object", i+1)
		}
		cells := slices.Repeat([]string{None}, len(t.Columns))
		for key, value := range jsonscan.Members(row) {
			name := string(key)
			if name == internalKey+"metadata" {
				score, whole := scoreOf(value)
				scores[i], ranked = score, ranked || !whole
			}
			if strings.HasPrefix(name, internalKey) {
				continue
			}
			at, known := columns[name]
			if !known {
				at, columns[name] = len(t.Columns), len(t.Columns)
				t.Columns = append(t.Columns, Column{Name: name, Right: true})
				cells = append(cells, "")
			}
			text, number, null := cellOf(value)
			cells[at] = text
			t.Columns[at].Right = t.Columns[at].Right && (number || null)
		}
		t.Rows = append(t.Rows, cells)
	}
	for i, cells := range t.Rows {
		t.Rows[i] = append(cells, slices.Repeat([]string{None}, len(t.Columns)-len(cells))...)
	}
	if ranked {
		t.addScores(scores)
	}
	return t, nil
}

func (t *Table) addScores(scores []string) {
	name := "score"
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name }) {
		name = internalKey + name
	}
	t.Columns = append(t.Columns, Column{Name: name, Right: true})
	for i := range t.Rows {
		t.Rows[i] = append(t.Rows[i], scores[i])
	}
}

func scoreOf(metadata json.RawMessage) (text string, whole bool) {
	var m struct{ Score *float64 }
	if json.Unmarshal(metadata, &m) != nil || m.Score == nil {
		return "", true
	}
	return strconv.FormatFloat(*m.Score, 'f', 2, 64), *m.Score >= 1
}

// numeral is a number in a string, because JSON cannot hold it exactly.
var numeral = regexp.MustCompile(`^-?((0|[1-9][0-9]*)(\.[0-9]+)?|Infinity)$|^NaN$`)

// cellOf formats a value: strings without quotes, lists and objects as JSON.
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
