package ingest

import (
	"cmp"
	"fmt"
	"slices"

	"parley/storage"
)

const (
	// maxLines is how many lines of misfits a report names for each column.
	maxLines = 5
	// maxWarnings is how many warnings a report has.
	maxWarnings = 100
)

// reportOf joins the reports of all sources of a job into the report of a
// dataset's columns. What a file has as a whole is that of the first source.
func reportOf(tables []*table, columns []storage.Column) storage.IngestReport {
	report := tables[0].report
	report.Columns, report.Warnings = nil, nil
	var mixed []storage.IngestWarning
	for _, c := range columns {
		joined := storage.ColumnReport{Name: c.Name, Type: c.Type}
		found := false
		for _, t := range tables {
			i := slices.IndexFunc(t.columns, func(own storage.Column) bool { return fold(own.Name) == fold(c.Name) })
			switch {
			case i < 0:
				joined.Missing += t.rows
			case i < len(t.report.Columns):
				if own := t.report.Columns[i]; joinColumn(&joined, own, found) {
					mixed = append(mixed, storage.IngestWarning{Column: c.Name, Message: fmt.Sprintf("not all files have a unit with the numbers of the column; %s has %s", t.name, cmp.Or(own.Unit, "none"))})
				}
			}
			found = found || i >= 0
		}
		if found {
			report.Columns = append(report.Columns, joined)
		}
	}
	for _, t := range tables {
		for _, w := range t.report.Warnings {
			if len(tables) > 1 {
				w.Message = fmt.Sprintf("%s: %s", t.name, w.Message)
			}
			report.Warnings = append(report.Warnings, w)
		}
	}
	report.Warnings = append(report.Warnings, mixed...)
	report.Warnings = report.Warnings[:min(len(report.Warnings), maxWarnings)]
	return report
}

// joinColumn adds the report of one source's column. Repeated says that the
// column was in a source before it: its form is kept if the sources share it. It
// reports whether one of them has a unit and the other none.
func joinColumn(to *storage.ColumnReport, c storage.ColumnReport, repeated bool) (mixed bool) {
	if !repeated {
		to.From, to.Unit = c.From, c.Unit
	}
	if to.From != c.From {
		to.From = ""
	}
	mixed = to.Unit != c.Unit && c.Type != typeNull
	to.Unit = cmp.Or(to.Unit, c.Unit)
	to.Missing += c.Missing
	to.Misfits += c.Misfits
	to.MisfitLines = append(to.MisfitLines, c.MisfitLines[:min(len(c.MisfitLines), maxLines-len(to.MisfitLines))]...)
	return mixed
}
