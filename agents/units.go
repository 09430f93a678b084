package agents

import (
	"context"
	"slices"
	"strings"

	"parley/agents/chart"
	"parley/storage"
)

// Profiles reads what the columns of a dataset hold.
type Profiles interface {
	Profile(ctx context.Context, caller storage.Caller, ref storage.DatasetRef) (storage.DatasetProfile, error)
}

// maxProfiles limits the profiles that are read for one query.
const maxProfiles = 4

// units gives the units of the numbers of a result, by column: that of the column of a
// dataset with the same name, or of which it is a sum, an average, a minimum or a maximum.
// Without profiles there are none.
func (w *Run) units(ctx context.Context, sql string, columns []storage.Column) map[string]string {
	numeric := func(c storage.Column) bool { return storage.KindOf(c.Type) == storage.KindNumber }
	if w.config.Profiles == nil || !slices.ContainsFunc(columns, numeric) {
		return nil
	}
	known := map[string]string{} // by column in lower case, "" where datasets differ
	for _, profile := range w.profiles(ctx, sql) {
		for _, c := range profile.Columns {
			name := strings.ToLower(c.Name)
			if unit, twice := known[name]; twice && unit != c.Unit {
				c.Unit = ""
			}
			known[name] = c.Unit
		}
	}
	units := map[string]string{}
	for _, c := range columns {
		sources := sourceColumns(c.Name)
		at := slices.IndexFunc(sources, func(source string) bool { _, ok := known[source]; return ok })
		if at >= 0 && numeric(c) && known[sources[at]] != "" {
			units[c.Name] = known[sources[at]]
		}
	}
	return units
}

// profiles gives those of the datasets that a query names.
func (w *Run) profiles(ctx context.Context, sql string) (found []storage.DatasetProfile) {
	sql = strings.ToLower(sql)
	for _, dataset := range w.task.Datasets {
		if len(found) == maxProfiles {
			break
		}
		if !strings.Contains(sql, strings.ToLower(dataset.Name)) {
			continue
		}
		ref := storage.DatasetRef{Owner: w.request.Namespace.Owner, Namespace: w.request.Namespace.Name, Name: dataset.Name}
		// Without a unit the numbers are right too.
		if profile, err := w.config.Profiles.Profile(ctx, w.request.Caller, ref); err == nil {
			found = append(found, profile)
		}
	}
	return found
}

// ofColumn are words of names for what has the unit of the column that it is computed of.
var ofColumn = []string{"sum", "total", "avg", "average", "mean", "median", "min", "max", "minimum", "maximum", "lowest", "highest"}

// sourceColumns gives the columns of datasets that a column of a result may have its unit
// from, in lower case.
func sourceColumns(name string) []string {
	name = strings.ToLower(strings.Trim(name, "_"))
	if function, argument, ok := strings.Cut(name, "("); ok {
		if !slices.Contains(ofColumn, function) || !strings.HasSuffix(argument, ")") {
			return nil
		}
		return []string{strings.Trim(strings.TrimSuffix(argument, ")"), `"`)}
	}
	sources := []string{name}
	for _, word := range ofColumn {
		if rest, ok := strings.CutPrefix(name, word+"_"); ok {
			sources = append(sources, rest)
		}
		if rest, ok := strings.CutSuffix(name, "_"+word); ok {
			sources = append(sources, rest)
		}
	}
	return sources
}

// chartOf gives the chart of a result; nil if none helps.
func chartOf(question string, result storage.QueryResult, units map[string]string) map[string]any {
	columns := make([]chart.Column, len(result.Columns))
	for i, c := range result.Columns {
		columns[i] = chart.Column{Name: c.Name, Type: c.Type, Unit: units[c.Name]}
	}
	return chart.Spec(chart.Result{Question: question, Columns: columns, Rows: result.Rows, Truncated: result.Truncated})
}
