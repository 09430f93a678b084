package client

import (
	"strings"
	"testing"

	"parley/internal/domain"
)

func TestPrintReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printReport(&out, domain.IngestReport{
		Encoding: "windows-1252",
		Columns: []domain.ColumnReport{
			{Name: "id", Type: "BIGINT", Missing: 3},
			{Name: "price", Type: "DOUBLE", From: "1.234,56", Unit: "€"},
			{Name: "day\x1b[2J", Type: "VARCHAR", Misfits: 2, MisfitLines: []int64{7, 9}},
			{Name: "size", Type: "VARCHAR", Misfits: 1, MisfitLines: []int64{4}},
			{Name: "code", Type: "VARCHAR", Misfits: 1, MisfitLines: []int64{5}},
		},
		Warnings: []domain.IngestWarning{{Line: 4, Column: "size", Message: "the column is text: 1 cell of 9 cannot be read as integer"}, {Line: 12, Column: "id", Message: "looks like a total"}, {Column: "code", Message: "2 texts differ only in case or blanks"}, {Message: "a hidden sheet is left out"}},
	})
	want := `read as windows-1252
price: number, read from 1.234,56, in €
day\x1b[2J: text, 2 cells did not fit a narrower type, the first in line 7
code: text, 1 cell did not fit a narrower type, the first in line 5
warning: line 4: size: the column is text: 1 cell of 9 cannot be read as integer
warning: line 12: id: looks like a total
warning: code: 2 texts differ only in case or blanks
warning: a hidden sheet is left out
`
	if got := out.String(); got != want {
		t.Errorf("printed %q", got)
	}
}
