package rank

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// pathQuery is a query with a fixed join path, and its probability.
type pathQuery struct {
	tokens      []ir.Token
	query       *ir.Query
	probability float64
	// ambiguous says that other queries differ in the join path only: equal rows do not
	// make one of them more likely.
	ambiguous bool
}

// joinPaths chooses the column on which a query joins two tables, if several columns refer
// from one to the other: the one that the question names ("away games": away_team_id), or
// else a declared one, or else each of them.
func (q *Question) joinPaths(r pathQuery) []pathQuery {
	_, links, err := ir.Tables(r.query, q.Catalog)
	if err != nil || r.query.Via >= 0 {
		return []pathQuery{r}
	}
	for _, l := range links {
		best, alike, others := l, []catalog.Link{l}, 0
		for _, other := range q.Catalog.Links {
			switch {
			case other == l || !q.sameTables(l, other):
				continue
			case q.mentionScore(other.From) > q.mentionScore(best.From):
				best = other
			case q.mentionScore(other.From) == q.mentionScore(l.From) && other.Declared == l.Declared:
				alike = append(alike, other)
			}
			others++
		}
		if best != l || l.Declared && q.mentionScore(l.From) > 0 || others > 0 && len(alike) == 1 {
			return []pathQuery{q.withJoinColumn(r, best.From)}
		}
		if len(alike) > 1 && !q.namesDirection() {
			r.probability, r.ambiguous = r.probability/float64(len(alike)), true
			alike = alike[:min(len(alike), maxPaths)]
			all := make([]pathQuery, len(alike))
			for i, other := range alike {
				all[i] = q.withJoinColumn(r, other.From)
			}
			return all
		}
	}
	return []pathQuery{r}
}

// maxPaths limits the join paths of one candidate, each of which is a query: two are enough
// to ask which one is meant.
const maxPaths = 3

// directions are words that distinguish two references. The network has learnt these.
var directions = catalog.WordSet("from to into toward towards depart departs departed departing departure arrive arrives arrived arriving arrival leave leaves leaving land lands landing sent received source destination origin")

func (q *Question) namesDirection() bool {
	return slices.ContainsFunc(q.Tokens, func(t link.Token) bool { return directions[t.Lower] })
}

func (q *Question) sameTables(a, b catalog.Link) bool {
	table := func(column int) int { return q.Catalog.Columns[column].Table }
	return table(a.From) == table(b.From) && table(a.To) == table(b.To)
}

// mentionScore rates how much the question mentions a column: words that name it count more
// than similar words, and words that describe it or its link.
func (q *Question) mentionScore(column int) int {
	item, count := q.Input.ItemOf(ir.Token{Class: ir.ColumnRef, N: column}), 0
	for word := range q.Input.Question {
		if item < 0 {
			break
		}
		switch relations := q.Input.Relations[word*len(q.Input.Items)+item]; {
		case relations&namingRelations != 0:
			count += 2
		case relations&(similarRelations|1<<link.Described) != 0:
			count++
		}
	}
	return count
}

// withJoinColumn adds the join column to a query, at the only position that the grammar
// allows.
func (q *Question) withJoinColumn(r pathQuery, column int) pathQuery {
	for i := range len(r.tokens) + 1 {
		tokens := slices.Insert(slices.Clone(r.tokens), i, ir.KeywordToken("on"), ir.Token{Class: ir.ColumnRef, N: column})
		if query, err := ir.Parse(tokens, q.Input.IRValues()); err == nil && query.Via == column {
			return pathQuery{tokens, query, r.probability, r.ambiguous}
		}
	}
	return r
}
