package agents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/llm"
)

// Limits of the text about the data when there is no answer.
const (
	maxDatasetsText = 2 << 10
	maxColumnNames  = 8
	maxColumnName   = 60
)

// describe converts datasets, with their descriptions, for jobs.
func describe(all []domain.DatasetData) []llm.Dataset {
	datasets := make([]llm.Dataset, len(all))
	for i, data := range all {
		d := llm.Dataset{
			Name:    data.Name,
			Version: data.ID + "/" + strconv.FormatInt(data.Version, 10),
			Rows:    data.RowCount,
			Columns: make([]llm.Column, len(data.Columns)),
		}
		if data.Definition.Description != nil {
			d.Description = *data.Definition.Description
		}
		for j, column := range data.Columns {
			d.Columns[j] = llm.Column{Name: column.Name, Type: column.Type, Description: fieldText(data.Definition.Schema, column.Name)}
		}
		datasets[i] = d
	}
	return datasets
}

func (w *Run) links(ctx context.Context, all []domain.DatasetData) ([]llm.Link, error) {
	if len(all) < 2 {
		return nil, nil
	}
	found, err := retryWhileUnavailable(ctx, w, func() ([]domain.MeasuredLink, error) {
		return w.config.Lake.LinksBetween(ctx, w.question.Caller, w.question.Namespace, all)
	})
	if err != nil {
		return nil, fmt.Errorf("read the links: %w", err)
	}
	links := make([]llm.Link, len(found))
	for i, l := range found {
		links[i] = llm.Link{
			From: l.From, Columns: l.Columns, To: l.To, ToColumns: l.ToColumns, Label: l.Label, Declared: l.Declared,
			ManyFrom: true, // as a foreign key, where it is not known
		}
		if m := l.Measure; m != nil {
			links[i].ManyFrom = m.Cardinality == domain.ManyToOne || m.Cardinality == domain.ManyToMany
			links[i].ManyTo = m.Cardinality == domain.OneToMany || m.Cardinality == domain.ManyToMany
			links[i].Orphans = m.Orphans
		}
	}
	return links, nil
}

// fieldText returns the description of a column; column names are case-insensitive.
func fieldText(schema map[string]string, column string) string {
	if text, ok := schema[column]; ok {
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if strings.EqualFold(name, column) {
			return schema[name]
		}
	}
	return ""
}

// DatasetsText describes in a sentence what data there is; "" for none.
func DatasetsText(datasets []llm.Dataset) string {
	if len(datasets) == 0 {
		return ""
	}
	descriptions := make([]string, len(datasets))
	for i, d := range datasets {
		if len(d.Columns) == 0 {
			descriptions[i] = d.Name + " (no rows yet)"
			continue
		}
		names := make([]string, 0, maxColumnNames+1)
		for j, column := range d.Columns {
			if j == maxColumnNames {
				names = append(names, "…")
				break
			}
			names = append(names, oneLine(column.Name, maxColumnName))
		}
		descriptions[i] = d.Name + " (" + strings.Join(names, ", ") + ")"
	}
	// Column names are untrusted: they may contain Markdown.
	return sentence(clean(llm.Plain("The data holds: "+strings.Join(descriptions, "; ")), maxDatasetsText))
}
