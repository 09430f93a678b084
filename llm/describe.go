package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Describer describes datasets.
type Describer interface {
	// Describe describes a dataset and its fields, based on the current descriptions.
	Describe(ctx context.Context, task DescribeTask) (Description, error)
}

// DescribeTask is what is known of a dataset.
type DescribeTask struct {
	// Name and Description, the current one, may be "".
	Name, Description string
	// Sample has some rows, JSON objects.
	Sample []json.RawMessage
	// Fields are those to describe, with their current descriptions; by default, all.
	Fields []Field
}

// Description describes a dataset.
type Description struct {
	Text string
	// Fields are those of the task, in their order.
	Fields []Field
	Usage  Usage
}

var describeShape = readShape("describe")

const (
	maxDescription      = 10_000
	maxFieldDescription = 1000
)

// Describe implements [Describer].
func (c *Chat) Describe(ctx context.Context, task DescribeTask) (Description, error) {
	if len(task.Fields) == 0 {
		task.Fields = FieldsOf(task.Sample, nil)
	}
	if len(task.Fields) > MaxFields {
		return Description{}, fmt.Errorf("describe a dataset: there are more than %d fields", MaxFields)
	}
	sample := Rows{Rows: task.Sample}
	for _, f := range task.Fields {
		sample.Columns = append(sample.Columns, f.Name)
	}
	view := struct{ Name, Description, Fields, Sample string }{
		Name:        task.Name,
		Description: shorten(task.Description, 4<<10),
		Fields:      fieldsText(task.Fields),
		Sample:      rowsText(sample, describeLimits),
	}
	known := linksIn([]Step{{Rows: sample}})
	var result Description
	err := c.run(ctx, "describe", describeShape, view, &result.Usage, func(text string) error {
		got, err := decode(text, checkDescription)
		if err != nil {
			return err
		}
		result.Text = known.sanitize(got.Description)
		result.Fields = got.describe(task.Fields, known)
		return nil
	})
	return result, err
}

// FieldsOf returns the fields of rows, in order of appearance and with their current
// descriptions, and then the fields that have only a description.
func FieldsOf(rows []json.RawMessage, current map[string]string) []Field {
	var names []string
	for _, row := range rows {
		names = append(names, ColumnsOf(row)...)
	}
	names = append(names, slices.Sorted(maps.Keys(current))...)
	var fields []Field
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			fields = append(fields, Field{Name: name, Description: current[name]})
		}
	}
	return fields
}

type describeOutput struct {
	Description string
	Fields      []Field
}

func checkDescription(d *describeOutput) error {
	if d.Description = strings.TrimSpace(d.Description); d.Description == "" {
		return errors.New("description is empty")
	}
	if len(d.Description) > maxDescription {
		return fmt.Errorf("description is longer than %d bytes", maxDescription)
	}
	return checkTexts(d.Description)
}

// describe returns the fields with their new descriptions, or else the current ones.
func (d *describeOutput) describe(fields []Field, known links) []Field {
	described := slices.Clone(fields)
	for i, f := range fields {
		for _, wrote := range d.Fields {
			if text := strings.TrimSpace(wrote.Description); strings.EqualFold(wrote.Name, f.Name) && text != "" {
				described[i].Description = known.sanitize(shorten(text, maxFieldDescription))
				break
			}
		}
	}
	return described
}
