package dialog

import (
	"encoding/json"
	"slices"
	"strings"

	"parley/llm"
)

// measureValue is the value of a measure; "" if there is none.
type measureValue struct {
	text   string
	number bool
}

// measureOf returns the internal column by which rows were selected, with its values; "" if
// there is none.
func measureOf(rows llm.Rows) (name string, figures []measureValue) {
	for _, raw := range rows.Rows {
		var row map[string]json.RawMessage
		if json.Unmarshal(raw, &row) != nil {
			continue
		}
		if name == "" {
			name = measureName(row)
		}
		value := row[name]
		figures = append(figures, measureValue{escapeCell(shortNumber(value)), len(value) > 0 && strings.IndexByte("-0123456789", value[0]) >= 0})
	}
	return strings.Trim(name, "_"), figures
}

// measureName returns the first internal column of a row that is a measure.
func measureName(row map[string]json.RawMessage) string {
	var names []string
	for key := range row {
		if strings.HasPrefix(key, "__") && key != "__metadata" && key != "__score" {
			names = append(names, key)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// withMeasure formats the measure by which a single row was selected.
func withMeasure(measure string, figures []measureValue) string {
	if measure == "" || len(figures) != 1 || figures[0].text == "" {
		return ""
	}
	name := columnName(measure)
	switch {
	case !figures[0].number:
		return ", with " + name + " **" + figures[0].text + "**"
	case strings.IndexAny(name, "aeiou") == 0:
		return ", with an " + name + " of **" + figures[0].text + "**"
	}
	return ", with a " + name + " of **" + figures[0].text + "**"
}
