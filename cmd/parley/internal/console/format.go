package console

import (
	"bufio"
	"cmp"
	"encoding/csv"
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

// WriteAs prints the rows in a format, or the names of their columns if there are none. JSON and
// CSV are printed as the rows are read.
func (r Result) WriteAs(w io.Writer, format Format) error {
	switch format {
	case FormatJSON, FormatNDJSON:
		return r.writeJSON(w, format)
	case FormatCSV:
		l, err := r.layout()
		if err != nil || len(l.columns) == 0 {
			return err
		}
		t := Table{Columns: l.columns}
		out := newCSVWriter(w, StyleOf(w))
		out.write(t.names())
		for row, err := range r.Rows {
			if err != nil {
				return err
			}
			out.write(t.cells(l.cells(row)))
		}
		return out.flush()
	}
	table, err := r.Table()
	if err != nil {
		return err
	}
	return table.WriteAs(w, format, StyleOf(w))
}

func (r Result) writeJSON(w io.Writer, format Format) error {
	out := bufio.NewWriter(w)
	begin, separator, end := "", "", "\n"
	if format == FormatJSON {
		begin, separator, end = "[", ",", ""
	}
	_, _ = out.WriteString(begin) // Flush returns the error
	first := true
	for row, err := range r.Rows {
		if err == nil && !r.Internal {
			row, err = withoutInternal(row)
		}
		if err != nil {
			return err
		}
		if !first {
			_, _ = out.WriteString(separator)
		}
		first = false
		_, _ = out.Write(JSON(row))
		_, _ = out.WriteString(end)
	}
	if format == FormatJSON {
		_, _ = out.WriteString("]\n")
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

// cells returns a row with a cell for each column.
func (t Table) cells(row []string) []string {
	cells := make([]string, len(t.Columns))
	for i := range cells {
		if i < len(row) && row[i] != None {
			cells[i] = row[i]
		}
	}
	return cells
}

func (t Table) writeCSV(w io.Writer, style Style) error {
	out := newCSVWriter(w, style)
	out.write(t.names())
	for _, row := range t.Rows {
		out.write(t.cells(row))
	}
	return out.flush()
}

// csvWriter writes cells as they are, but to a terminal, which would obey them.
type csvWriter struct {
	out   *csv.Writer
	w     io.Writer
	style Style
	err   error
}

func newCSVWriter(w io.Writer, style Style) *csvWriter {
	return &csvWriter{out: csv.NewWriter(w), w: w, style: style}
}

func (c *csvWriter) write(cells []string) {
	if c.style.Terminal() {
		for i, cell := range cells {
			cells[i] = Text(cell)
		}
	}
	if len(cells) == 1 && cells[0] == "" {
		c.out.Flush()
		_, err := io.WriteString(c.w, "\"\"\n") // a blank line would be no row
		c.err = cmp.Or(c.err, err)
		return
	}
	_ = c.out.Write(cells) // Error returns the error
}

func (c *csvWriter) flush() error {
	c.out.Flush()
	return cmp.Or(c.err, c.out.Error())
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
