package rank

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// routed is a query with the links that it follows, and how likely it is.
type routed struct {
	tokens      []ir.Token
	query       *ir.Query
	probability float64
	// oneOf says that it is one of several that differ in the link alone: that they give the
	// same rows does not make one right.
	oneOf bool
}

// routes makes a query that joins two tables follow the column that the question names,
// where several refer from one to the other: "away games" by away_team_id. Where it names
// none, each of them may be meant.
func (q *Question) routes(r routed) []routed {
	_, links, err := ir.Tables(r.query, q.Catalog)
	if err != nil || r.query.Via >= 0 {
		return []routed{r}
	}
	for _, l := range links {
		best, alike := l, []catalog.Link{l}
		for _, other := range q.Catalog.Links {
			switch {
			case other == l || !q.sameTables(l, other):
			case q.mentions(other.From) > q.mentions(best.From):
				best = other
			case q.mentions(other.From) == q.mentions(l.From):
				alike = append(alike, other)
			}
		}
		if best != l {
			return []routed{q.follow(r, best.From)}
		}
		if len(alike) > 1 && !q.directed() {
			r.probability, r.oneOf = r.probability/float64(len(alike)), true
			all := make([]routed, len(alike))
			for i, other := range alike {
				all[i] = q.follow(r, other.From)
			}
			return all
		}
	}
	return []routed{r}
}

// directions are words that tell one end from the other, which the network has learnt.
var directions = wordSet("from to into toward towards depart departs departed departing departure arrive arrives arrived arriving arrival leave leaves leaving land lands landing sent received source destination origin")

func (q *Question) directed() bool {
	return slices.ContainsFunc(q.Tokens, func(t link.Token) bool { return directions[t.Lower] })
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
func (q *Question) follow(r routed, column int) routed {
	for i := range len(r.tokens) + 1 {
		tokens := slices.Insert(slices.Clone(r.tokens), i, ir.Key("on"), ir.Token{Class: ir.ColumnRef, N: column})
		if query, err := ir.Parse(tokens, q.Input.IRValues()); err == nil && query.Via == column {
			return routed{tokens, query, r.probability, r.oneOf}
		}
	}
	return r
}
