package sqlcheck

import (
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/internal/domain"
)

// wideTable is a table with many columns, for the validator alone.
func wideTable(columns int) Table {
	t := Table{Name: "wide", Columns: make([]domain.Column, columns)}
	for i := range t.Columns {
		t.Columns[i] = domain.Column{Name: fmt.Sprintf("c%d", i), Type: "BIGINT"}
	}
	return t
}

// wideQuery reads a table under many names, and a column of each, in subqueries
// of at most 100 names: DuckDB nests joins.
func wideQuery(columns, relations int) string {
	var groups []string
	for first := 0; first < relations; first += 100 {
		var items, from []string
		for i := first; i < min(first+100, relations); i++ {
			items = append(items, fmt.Sprintf("r%d.c%d", i, columns-1-i%2))
			from = append(from, fmt.Sprintf("wide r%d", i))
		}
		groups = append(groups, "(SELECT max("+strings.Join(items, " + ")+") FROM "+strings.Join(from, ", ")+")")
	}
	return "SELECT " + strings.Join(groups, ", ")
}

// BenchmarkValidateWide is the check of statements over wide tables and many
// relations: the time should grow with their sum, not with their product.
func BenchmarkValidateWide(b *testing.B) {
	p := newParser(b)
	for _, columns := range []int{10, 1_000, 10_000} {
		for _, relations := range []int{1, 10, 100, 500} {
			b.Run(fmt.Sprintf("columns=%d/relations=%d", columns, relations), func(b *testing.B) {
				tree, err := p.Parse(wideQuery(columns, relations))
				if err != nil {
					b.Fatal(err)
				}
				tables := []Table{wideTable(columns)}
				for b.Loop() {
					if _, err := Validate(b.Context(), tree, tables); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkValidate is the check of a statement's tree alone.
func BenchmarkValidate(b *testing.B) {
	p := newParser(b)
	tree, err := p.Parse(datasetstest.Questions[7])
	if err != nil {
		b.Fatal(err)
	}
	tables := plainTables()
	for b.Loop() {
		if _, err := Validate(b.Context(), tree, tables); err != nil {
			b.Fatal(err)
		}
	}
}
