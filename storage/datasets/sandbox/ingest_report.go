package sandbox

import (
	"fmt"
	"unicode/utf8"

	"parley/internal/domain"
)

// Bounds of a report, far beyond real ones.
const (
	maxReportText = 4 * 256
	maxWarnings   = 10_000
	maxLines      = 1_000
	maxParts      = 10_000
)

// checkReport refuses a report that an honest worker does not make. What it says is shown
// to people only.
func checkReport(report domain.IngestReport) error {
	switch {
	case len(report.Columns) > domain.MaxColumns:
		return fmt.Errorf("a report of %d columns", len(report.Columns))
	case len(report.Warnings) > maxWarnings:
		return fmt.Errorf("%d warnings", len(report.Warnings))
	case report.HeaderRow < 0:
		return fmt.Errorf("the header row %d", report.HeaderRow)
	}
	texts := []string{report.Encoding, report.Delimiter}
	for _, c := range report.Columns {
		texts = append(texts, c.Name, c.From, c.Unit)
		if c.Missing < 0 || c.Misfits < 0 || len(c.MisfitLines) > maxLines {
			return fmt.Errorf("%d missing and %d misfits in %d lines", c.Missing, c.Misfits, len(c.MisfitLines))
		}
		if !isType(c.Type) {
			return fmt.Errorf("the type %.200q in a report", c.Type)
		}
	}
	for _, w := range report.Warnings {
		texts = append(texts, w.Column)
		if len(w.Message) > MaxReason || !utf8.ValidString(w.Message) {
			return fmt.Errorf("the warning %.200q", w.Message)
		}
	}
	for _, text := range texts {
		if len(text) > maxReportText || !utf8.ValidString(text) {
			return fmt.Errorf("the text %.200q in a report", text)
		}
	}
	return nil
}

// checkParts refuses names of parts that are too many or too long.
func checkParts(names []string) error {
	if len(names) > maxParts {
		return fmt.Errorf("%d parts", len(names))
	}
	for _, name := range names {
		if len(name) > maxReportText || !utf8.ValidString(name) {
			return fmt.Errorf("the part %.200q", name)
		}
	}
	return nil
}
