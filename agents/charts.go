package agents

import (
	"context"

	"parley/agents/chart"
	"parley/internal/domain"
	"parley/internal/locale"
	"parley/llm"
)

// Charts makes charts of the rows of queries that callers write.
type Charts struct{ config Config }

// NewCharts makes Charts. Of the config it uses Lake and Profiles.
func NewCharts(config Config) *Charts {
	config.units = newUnitCache()
	return &Charts{config}
}

// Chart returns a Vega-Lite specification of the rows that answer a question, nil if no chart
// helps, and the units of their numbers by column.
func (c *Charts) Chart(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, question string, result domain.QueryResult) (map[string]any, map[string]string) {
	w := &Run{config: c.config, question: domain.Question{Caller: caller, Namespace: in}}
	if all, err := c.config.Lake.Datasets(ctx, caller, w.scope()); err == nil { // without a unit the numbers are right too
		w.task.Datasets = describe(all)
	}
	units := w.units(ctx, result.SQL, result.Columns)
	return chartOf(ctx, question, result, llm.Rows{Units: units}), units
}

// chartOf returns the chart of a result with the units and the measure of its rows; nil if none
// helps.
func chartOf(ctx context.Context, question string, result domain.QueryResult, rows llm.Rows) map[string]any {
	columns := make([]chart.Column, len(result.Columns))
	for i, c := range result.Columns {
		columns[i] = chart.Column{Name: c.Name, Type: c.Type, Unit: rows.Units[c.Name]}
	}
	return chart.Spec(chart.Result{Question: question, Measure: rows.Measure, Locale: locale.From(ctx), Columns: columns, Rows: result.Rows, Truncated: result.Truncated})
}
