package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"parley/internal/sqltext"
)

// Extractor makes rows of free text.
type Extractor interface {
	// Extract gives the rows that a text holds, in its order: JSON objects, each
	// with all the fields in their order, null where the text does not say. Values
	// are texts, numbers and booleans.
	Extract(ctx context.Context, task ExtractTask) (Extraction, error)
}

// ExtractTask is a text and what its rows are to be.
type ExtractTask struct {
	// Document is the name of the text.
	Document string
	// Text has at most [MaxExtract] bytes.
	Text string
	// Description says what the dataset holds; may be "".
	Description string
	// Fields are at least one.
	Fields []Field
}

// Field is a field of a dataset, as its definition has it.
type Field struct{ Name, Description string }

// Extraction is what a text holds.
type Extraction struct {
	Rows  []json.RawMessage
	Usage Usage
}

const (
	// MaxExtract is the longest text that is extracted from, in bytes.
	MaxExtract = 1 << 20
	// MaxFields is the most fields of rows that are extracted, or described.
	MaxFields = 200
	// maxPart is how much of a text a model reads at once, in bytes; what it
	// writes about it must fit into an answer.
	maxPart = 8 << 10
	// minPart is a part that is not cut into smaller ones, however much a model
	// writes about it.
	minPart = 1 << 10
	// partsAtOnce leaves calls for others.
	partsAtOnce = 3
)

// Extract implements [Extractor]. A long text is read in parts, cut between
// paragraphs where that is possible.
func (c *Chat) Extract(ctx context.Context, task ExtractTask) (Extraction, error) {
	var result Extraction
	switch {
	case len(task.Text) > MaxExtract:
		return result, fmt.Errorf("extract rows: the text is longer than %d bytes", MaxExtract)
	case len(task.Fields) == 0 || len(task.Fields) > MaxFields:
		return result, fmt.Errorf("extract rows: there must be 1 to %d fields", MaxFields)
	}
	parts := splitText(task.Text, maxPart)
	found := make([][]json.RawMessage, len(parts))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for i, part := range parts {
		group.Go(func() error {
			rows, usage, err := c.extractPart(ctx, task, part)
			found[i] = rows
			mu.Lock()
			defer mu.Unlock()
			result.Usage.Add(usage)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return result, err
	}
	result.Rows = slices.Concat(found...)
	return result, nil
}

// extractPart gives the rows of a part. One that holds more than fits into an
// answer is read in halves.
func (c *Chat) extractPart(ctx context.Context, task ExtractTask, part string) ([]json.RawMessage, Usage, error) {
	rows, usage, err := c.extractWhole(ctx, task, part)
	if !errors.Is(err, errTruncated) || len(part) < minPart || ctx.Err() != nil {
		return rows, usage, err
	}
	rows = nil
	for _, half := range splitText(part, len(part)*2/3) {
		more, used, err := c.extractPart(ctx, task, half)
		usage.Add(used)
		if err != nil {
			return nil, usage, err
		}
		rows = append(rows, more...)
	}
	return rows, usage, nil
}

func (c *Chat) extractWhole(ctx context.Context, task ExtractTask, part string) ([]json.RawMessage, Usage, error) {
	view := struct{ Description, Fields, Document, Text string }{
		Description: shorten(task.Description, 4<<10),
		Fields:      fieldsText(task.Fields),
		Document:    shorten(oneLine(task.Document), 200),
		Text:        part,
	}
	var rows []json.RawMessage
	usage, err := c.run(ctx, "extract", rowsShape(task.Fields), view, func(text string) error {
		got, err := decode(text, func(e *extractOutput) error { return e.check(task.Fields) })
		rows = got.ready
		return err
	})
	return rows, usage, err
}

func fieldsText(fields []Field) string {
	var out strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&out, "%s: %s\n", sqltext.Name(f.Name), shorten(oneLine(f.Description), 500))
	}
	return out.String()
}

// rowsShape is the schema of rows with some fields, in their order.
func rowsShape(fields []Field) *shape {
	var properties, required strings.Builder
	for i, f := range fields {
		if i > 0 {
			properties.WriteByte(',')
			required.WriteByte(',')
		}
		name, _ := json.Marshal(f.Name)
		fmt.Fprintf(&properties, `%s:{"type":["string","number","boolean","null"]}`, name)
		required.Write(name)
	}
	schema := fmt.Sprintf(`{"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",`+
		`"properties":{%s},"required":[%s],"additionalProperties":false}}},"required":["rows"],"additionalProperties":false}`,
		&properties, &required)
	return &shape{name: "extract", schema: json.RawMessage(schema), all: true}
}

type extractOutput struct {
	Rows *[]map[string]json.RawMessage
	// ready are the rows as they are given.
	ready []json.RawMessage
}

func (e *extractOutput) check(fields []Field) error {
	if e.Rows == nil {
		return errors.New(`there is no "rows"`)
	}
	e.ready = nil
	for i, row := range *e.Rows {
		text, empty, err := orderedRow(fields, row)
		if err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		if !empty {
			e.ready = append(e.ready, text)
		}
	}
	return nil
}

// orderedRow writes the fields of a row, those alone, in their order.
func orderedRow(fields []Field, row map[string]json.RawMessage) (text json.RawMessage, empty bool, err error) {
	var out strings.Builder
	empty = true
	for i, f := range fields {
		value, err := plainValue(row[f.Name])
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", sqltext.Name(f.Name), err)
		}
		empty = empty && value == "null"
		out.WriteByte("{,"[min(i, 1)])
		name, _ := json.Marshal(f.Name)
		out.Write(name)
		out.WriteString(":" + value)
	}
	out.WriteByte('}')
	return json.RawMessage(out.String()), empty, nil
}

// plainValue gives a value that is a text, a number, a boolean or null. Lists
// and objects become the texts that they are written as.
func plainValue(value json.RawMessage) (string, error) {
	if len(value) == 0 {
		return "null", nil
	}
	switch value[0] {
	case '{', '[':
		quoted, err := json.Marshal(string(value))
		return string(quoted), err
	case '"':
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return "", err
		}
		if err := checkTexts(text); err != nil {
			return "", err
		}
	}
	return string(value), nil
}

// splitText cuts a text into parts of at most limit bytes: between paragraphs,
// lines or words, whichever is found first in the second half of a part.
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
