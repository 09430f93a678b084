package sqlread

import (
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// tables adds to the query the tables that its columns do not imply, and the link if there
// are several.
func (r *reader) tables(q *ir.Query) {
	s := r.scope
	if len(s.tables) == 0 {
		return
	}
	counts := slices.ContainsFunc(q.Items, countsRows) || slices.ContainsFunc(q.Order, func(o ir.Sort) bool { return countsRows(o.By) }) ||
		slices.ContainsFunc(q.Having, func(c ir.Cond) bool { return countsRows(c.Left) || c.Right != nil && countsRows(*c.Right) })
	var candidates [][]int
	if !counts {
		candidates = append(candidates, nil)
	}
	for _, t := range s.tables {
		candidates = append(candidates, []int{t})
	}
	for _, a := range s.tables {
		for _, b := range s.tables {
			if a != b {
				candidates = append(candidates, []int{a, b})
			}
		}
	}
	vias := []int{-1}
	for _, pair := range s.on {
		vias = append(vias, pair[0], pair[1])
	}
	for _, exact := range []bool{true, false} {
		for _, once := range []bool{true, false} {
			for _, from := range candidates {
				for _, via := range vias {
					q.From, q.Via = from, via
					// Prefer a join that does not repeat the counted rows.
					if r.covers(q, exact) && (!once || !counts || !ir.Repeats(q, r.cat, from[0])) {
						return
					}
				}
			}
		}
	}
	fail("tables that its links do not join")
}

func countsRows(e ir.Expr) bool {
	return e.Star || e.Kind == "pct" || e.Second != nil && countsRows(*e.Second)
}

// covers reports whether the query reads exactly the tables of its FROM, by the same links
// if exact is set.
func (r *reader) covers(q *ir.Query, exact bool) bool {
	tables, links, err := ir.Tables(q, r.cat)
	if err != nil || len(tables) != len(r.scope.tables) {
		return false
	}
	for _, t := range tables {
		if !slices.Contains(r.scope.tables, t) {
			return false
		}
	}
	if !exact {
		return q.Via < 0
	}
	for _, pair := range r.scope.on {
		if !slices.Contains(links, catalog.Link{From: pair[0], To: pair[1]}) && !slices.Contains(links, catalog.Link{From: pair[1], To: pair[0]}) {
			return false
		}
	}
	return true
}
