package console

import (
	"bufio"
	"io"
	"strings"
)

// Table is a table to print.
type Table struct {
	Columns []Column
	// Rows have a cell for each column; those that they lack are empty.
	Rows [][]string
}

// Column is a column of a table.
type Column struct {
	Name string
	// Right aligns it to the right, as numbers are.
	Right bool
	// Whole is for what must not be cut, such as an id.
	Whole bool
}

const (
	gap = "  "
	// narrowest is the least width that a column is cut to.
	narrowest = 6
	// None is a cell without a value, which no text is.
	None = "\x00"
	// dash is how None is printed.
	dash = "—"
)

// Write prints the table, aligned and escaped. On a terminal the widest columns are cut
// until a row fits.
func (t Table) Write(w io.Writer, style Style) error {
	out := bufio.NewWriter(w)
	widths := t.widths()
	if style.Terminal() {
		t.fit(widths, style.Width-len(gap)*(len(widths)-1))
	}
	names, rules := make([]string, len(t.Columns)), make([]string, len(t.Columns))
	for i, column := range t.Columns {
		names[i], rules[i] = column.Name, strings.Repeat("-", widths[i])
	}
	t.line(out, names, widths, style.Bold)
	t.line(out, rules, widths, style.Dim)
	for _, row := range t.Rows {
		t.line(out, row, widths, func(cell string) string {
			if cell == dash {
				return style.Dim(cell)
			}
			return cell
		})
	}
	return out.Flush()
}

// printed returns a cell as it is printed.
func printed(cell string) string {
	if cell == None {
		return dash
	}
	return Line(cell)
}

func (t Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, column := range t.Columns {
		widths[i] = max(Width(Line(column.Name)), 1)
		for _, row := range t.Rows {
			if i < len(row) {
				widths[i] = max(widths[i], Width(printed(row[i])))
			}
		}
	}
	return widths
}

// fit narrows the widest columns until all fit, or none can be narrower.
func (t Table) fit(widths []int, all int) {
	for i, width := range widths {
		if !t.Columns[i].Whole {
			widths[i] = min(width, max(all, narrowest)) // a cell may be a megabyte wide
		}
	}
	for {
		sum, widest := 0, -1
		for i, width := range widths {
			sum += width
			if !t.Columns[i].Whole && width > narrowest && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if sum <= all || widest < 0 {
			return
		}
		widths[widest]--
	}
}

// line prints one line without trailing blanks.
func (t Table) line(out *bufio.Writer, row []string, widths []int, mark func(string) string) {
	blanks := 0
	for i, width := range widths {
		cell := ""
		if i < len(row) {
			cell = Cut(printed(row[i]), width)
		}
		padding := width - Width(cell)
		if t.Columns[i].Right {
			blanks, padding = blanks+padding, 0
		}
		if cell != "" {
			_, _ = out.WriteString(strings.Repeat(" ", blanks)) // Flush returns the error
			blanks = 0
		}
		_, _ = out.WriteString(mark(cell))
		blanks += padding + len(gap)
	}
	_ = out.WriteByte('\n')
}
