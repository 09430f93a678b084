package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"parley/internal/jsonscan"
)

// rowLimits limit the rows in a prompt.
type rowLimits struct{ rows, bytes, value int }

var (
	beforeLimits   = rowLimits{rows: 20, bytes: 3 << 10, value: 200}
	answerLimits   = rowLimits{rows: 200, bytes: 12 << 10, value: 1000}
	describeLimits = rowLimits{rows: 20, bytes: 12 << 10, value: 200}
)

// rowsText writes rows for a prompt: the names of the columns, then an array of values for
// each row, then how many rows were left out.
func rowsText(rows Rows, limits rowLimits) string {
	columns := rows.Columns
	if len(columns) == 0 && len(rows.Rows) > 0 {
		columns = ColumnsOf(rows.Rows[0])
	}
	var out strings.Builder
	out.WriteString(jsonText(append([]string{}, columns...)) + "\n")
	shown := 0
	for _, row := range rows.Rows {
		line := rowText(columns, row, limits.value)
		if shown == limits.rows || out.Len()+len(line) > limits.bytes && shown > 0 {
			break
		}
		out.WriteString(shorten(line, limits.bytes) + "\n")
		shown++
	}
	switch {
	case len(rows.Rows) == 0:
		out.WriteString("(no rows)\n")
	case rows.Truncated:
		fmt.Fprintf(&out, "(%d rows shown of %d; there are more)\n", shown, len(rows.Rows))
	case shown < len(rows.Rows):
		fmt.Fprintf(&out, "(%d rows shown of %d)\n", shown, len(rows.Rows))
	}
	return out.String()
}

// ColumnsOf gives the keys of a row in order, without internal ones; none when it is not a
// JSON object.
func ColumnsOf(row json.RawMessage) []string {
	var columns []string
	var object map[string]json.RawMessage
	if json.Unmarshal(row, &object) != nil {
		return nil
	}
	for name := range jsonscan.Members(row) {
		if !strings.HasPrefix(string(name), "__") {
			columns = append(columns, string(name))
		}
	}
	return columns
}

func rowText(columns []string, row json.RawMessage, limit int) string {
	var values map[string]json.RawMessage
	if json.Unmarshal(row, &values) != nil {
		return "[]"
	}
	texts := make([]string, len(columns))
	for i, column := range columns {
		texts[i] = valueText(values[column], limit)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

// valueText gives a JSON value, shortened.
func valueText(value json.RawMessage, limit int) string {
	if len(value) == 0 {
		return "null"
	}
	if len(value) <= limit {
		return string(value)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value) // a list or an object
	}
	return jsonText(shorten(text, limit))
}

// jsonText encodes a text or a list of texts, which cannot fail.
func jsonText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// clean removes invalid characters, and control characters other than line breaks and tabs.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}
