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

// Describer says what a dataset and its fields are.
type Describer interface {
	// Describe gives a description of a dataset and one for each of its fields,
	// carrying on from the current ones.
	Describe(ctx context.Context, task DescribeTask) (Description, error)
}

// DescribeTask is what is known of a dataset.
type DescribeTask struct {
	// Name may be "".
	Name string
	// Sample are some rows, JSON objects.
	Sample []json.RawMessage
	// Description is the current one; "" when there is none.
	Description string
	// Fields are the fields to describe, with their current descriptions; those of
	// the sample when there are none.
	Fields []Field
}

// Description says what a dataset holds.
type Description struct {
	Text string
	// Fields are those that were asked for, in their order.
	Fields []Field
	Usage  Usage
}

var describeShape = readShape("describe")

const (
	// maxDescription is the longest description, in characters, that a dataset
	// can have.
	maxDescription      = 10_000
	maxFieldDescription = 1000
)

var describeLimits = rowLimits{rows: 20, bytes: 12 << 10, value: 200}

// Describe implements [Describer].
func (c *Chat) Describe(ctx context.Context, task DescribeTask) (Description, error) {
	if len(task.Fields) == 0 {
		task.Fields = FieldsOf(task.Sample, nil)
	}
	if len(task.Fields) > MaxFields {
		return Description{}, fmt.Errorf("describe a dataset: there are more than %d fields", MaxFields)
	}
	view := struct{ Name, Description, Fields, Sample string }{
		Name:        task.Name,
		Description: shorten(task.Description, 4<<10),
		Fields:      fieldsText(task.Fields),
		Sample:      rowsText(Rows{Columns: names(task.Fields), Rows: task.Sample}, describeLimits),
	}
	known := linksIn([]Step{{Rows: Rows{Rows: task.Sample}}})
	var result Description
	usage, err := c.run(ctx, "describe", describeShape, view, func(text string) error {
		got, err := decode(text, checkDescription)
		if err != nil {
			return err
		}
		result.Text = known.sanitize(got.Description)
		result.Fields = got.describe(task.Fields, known)
		return nil
	})
	result.Usage = usage
	return result, err
}

// FieldsOf gives the fields that rows have, in the order in which they come up,
// with their current descriptions, and then those that are only described.
func FieldsOf(rows []json.RawMessage, current map[string]string) []Field {
	var fields []Field
	seen := map[string]bool{}
	add := func(names ...string) {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				fields = append(fields, Field{Name: name, Description: current[name]})
			}
		}
	}
	for _, row := range rows {
		add(columnsOf([]json.RawMessage{row})...)
	}
	add(slices.Sorted(maps.Keys(current))...)
	return fields
}

func names(fields []Field) []string {
	all := make([]string, len(fields))
	for i, f := range fields {
		all[i] = f.Name
	}
	return all
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

// describe gives the fields that were asked for with what was written about them,
// or with what they had.
func (d *describeOutput) describe(fields []Field, known links) []Field {
	described := make([]Field, len(fields))
	for i, f := range fields {
		described[i] = f
		for _, wrote := range d.Fields {
			if text := strings.TrimSpace(wrote.Description); strings.EqualFold(wrote.Name, f.Name) && text != "" {
				described[i].Description = known.sanitize(shorten(text, maxFieldDescription))
				break
			}
		}
	}
	return described
}
