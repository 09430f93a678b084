package ingest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// corpusOptions are the options that files of the corpus are read with.
var corpusOptions = map[string]domain.IngestOptions{
	"option-delimiter.csv":         {Delimiter: ":"},
	"option-encoding.csv":          {Encoding: "windows-1252"},
	"option-encoding-utf16.csv":    {Encoding: "utf-16"},
	"option-header-none.csv":       {HeaderRow: new(0)},
	"option-header-row.csv":        {HeaderRow: new(4)},
	"option-null.csv":              {NullValues: []string{"-999", "unknown"}},
	"option-type-thousands.csv":    {Types: map[string]string{"Einwohner": "BIGINT", "Fläche": "DECIMAL(9,0)"}},
	"option-type.csv":              {Types: map[string]string{"code": "VARCHAR", "amount": "BIGINT"}},
	"option-type-fraction.csv":     {Types: map[string]string{"lat": "DOUBLE", "weight": "DECIMAL(10,3)"}},
	"option-type-misfit.csv":       {Types: map[string]string{"amount": "BIGINT"}},
	"option-type-units.csv":        {Types: map[string]string{"price": "DECIMAL(9,2)"}},
	"option-type-order.csv":        {Types: map[string]string{"day": "DATE:ymd", "moment": "TIMESTAMP:ymd", "time": "TIME"}},
	"option-type-order-misfit.csv": {Types: map[string]string{"day": "DATE:ymd"}},
}

// TestCorpus reads small files, each of which has a trait that files of people
// have, and compares what they become with a reviewed table: columns, types,
// missing cells, rows and warnings, or the words of a refusal.
func TestCorpus(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/corpus/*")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	l := setup(t)
	var table strings.Builder
	for _, path := range files {
		name := filepath.Base(path)
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		result, err := l.run(ingest.Job{Sources: []ingest.Source{l.file(name, string(content))}, Options: corpusOptions[name]})
		if err != nil {
			message, _, _ := strings.Cut(refusal(t, err), "; CSV (.csv),") // the list of formats is not of the corpus
			fmt.Fprintf(&table, "%s: refused: %s\n\n", name, message)
			continue
		}
		report := result.Report
		fmt.Fprintf(&table, "%s: %d rows, encoding %q, delimiter %q, header row %d\n", name, result.Rows, report.Encoding, report.Delimiter, report.HeaderRow)
		for _, c := range report.Columns {
			fmt.Fprintf(&table, "\t%s %s", c.Name, c.Type)
			for _, part := range []struct{ what, value string }{{"from", c.From}, {"unit", c.Unit}} {
				if part.value != "" {
					fmt.Fprintf(&table, ", %s %s", part.what, part.value)
				}
			}
			if c.Missing > 0 {
				fmt.Fprintf(&table, ", %d missing", c.Missing)
			}
			if c.Misfits > 0 {
				fmt.Fprintf(&table, ", %d misfits on lines %v", c.Misfits, c.MisfitLines)
			}
			table.WriteByte('\n')
		}
		for _, w := range report.Warnings {
			fmt.Fprintf(&table, "\twarning, line %d, column %q: %s\n", w.Line, w.Column, w.Message)
		}
		fmt.Fprintf(&table, "\t%s\n\n", strings.ReplaceAll(l.rows(result.Columns, result), "\n", "\n\t"))
	}
	golden.Assert(t, "corpus.txt", []byte(table.String()))
}
