// Package chart makes Vega-Lite specifications of query results: which chart shows a result
// best, its axes with titles and units, its order and its formats. It leaves colors and
// fonts to those who draw it.
//
// A specification has no rows: its data is the dataset "rows", which stands beside it.
package chart

import (
	"encoding/json"
	"maps"
)

// Limits of what is drawn.
const (
	maxRows       = 1000
	maxColumns    = 20
	maxName       = 200 // bytes
	maxMeasures   = 5
	maxCategories = 20
	maxSeries     = 10
	// maxParts is how many shares are a pie.
	maxParts = 6
	// maxPeriods is how many periods are columns; more are a line.
	maxPeriods = 6
	// maxGrouped is how many columns of several series stand side by side.
	maxGrouped = 24
)

// Column is a column of a result.
type Column struct {
	// Type is DuckDB's name of it. Unit is the unit of its numbers; "" if unknown.
	Name, Type, Unit string
}

// Result is the result of a query.
type Result struct {
	Question string
	// Measure is the column that the rows were selected by; "" for none.
	Measure string
	// Locale is that of the numbers in texts; "" for English. Who draws the chart chooses
	// that of its axes.
	Locale  string
	Columns []Column
	// Rows are valid JSON objects with the columns as keys. Truncated says that there were
	// more.
	Rows      []json.RawMessage
	Truncated bool
}

// Spec returns the specification of the chart that shows a result, as a JSON object; nil if
// no chart helps. Where there are several measures, usermeta.choices has one {title, spec}
// for each; spec is what to replace in the specification. The first is the one that is
// drawn.
func Spec(r Result) map[string]any {
	if len(r.Rows) < 2 || len(r.Rows) > maxRows || len(r.Columns) > maxColumns {
		return nil
	}
	t := newTable(r)
	s := t.choose()
	if s == nil {
		return nil
	}
	spec := s.base()
	var choices []any
	for _, m := range s.measures {
		drawn := s.draw(m)
		if _, ok := drawn["transform"]; !ok && len(s.measures) > 1 {
			drawn["transform"] = []any{} // it takes the place of another's
		}
		if len(choices) == 0 {
			maps.Copy(spec, drawn)
		}
		choices = append(choices, object{"title": m.title(), "spec": drawn})
	}
	if len(choices) > 1 {
		spec["usermeta"] = object{"choices": choices}
	}
	return spec
}

type object = map[string]any
