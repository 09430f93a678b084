package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/internal/jsonscan"
)

// table has rows, as far as they fit.
type table struct {
	Columns   []string `json:"columns" jsonschema:"the names of the columns"`
	Rows      [][]any  `json:"rows" jsonschema:"the values of each row, in the order of the columns"`
	Truncated bool     `json:"truncated" jsonschema:"whether rows or parts of cells were left out"`
	TotalRows int64    `json:"total_rows,omitempty" jsonschema:"how many rows there are in all, if they were counted"`
}

// metadataColumn is the member of a row that is no column.
const metadataColumn = "__metadata"

// newTable converts rows, JSON objects, as far as limit and bytes allow; it reduces bytes by what
// they take. columns are those of a result without rows.
func newTable(result domain.QueryResult, columns []string, limit int, bytes *int) table {
	t := table{Columns: append([]string{}, columns...), Rows: [][]any{}, Truncated: result.Truncated, TotalRows: result.Total}
	for i, row := range result.Rows {
		var cells []any
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

// Limits of a table in a short text.
const (
	textRows = 10
	textCell = 60
)

// text writes the first rows for a client that does not read the structured result.
func (t table) text() string {
	var text strings.Builder
	if len(t.Rows) == 0 {
		return "No rows. Columns: " + strings.Join(t.Columns, ", ")
	}
	fmt.Fprintf(&text, "%s\n", strings.Join(t.Columns, " | "))
	for _, row := range t.Rows[:min(len(t.Rows), textRows)] {
		cells := make([]string, len(row))
		for i, cell := range row {
			value := cell.(json.RawMessage)
			if cells[i] = string(value); value[0] == '"' {
				cells[i] = string(jsonscan.Unquote(value))
			}
			cells[i] = strings.Join(strings.Fields(domain.Truncate(cells[i], textCell)), " ")
		}
		fmt.Fprintf(&text, "%s\n", strings.Join(cells, " | "))
	}
	shown := min(len(t.Rows), textRows)
	switch {
	case t.TotalRows > int64(shown):
		fmt.Fprintf(&text, "(%d of %d rows)", shown, t.TotalRows)
	case t.Truncated || shown < len(t.Rows):
		fmt.Fprintf(&text, "(the first %d rows; there are more)", shown)
	default:
		fmt.Fprintf(&text, "(%d rows)", shown)
	}
	return text.String()
}
