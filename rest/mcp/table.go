package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/internal/jsonscan"
	"parley/internal/jsontext"
)

// table has rows, as far as they fit.
type table struct {
	Columns   []string            `json:"columns" jsonschema:"the names of the columns"`
	Rows      [][]json.RawMessage `json:"rows" jsonschema:"the values of each row, in the order of the columns"`
	Truncated bool                `json:"truncated" jsonschema:"whether rows or parts of cells were left out"`
	TotalRows int64               `json:"total_rows,omitempty" jsonschema:"how many rows there are in all, if they were counted"`
}

// metadataColumn is the member of a row that is no column.
const metadataColumn = "__metadata"

// newTable converts rows, JSON objects, as far as limit and bytes allow; it reduces bytes by what
// they take. columns are those of a result without rows.
func newTable(result domain.QueryResult, columns []string, limit int, bytes *int) table {
	t := table{Columns: append([]string{}, columns...), Rows: [][]json.RawMessage{}, Truncated: result.Truncated, TotalRows: result.Total}
	for i, row := range result.Rows {
		var cells []json.RawMessage
		var names []string
		size := 0
		for name, value := range jsonscan.Members(row) {
			if string(name) == metadataColumn {
				continue
			}
			cell, whole := newCell(value)
			t.Truncated = t.Truncated || !whole
			cells, names, size = append(cells, cell), append(names, string(name)), size+len(cell)
		}
		if i == 0 {
			t.Columns = names
		}
		if *bytes -= size; *bytes < 0 || i == limit {
			if t.Truncated = true; t.TotalRows == 0 && !result.Truncated {
				t.TotalRows = int64(len(result.Rows))
			}
			break
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// newCell returns a value, and false for the beginning of a long one. That of a list or an object
// is text.
func newCell(value []byte) (cell json.RawMessage, whole bool) {
	if len(value) <= maxCell {
		return value, true
	}
	text := string(value)
	if value[0] == '"' {
		if text = string(jsonscan.Unquote(value)); utf8.RuneCountInString(text) <= maxCell {
			return value, true
		}
	}
	cell, _ = json.Marshal(domain.Truncate(text, maxCell)) // a string can always be encoded
	return cell, false
}

// Limits of a table in a short text, in rows and characters.
const (
	textRows = 10
	textSize = 3000
)

// text has the first rows, for a client that does not read the structured result.
func (t table) text() string {
	shown := t.Rows[:min(len(t.Rows), textRows)]
	count := fmt.Sprintf("%d rows", len(t.Rows))
	switch {
	case t.TotalRows > 0:
		count = fmt.Sprintf("%d of %d rows", len(shown), t.TotalRows)
	case t.Truncated || len(shown) < len(t.Rows):
		count = fmt.Sprintf("the first %d rows", len(shown))
	}
	return fmt.Sprintf("%s (%s):\n%s", strings.Join(t.Columns, ", "), count, shortJSON(shown))
}

// shortJSON returns the beginning of the JSON of a value for a short text.
func shortJSON(value any) string {
	text, _ := jsontext.Marshal(value) // of texts, numbers and JSON
	return domain.Truncate(string(text), textSize)
}
