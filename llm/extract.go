package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"parley/internal/sqltext"
)

// Extractor extracts rows from free text.
type Extractor interface {
	// Extract returns the rows of a text in its order: JSON objects with all the fields in
	// their order. Values are texts, numbers, booleans and null.
	Extract(ctx context.Context, task ExtractTask) (Extraction, error)
}

// ExtractTask is a text and the fields of its rows.
type ExtractTask struct {
	// Document is the name of the text.
	Document string
	// Text has at most [MaxExtract] bytes.
	Text string
	// Description is of the dataset; may be "".
	Description string
	// Fields has at least one.
	Fields []Field
}

// Field is a field of a dataset's definition.
type Field struct{ Name, Description string }

// Extraction is the result of an [ExtractTask].
type Extraction struct {
	Rows  []json.RawMessage
	Usage Usage
}

const (
	// MaxExtract limits the text of an [ExtractTask], in bytes.
	MaxExtract = 1 << 20
	// MaxFields limits the fields of an [ExtractTask] or a [DescribeTask].
	MaxFields = 200
	// maxPart limits the text of one call, in bytes, so that its rows fit into an answer.
	// Parts of less than minPart are not split further.
	maxPart = 8 << 10
	minPart = 1 << 10
	// parallelParts is below the limit of concurrent calls, to leave some for others.
	parallelParts = 3
)

// Extract implements [Extractor]. A long text is read in parts, split between paragraphs
// where that is possible.
func (c *Chat) Extract(ctx context.Context, task ExtractTask) (Extraction, error) {
	var result Extraction
	switch {
	case len(task.Text) > MaxExtract:
		return result, fmt.Errorf("extract rows: the text is longer than %d bytes", MaxExtract)
	case len(task.Fields) == 0 || len(task.Fields) > MaxFields:
		return result, fmt.Errorf("extract rows: there must be 1 to %d fields", MaxFields)
	}
	parts := splitText(task.Text, maxPart)
	found := make([]Extraction, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelParts)
	for i, part := range parts {
		group.Go(func() (err error) {
			found[i], err = c.extractPart(ctx, task, part)
			return err
		})
	}
	err := group.Wait()
	for _, part := range found {
		result.add(part)
	}
	return result, err
}

func (e *Extraction) add(more Extraction) {
	e.Rows = append(e.Rows, more.Rows...)
	e.Usage.Add(more.Usage)
}

// extractPart returns the rows of a part. One with more rows than fit into an answer is
// split.
func (c *Chat) extractPart(ctx context.Context, task ExtractTask, part string) (Extraction, error) {
	result, err := c.extractOnce(ctx, task, part)
	if !errors.Is(err, errTruncated) || len(part) < minPart || ctx.Err() != nil {
		return result, err
	}
	for _, half := range splitText(part, len(part)*2/3) {
		more, err := c.extractPart(ctx, task, half)
		result.add(more)
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

func (c *Chat) extractOnce(ctx context.Context, task ExtractTask, part string) (Extraction, error) {
	view := struct{ Description, Fields, Document, Text string }{
		Description: shorten(task.Description, 4<<10),
		Fields:      fieldsText(task.Fields),
		Document:    shorten(oneLine(task.Document), 200),
		Text:        part,
	}
	var result Extraction
	err := c.run(ctx, "extract", rowsShape(task.Fields), view, &result.Usage, func(text string) error {
		got, err := decode(text, func(e *extractOutput) error { return e.check(task.Fields) })
		result.Rows = got.ready
		return err
	})
	return result, err
}

func fieldsText(fields []Field) string {
	var out strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&out, "%s: %s\n", sqltext.Name(f.Name), shorten(oneLine(f.Description), 500))
	}
	return out.String()
}

// rowsShape is the schema of rows with these fields, in their order.
func rowsShape(fields []Field) *shape {
	properties, required := make([]string, len(fields)), make([]string, len(fields))
	for i, f := range fields {
		required[i] = jsonText(f.Name)
		properties[i] = required[i] + `:{"type":["string","number","boolean","null"]}`
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",`+
		`"properties":{%s},"required":[%s],"additionalProperties":false}}},"required":["rows"],"additionalProperties":false}`,
		strings.Join(properties, ","), strings.Join(required, ","))
	return &shape{name: "extract", schema: json.RawMessage(schema), all: true}
}

type extractOutput struct {
	Rows *[]map[string]json.RawMessage
	// ready has the rows with the fields in order.
	ready []json.RawMessage
}

func (e *extractOutput) check(fields []Field) error {
	if e.Rows == nil {
		return errors.New(`there is no "rows"`)
	}
	e.ready = nil
	for i, row := range *e.Rows {
		members := make([]string, len(fields))
		empty := true
		for j, f := range fields {
			value, err := plainValue(row[f.Name])
			if err != nil {
				return fmt.Errorf("row %d: %s: %w", i+1, sqltext.Name(f.Name), err)
			}
			empty = empty && value == "null"
			members[j] = jsonText(f.Name) + ":" + value
		}
		if !empty {
			e.ready = append(e.ready, json.RawMessage("{"+strings.Join(members, ",")+"}"))
		}
	}
	return nil
}

// plainValue returns a value that is a text, a number, a boolean or null. It turns lists and
// objects into their JSON as text.
func plainValue(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "null", nil
	}
	switch value[0] {
	case '{', '[':
		return jsonText(string(value)), nil
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return "", err
		}
		return string(value), checkTexts(text)
	}
	return string(value), nil
}

// splitText splits a text into parts of at most limit bytes: between paragraphs, lines or
// words, whichever is found first in the second half of a part.
func splitText(text string, limit int) []string {
	var parts []string
	for len(text) > limit {
		cut := limit
		for !utf8.RuneStart(text[cut]) && cut > limit-utf8.UTFMax {
			cut-- // not within a character
		}
		for _, gap := range []string{"\n\n", "\n", " "} {
			if at := strings.LastIndex(text[:limit], gap); at > limit/2 {
				cut = at + len(gap)
				break
			}
		}
		parts = append(parts, text[:cut])
		text = text[cut:]
	}
	if !blank(text) || len(parts) == 0 {
		parts = append(parts, text)
	}
	return parts
}
