package console

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Format is how a table is printed.
type Format string

// The formats of a table.
const (
	FormatTable    Format = "table"
	FormatCSV      Format = "csv"
	FormatJSON     Format = "json"
	FormatNDJSON   Format = "ndjson"
	FormatMarkdown Format = "markdown"
)

// WriteRows prints rows, which are JSON objects, in a format, or the names of their columns if
// there are none. Of a row's internal keys only JSON has what there is.
func WriteRows(w io.Writer, format Format, rows []json.RawMessage, names []string) error {
	out := bufio.NewWriter(w)
	switch format {
	case FormatJSON:
		_ = out.WriteByte('[')
		for i, row := range rows {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			_, _ = out.Write(JSON(row)) // Flush returns the error
		}
		_, _ = out.WriteString("]\n")
	case FormatNDJSON:
		for _, row := range rows {
			_, _ = out.Write(append(JSON(row), '\n'))
		}
	default:
		table, err := Rows(rows, names)
		if err != nil {
			return err
		}
		return table.WriteAs(w, format, StyleOf(w))
	}
	return out.Flush()
}

// WriteAs prints the table, or CSV or Markdown, which have every cell whole, and an empty
// one for a missing value.
func (t Table) WriteAs(w io.Writer, format Format, style Style) error {
	if len(t.Columns) == 0 {
		return nil
	}
	switch format {
	case FormatCSV:
		return t.writeCSV(w, style)
	case FormatMarkdown:
		return t.writeMarkdown(w)
	default:
		return t.Write(w, style)
	}
}

func (t Table) names() []string {
	names := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		names[i] = column.Name
	}
	return names
}

// cells gives a row with a cell for each column.
func (t Table) cells(row []string) []string {
	cells := make([]string, len(t.Columns))
	for i := range cells {
		if i < len(row) && row[i] != None {
			cells[i] = row[i]
		}
	}
	return cells
}

// writeCSV writes cells as they are, but to a terminal, which would obey them.
func (t Table) writeCSV(w io.Writer, style Style) error {
	out := csv.NewWriter(w)
	var failed error
	write := func(cells []string) {
		if style.Terminal() {
			for i, cell := range cells {
				cells[i] = Text(cell)
			}
		}
		if len(cells) == 1 && cells[0] == "" {
			out.Flush()
			_, err := io.WriteString(w, "\"\"\n") // a blank line would be no row
			failed = cmp.Or(failed, err)
			return
		}
		_ = out.Write(cells) // Error returns the error
	}
	write(t.names())
	for _, row := range t.Rows {
		write(t.cells(row))
	}
	out.Flush()
	return cmp.Or(failed, out.Error())
}

// markdownCell escapes what would end a cell.
var markdownCell = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "\r", "<br>", "<", "&lt;")

func (t Table) writeMarkdown(w io.Writer) error {
	out := bufio.NewWriter(w)
	line := func(cells []string) {
		for _, cell := range cells {
			fmt.Fprintf(out, "| %s ", cell)
		}
		_, _ = out.WriteString("|\n") // Flush returns the error
	}
	escaped := func(cells []string) []string {
		for i, cell := range cells {
			cells[i] = Text(markdownCell.Replace(cell))
		}
		return cells
	}
	line(escaped(t.names()))
	rules := make([]string, len(t.Columns))
	for i, column := range t.Columns {
		rules[i] = "---"
		if column.Right {
			rules[i] = "---:"
		}
	}
	line(rules)
	for _, row := range t.Rows {
		line(escaped(t.cells(row)))
	}
	return out.Flush()
}
