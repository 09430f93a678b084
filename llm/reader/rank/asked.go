package rank

import (
	"slices"

	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// askedColumn returns the column that a question asks for by its name: item of "which item
// has the highest price". It returns -1 if there is none, or several have the name.
func (q *Question) askedColumn() int {
	if len(q.Tokens) < 2 || q.Tokens[0].Lower != "which" && q.Tokens[0].Lower != "what" || q.Input.Question < 2 {
		return -1
	}
	asked := -1
	row := q.Input.Relations[len(q.Input.Items) : 2*len(q.Input.Items)]
	for item, bits := range row {
		if bits&(1<<link.ExactTable) != 0 {
			return -1
		}
		if bits&(1<<link.ExactColumn) == 0 {
			continue
		}
		t, ok := q.Input.Token(item)
		if !ok || asked >= 0 {
			return -1
		}
		asked = t.N
	}
	return asked
}

// withAskedColumn replaces the column that a query shows first by the asked one, if the
// query lacks it and no word has to do with the other: the network takes a column for
// another one of its table where its name is a general word.
func (q *Question) withAskedColumn(tokens []ir.Token, asked int) []ir.Token {
	const shown = 1 // after select
	if asked < 0 || len(tokens) <= shown || tokens[shown].Class != ir.ColumnRef || slices.Contains(tokens, ir.Token{Class: ir.ColumnRef, N: asked}) {
		return tokens
	}
	other := tokens[shown]
	a, b := &q.Catalog.Columns[asked], &q.Catalog.Columns[other.N]
	if a.Table != b.Table || a.Kind != b.Kind || q.isNamed(other.N, tokens) {
		return tokens
	}
	tokens = slices.Clone(tokens)
	for i, t := range tokens {
		if t == other {
			tokens[i].N = asked
		}
	}
	return tokens
}
