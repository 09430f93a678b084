package client

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"parley/cmd/parley/internal/console"
	"parley/internal/domain"
)

// printReport prints what of a file was not read plainly, a line each.
func printReport(w io.Writer, report domain.IngestReport) {
	if report.Encoding != "" && report.Encoding != "utf-8" {
		fmt.Fprintf(w, "read as %s\n", console.Line(report.Encoding))
	}
	for _, column := range report.Columns {
		if slices.ContainsFunc(report.Warnings, func(w domain.IngestWarning) bool { return isMisfitWarning(w, column) }) {
			column.Misfits = 0
		}
		if notes := columnNotes(column); notes != "" {
			fmt.Fprintf(w, "%s: %s\n", console.Line(column.Name), console.Line(notes))
		}
	}
	for _, warning := range report.Warnings {
		line := "warning: "
		if warning.Line > 0 {
			line += fmt.Sprintf("line %d: ", warning.Line)
		}
		if warning.Column != "" {
			line += console.Line(warning.Column) + ": "
		}
		fmt.Fprintln(w, line+console.Line(warning.Message))
	}
}

// isMisfitWarning reports whether a warning is about the cells that did not fit a column: it
// names the line of the first one.
func isMisfitWarning(w domain.IngestWarning, c domain.ColumnReport) bool {
	first := int64(0)
	if len(c.MisfitLines) > 0 {
		first = c.MisfitLines[0]
	}
	return w.Column == c.Name && w.Line == first
}

// columnNotes says what a column became, "" when its cells were read as they are.
func columnNotes(c domain.ColumnReport) string {
	var notes []string
	if c.From != "" {
		notes = append(notes, "read from "+c.From)
	}
	if c.Unit != "" {
		notes = append(notes, "in "+c.Unit)
	}
	if c.Misfits > 0 {
		note := plural(int(c.Misfits), "cell") + " did not fit a narrower type"
		if len(c.MisfitLines) > 0 {
			note += fmt.Sprintf(", the first in line %d", c.MisfitLines[0])
		}
		notes = append(notes, note)
	}
	if len(notes) == 0 {
		return ""
	}
	return domain.TypeWord(c.Type) + ", " + strings.Join(notes, ", ")
}
