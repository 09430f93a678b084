package rank

import (
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// isNamed reports whether a word is related to a column, or a value of the query is in it.
func (q *Question) isNamed(column int, tokens []ir.Token) bool {
	if q.Catalog.Columns[column].IsBirth() && q.asks(aboutBirth...) {
		return true
	}
	item, n := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column}), len(q.Input.Items)
	by := uint64(namingRelations | similarRelations | weakRelations)
	if q.Catalog.Columns[column].IsBoolean() {
		by = namingRelations | 1<<link.Prefix
	}
	for word := range q.Input.Question {
		if item >= 0 && q.Input.Relations[word*n+item]&by != 0 {
			return true
		}
	}
	for _, t := range tokens {
		if t.Class == ir.ValueRef && len(q.Input.Values[t.N].Cells[column]) > 0 && q.Input.Values[t.N].How != link.Suggested {
			return true
		}
	}
	return false
}
