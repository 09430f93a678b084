package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/internal/jsontext"
	"parley/internal/locale"
	"parley/llm"
)

// Limits of the rows of one step that the query of a later one is given. Answers get all, so
// that they count them right.
const (
	maxRowsBefore  = 50
	maxBytesBefore = 16 << 10
)

// NewRows makes a data part of rows. They are copied unchanged, so that columns keep their
// order. Without rows it names the columns.
func NewRows(rows llm.Rows) *a2a.Part {
	var b bytes.Buffer
	b.WriteString(`{"rows":[`)
	for i, row := range rows.Rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(row)
	}
	fmt.Fprintf(&b, `],"rowCount":%d,"truncated":%t`, len(rows.Rows), rows.Truncated)
	if rows.Total > 0 {
		fmt.Fprintf(&b, `,"totalRows":%d`, rows.Total)
	}
	if len(rows.Rows) == 0 && len(rows.Columns) > 0 {
		names, _ := jsontext.Marshal(rows.Columns) // texts have JSON
		fmt.Fprintf(&b, `,"columns":%s`, names)
	}
	b.WriteByte('}')
	return a2a.NewDataPart(json.RawMessage(b.Bytes()))
}

// readData reads the first data part into a value. It reports false when there is none of
// this form.
func readData(parts a2a.ContentParts, into any) bool {
	for _, part := range parts {
		if data, ok := part.Content.(a2a.Data); ok {
			return decode(data.Value, into) == nil
		}
	}
	return false
}

// decode converts a JSON value to another type.
func decode(value, into any) error {
	text, ok := value.(json.RawMessage)
	if !ok {
		var err error
		if text, err = json.Marshal(value); err != nil {
			return err
		}
	}
	return json.Unmarshal(text, into)
}

func readRows(artifact *a2a.Artifact) llm.Rows {
	var data struct {
		Rows      []json.RawMessage `json:"rows"`
		Truncated bool              `json:"truncated"`
		TotalRows int64             `json:"totalRows"`
		Columns   []string          `json:"columns"`
	}
	if !readData(artifact.Parts, &data) || len(data.Rows) == 0 {
		return llm.Rows{Columns: data.Columns, Truncated: data.Truncated}
	}
	rows := llm.Rows{Columns: llm.ColumnsOf(data.Rows[0]), Rows: data.Rows, Truncated: data.Truncated, Total: data.TotalRows}
	if units, ok := artifact.Metadata["units"]; ok {
		_ = decode(units, &rows.Units) // without them the numbers are right too
	}
	rows.Measure = readMeasure(artifact)
	return rows
}

func readMeasure(artifact *a2a.Artifact) string {
	measure, _ := artifact.Metadata["measure"].(string)
	return measure
}

// rowsOf converts a query result for jobs.
func rowsOf(result domain.QueryResult) llm.Rows {
	rows := llm.Rows{Rows: result.Rows, Truncated: result.Truncated, Total: result.Total}
	for _, column := range result.Columns {
		rows.Columns = append(rows.Columns, column.Name)
	}
	return rows
}

// bounded limits the rows of steps.
func bounded(steps []llm.Step) []llm.Step {
	few := make([]llm.Step, len(steps))
	for i, step := range steps {
		few[i] = step
		size, rows := 0, step.Rows.Rows
		for n, row := range rows {
			if size += len(row); n == maxRowsBefore || size > maxBytesBefore {
				few[i].Rows.Rows, few[i].Rows.Truncated = rows[:n:n], true
				if !step.Rows.Truncated {
					few[i].Rows.Total = int64(len(rows))
				}
				break
			}
		}
	}
	return few
}

// CountRows describes the number of rows to the reader of a context.
func CountRows(ctx context.Context, rows llm.Rows) string {
	numbers := locale.NumbersFor(ctx)
	count := numbers.Int(int64(len(rows.Rows)))
	switch {
	case rows.Total > 0:
		return count + " of " + numbers.Int(rows.Total) + " rows"
	case count == "1":
		count += " row"
	default:
		count += " rows"
	}
	if rows.Truncated {
		count += ", and there are more"
	}
	return count
}

// readText joins the text parts.
func readText(parts a2a.ContentParts) string {
	var texts []string
	for _, part := range parts {
		if text, ok := part.Content.(a2a.Text); ok {
			texts = append(texts, string(text))
		}
	}
	return strings.Join(texts, "\n")
}
