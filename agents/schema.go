package agents

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/llm"
)

// Limits of the sentence about the data when there is no answer.
const (
	maxNamedDatasets = 5
	maxDatasetName   = 60
)

// describe converts datasets, with their descriptions, for jobs.
func describe(all []domain.DatasetData) []llm.Dataset {
	datasets := make([]llm.Dataset, len(all))
	for i, data := range all {
		d := llm.Dataset{
			Name:    data.Name,
			Version: data.Contents(),
			Rows:    data.RowCount,
			Columns: make([]llm.Column, len(data.Columns)),
		}
		if data.Definition.DisplayName != nil {
			d.DisplayName = *data.Definition.DisplayName
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

// DatasetsText names the datasets in a sentence; "" for none.
func DatasetsText(datasets []llm.Dataset) string {
	var names []string
	for _, d := range datasets[:min(len(datasets), maxNamedDatasets)] {
		names = append(names, oneLine(d.Name, maxDatasetName))
	}
	if more := len(datasets) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return llm.Plain("The data is in the dataset " + names[0] + ".")
	}
	// Names are untrusted: they may contain Markdown.
	return llm.Plain("The data is in the datasets " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + ".")
}
