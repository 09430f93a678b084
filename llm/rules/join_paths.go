package rules

import "slices"

// step is an edge taken from one table to another.
type step struct {
	edge edge
	from *table
	to   *table
}

// cost is how far an edge takes one: less where the question names its column.
func (g *joinGraph) cost(e edge) float64 {
	for _, w := range without(e.many.words, keyWords) {
		if slices.Contains(e.one.table.words, w) {
			continue
		}
		if slices.ContainsFunc(g.said, func(s string) bool { return alike(s, w) >= 0.7 }) {
			return 0.9
		}
	}
	return 1 + (1-e.score)*2.2
}

// path finds the fewest and best steps between two tables; nil when there are
// none. A table leads to itself by no steps.
func (g *joinGraph) path(from, to *table) ([]step, bool) {
	type node struct {
		cost float64
		via  *step
		done bool
	}
	nodes := map[*table]*node{from: {}}
	for {
		var at *table
		for _, e := range g.edges {
			for _, t := range []*table{e.many.table, e.one.table} {
				if n := nodes[t]; n != nil && !n.done && (at == nil || n.cost < nodes[at].cost || n.cost == nodes[at].cost && t.order < at.order) {
					at = t
				}
			}
		}
		if from == to {
			return nil, true
		}
		if at == nil {
			return nil, false
		}
		nodes[at].done = true
		if at == to {
			break
		}
		for _, e := range g.edges {
			var next *table
			switch at {
			case e.many.table:
				next = e.one.table
			case e.one.table:
				next = e.many.table
			default:
				continue
			}
			cost := nodes[at].cost + g.cost(e)
			if n := nodes[next]; n == nil || !n.done && cost < n.cost {
				nodes[next] = &node{cost: cost, via: &step{edge: e, from: at, to: next}}
			}
		}
	}
	var steps []step
	for at := to; at != from; at = nodes[at].via.from {
		steps = append(steps, *nodes[at].via)
	}
	slices.Reverse(steps)
	return steps, true
}

// connect finds the steps that join tables to the first; false when some cannot
// be reached.
func (g *joinGraph) connect(tables []*table) ([]step, bool) {
	var steps []step
	in := []*table{tables[0]}
	for _, t := range tables[1:] {
		if slices.Contains(in, t) {
			continue
		}
		var best []step
		found := false
		bestCost := 0.0
		for _, have := range in {
			p, ok := g.path(have, t)
			if !ok {
				continue
			}
			cost := 0.0
			for _, s := range p {
				cost += g.cost(s.edge)
			}
			if !found || cost < bestCost {
				best, bestCost, found = p, cost, true
			}
		}
		if !found {
			return nil, false
		}
		for _, s := range best {
			if !slices.Contains(in, s.to) {
				in = append(in, s.to)
				steps = append(steps, s)
			}
		}
	}
	return steps, true
}

// manyOf reports whether a row of one table may have several of another.
func (g *joinGraph) manyOf(one, other *table) bool {
	steps, ok := g.path(one, other)
	if !ok {
		return false
	}
	for _, s := range steps {
		if s.to == s.edge.many.table {
			return true
		}
	}
	return false
}
