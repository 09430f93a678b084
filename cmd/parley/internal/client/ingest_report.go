package client

import (
	"fmt"
	"io"
	"strings"

	"parley/cmd/parley/internal/console"
	"parley/storage"
)

// printReport prints what of a file was not read plainly, a line each.
func printReport(w io.Writer, report storage.IngestReport) {
	if report.Encoding != "" && report.Encoding != "utf-8" {
		fmt.Fprintf(w, "read as %s\n", console.Line(report.Encoding))
	}
	warned := map[string]bool{}
	for _, warning := range report.Warnings {
		warned[warning.Column] = true
	}
	for _, column := range report.Columns {
		if warned[column.Name] {
			column.Misfits = 0 // the warning says it
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

// columnNotes says what a column became, "" when its cells were read as they are.
func columnNotes(c storage.ColumnReport) string {
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
	return storage.TypeWord(c.Type) + ", " + strings.Join(notes, ", ")
}
