package llm

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// rowLimits bound how much of some rows a model is shown.
type rowLimits struct{ rows, bytes, value int }

var (
	beforeLimits = rowLimits{rows: 20, bytes: 3 << 10, value: 200}
	answerLimits = rowLimits{rows: 200, bytes: 12 << 10, value: 1000}
)

// rowsText writes rows for a model: the names of the columns, then an array of
// values for each row, in that order. What does not fit is counted.
func rowsText(rows Rows, limits rowLimits) string {
	columns := rows.Columns
	if len(columns) == 0 {
		columns = columnsOf(rows.Rows)
	}
	var out strings.Builder
	header, _ := json.Marshal(columns)
	out.Write(header)
	out.WriteByte('\n')
	shown := 0
	for _, row := range rows.Rows {
		line := rowText(columns, row, limits.value)
		if shown == limits.rows || out.Len()+len(line) > limits.bytes && shown > 0 {
			break
		}
		out.WriteString(shorten(line, limits.bytes) + "\n")
		shown++
	}
	switch left := len(rows.Rows) - shown; {
	case len(rows.Rows) == 0:
		out.WriteString("(no rows)\n")
	case rows.Truncated:
		fmt.Fprintf(&out, "(%d rows shown of %d; there are more)\n", shown, len(rows.Rows))
	case left > 0:
		fmt.Fprintf(&out, "(%d rows shown of %d)\n", shown, len(rows.Rows))
	}
	return out.String()
}

// columnsOf gives the keys of the first row, but for internal ones.
func columnsOf(rows []json.RawMessage) []string {
	columns := []string{}
	if len(rows) == 0 {
		return columns
	}
	decoder := json.NewDecoder(strings.NewReader(string(rows[0])))
	if first, err := decoder.Token(); err != nil || first != json.Delim('{') {
		return columns
	}
	for decoder.More() {
		key, err := decoder.Token()
		var value json.RawMessage
		if err != nil || decoder.Decode(&value) != nil {
			return columns
		}
		if name, ok := key.(string); ok && !strings.HasPrefix(name, "__") {
			columns = append(columns, name)
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

// valueText gives a JSON value, a long text cut.
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
	cut, _ := json.Marshal(shorten(text, limit))
	return string(cut)
}

// clean makes text fit to be shown to a model: valid, without control characters
// other than line breaks and tabs.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}
