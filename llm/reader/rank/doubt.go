package rank

import (
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// doubtCounts counts signs of a wrong query other than unread words.
type doubtCounts struct {
	// unnamed counts columns that are computed, compared or ordered with and that no word
	// has to do with; dates those of them that are dates of a table with an earlier one.
	unnamed, laterDates int
	// nullTests counts searches for missing values in columns where none is missing.
	nullTests int
}

func countDoubts(q *Question, r *Reading) doubtCounts {
	var d doubtCounts
	seen := shownColumns(r.Query)
	for i, t := range r.Tokens {
		if t.Class != ir.ColumnRef {
			continue
		}
		c := &q.Catalog.Columns[t.N]
		if i+1 < len(r.Tokens) && (r.Tokens[i+1].Is("isnull") || r.Tokens[i+1].Is("notnull")) && c.Filled >= q.Catalog.Tables[c.Table].Rows {
			d.nullTests++
		}
		if seen[t.N] || q.Catalog.Tables[c.Table].Key == t.N || q.Catalog.IsReference(t.N) || q.isNamed(t.N, r.Tokens) {
			continue
		}
		seen[t.N] = true
		switch {
		case c.Kind != catalog.Date:
			d.unnamed++
		case q.firstDate(c.Table) != t.N:
			d.laterDates++
		}
	}
	return d
}

// shownColumns returns the columns that a query shows.
func shownColumns(q *ir.Query) map[int]bool {
	shown := map[int]bool{}
	for _, e := range q.Items {
		if e.Kind == "column" && e.Op == "" {
			shown[e.Column] = true
		}
	}
	return shown
}

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

// firstDate returns the first date column of a table; -1 for none.
func (q *Question) firstDate(table int) int {
	for _, c := range q.Catalog.Tables[table].Columns {
		if q.Catalog.Columns[c].Kind == catalog.Date {
			return c
		}
	}
	return -1
}
