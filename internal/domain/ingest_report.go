package domain

import (
	"encoding/json"
	"fmt"
	"slices"
)

// maxReport limits the bytes of a report as JSON, since lists of ingestions have one each;
// maxReportWarnings limits its warnings.
const (
	maxReport         = 64 << 10
	maxReportWarnings = 100
)

// IngestReport says how files were read.
type IngestReport struct {
	Encoding  string          `json:"encoding,omitempty"`
	Delimiter string          `json:"delimiter,omitempty"`
	HeaderRow int             `json:"headerRow,omitempty"`
	Columns   []ColumnReport  `json:"columns,omitempty"`
	Warnings  []IngestWarning `json:"warnings,omitempty"`
}

// ColumnReport says what a column became.
type ColumnReport struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// From is the form that its cells were read from, such as "1.234,56" or "d.m.y"; ""
	// for the plain one. Unit is the unit of the numbers, such as "€" or "%".
	From string `json:"from,omitempty"`
	Unit string `json:"unit,omitempty"`
	// Missing counts cells without a value.
	Missing int64 `json:"missing"`
	// Misfits counts the cells that kept the column from a narrower type, and MisfitLines
	// are the first lines of such cells.
	Misfits     int64   `json:"misfits,omitempty"`
	MisfitLines []int64 `json:"misfitLines,omitempty"`
}

// IngestWarning is something in a file that its owner should look at.
type IngestWarning struct {
	Line    int64  `json:"line,omitempty"`
	Column  string `json:"column,omitempty"`
	Message string `json:"message"`
}

// Fit returns a report that is small enough to be kept. It leaves out warnings and columns
// from the end, and says so.
func (r IngestReport) Fit() IngestReport {
	columns, warnings := len(r.Columns), len(r.Warnings)
	r.Warnings = r.Warnings[:min(warnings, maxReportWarnings)]
	for r.size() > maxReport {
		r.Columns, r.Warnings = r.Columns[:len(r.Columns)/2], r.Warnings[:len(r.Warnings)/2]
	}
	columns -= len(r.Columns)
	warnings -= len(r.Warnings)
	if columns+warnings > 0 {
		r.Warnings = append(slices.Clip(r.Warnings), IngestWarning{Message: fmt.Sprintf("this report leaves out %d columns and %d warnings", columns, warnings)})
	}
	return r
}

func (r IngestReport) size() int {
	text, err := json.Marshal(r)
	if err != nil {
		return 0 // cannot happen: there are only texts and numbers
	}
	return len(text)
}

// PreviewTarget is where the rows of a preview would go: into a dataset, or a new one where
// its name is "".
type PreviewTarget struct {
	Dataset DatasetRef
	Mode    IngestMode
}

// FilePreview is what an ingestion would make of a file.
type FilePreview struct {
	Tables    []TablePreview
	Encoding  string
	Delimiter string
	HeaderRow int
}

// TablePreview is a table of a file. One that cannot be read has no columns, and a warning
// that says why.
type TablePreview struct {
	Name     string
	Columns  []ColumnPreview
	Rows     []json.RawMessage
	RowCount int64
	Warnings []IngestWarning
}

// ColumnPreview is a column of a table, with some of its first values.
type ColumnPreview struct {
	ColumnReport
	Examples []json.RawMessage
}
