package rank

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// pathQuery is a query with the links that it follows, and how likely it is.
type pathQuery struct {
	tokens      []ir.Token
	query       *ir.Query
	probability float64
	// ambiguous says that it is one of several that differ in the link alone: that they give the
	// same rows does not make one right.
	ambiguous bool
}

// joinPaths makes a query that joins two tables follow the column that the question names,
// where several refer from one to the other: "away games" by away_team_id. Where it names
// none, each of them may be meant.
func (q *Question) joinPaths(r pathQuery) []pathQuery {
	_, links, err := ir.Tables(r.query, q.Catalog)
	if err != nil || r.query.Via >= 0 {
		return []pathQuery{r}
	}
	for _, l := range links {
		best, alike := l, []catalog.Link{l}
		for _, other := range q.Catalog.Links {
			switch {
			case other == l || !q.sameTables(l, other):
			case q.mentionScore(other.From) > q.mentionScore(best.From):
				best = other
			case q.mentionScore(other.From) == q.mentionScore(l.From):
				alike = append(alike, other)
			}
		}
		if best != l {
			return []pathQuery{q.withJoinColumn(r, best.From)}
		}
		if len(alike) > 1 && !q.namesDirection() {
			r.probability, r.ambiguous = r.probability/float64(len(alike)), true
			all := make([]pathQuery, len(alike))
			for i, other := range alike {
				all[i] = q.withJoinColumn(r, other.From)
			}
			return all
		}
	}
	return []pathQuery{r}
}

// directions are words that tell one end from the other, which the network has learnt.
var directions = catalog.WordSet("from to into toward towards depart departs departed departing departure arrive arrives arrived arriving arrival leave leaves leaving land lands landing sent received source destination origin")

func (q *Question) namesDirection() bool {
	return slices.ContainsFunc(q.Tokens, func(t link.Token) bool { return directions[t.Lower] })
}

func (q *Question) sameTables(a, b catalog.Link) bool {
	table := func(column int) int { return q.Catalog.Columns[column].Table }
	return table(a.From) == table(b.From) && table(a.To) == table(b.To)
}

// mentionScore says how much words have to do with a column: those that name it count more
// than those that resemble it.
func (q *Question) mentionScore(column int) int {
	item, count := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column}), 0
	for word := range q.Input.Question {
		if item < 0 {
			break
		}
		switch relations := q.Input.Relations[word*len(q.Input.Items)+item]; {
		case relations&namingRelations != 0:
			count += 2
		case relations&similarRelations != 0:
			count++
		}
	}
	return count
}

// withJoinColumn adds to a query the column whose link it takes, in the one place where the
// language has it.
func (q *Question) withJoinColumn(r pathQuery, column int) pathQuery {
	for i := range len(r.tokens) + 1 {
		tokens := slices.Insert(slices.Clone(r.tokens), i, ir.KeywordToken("on"), ir.Token{Class: ir.ColumnRef, N: column})
		if query, err := ir.Parse(tokens, q.Input.IRValues()); err == nil && query.Via == column {
			return pathQuery{tokens, query, r.probability, r.ambiguous}
		}
	}
	return r
}
