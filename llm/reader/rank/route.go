package rank

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// route makes a query that joins two tables follow the column that the question names,
// where several refer from one to the other: "away games" by away_team_id. It gives the
// query as it is where none is named more than the one that is followed.
func (q *Question) route(tokens []ir.Token, query *ir.Query) ([]ir.Token, *ir.Query) {
	_, links, err := ir.Tables(query, q.Catalog)
	if err != nil || query.Via >= 0 {
		return tokens, query
	}
	for _, l := range links {
		best := l
		for _, other := range q.Catalog.Links {
			if q.sameTables(l, other) && q.mentions(other.From) > q.mentions(best.From) {
				best = other
			}
		}
		if best != l {
			return follow(tokens, query, best.From, q.Input.IRValues())
		}
	}
	return tokens, query
}

func (q *Question) sameTables(a, b catalog.Link) bool {
	table := func(column int) int { return q.Catalog.Columns[column].Table }
	return table(a.From) == table(b.From) && table(a.To) == table(b.To)
}

// mentions says how much words have to do with a column: those that name it count more
// than those that resemble it.
func (q *Question) mentions(column int) int {
	item, count := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column}), 0
	for word := range q.Input.Question {
		if item < 0 {
			break
		}
		switch relations := q.Input.Relations[word*len(q.Input.Items)+item]; {
		case relations&naming != 0:
			count += 2
		case relations&resembling != 0:
			count++
		}
	}
	return count
}

// follow adds to a query the column whose link it takes, in the one place where the
// language has it.
func follow(tokens []ir.Token, query *ir.Query, column int, values []ir.Value) ([]ir.Token, *ir.Query) {
	for i := range len(tokens) + 1 {
		with := slices.Insert(slices.Clone(tokens), i, ir.Key("on"), ir.Token{Class: ir.ColumnRef, N: column})
		if q, err := ir.Parse(with, values); err == nil && q.Via == column {
			return with, q
		}
	}
	return tokens, query
}
