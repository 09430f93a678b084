package joinguard

import (
	"fmt"
	"strings"

	"parley/internal/locale"
)

// loss is a relation whose rows without a match in another are left out.
type loss struct{ relation, other int }

// countLost notes how many rows the inner joins leave out because nothing matches them.
func (g *guard) countLost(s *selection, aggregates []aggregate) error {
	losses := s.losses(aggregates)
	if len(losses) == 0 {
		return nil
	}
	items := make([]string, len(losses))
	parts := map[string]any{}
	lasting := true
	for n, l := range losses {
		r := s.relations[l.relation]
		name := func(part string) string { return fmt.Sprint("__", part, n) }
		parts[name("from")], parts[name("other")], parts[name("on")] = r.node, s.relations[l.other].node, and(s.joined(l.relation, l.other))
		lasting = lasting && !r.derived && !s.relations[l.other].derived
		filter := ""
		if len(r.filters) > 0 {
			parts[name("filter")] = and(r.filters)
			filter = name("filter") + " AND "
			lasting = false
		}
		items[n] = fmt.Sprintf("(SELECT count(*) FROM %s WHERE %sNOT EXISTS (SELECT 1 FROM %s WHERE %s)) AS lost%d",
			name("from"), filter, name("other"), name("on"), n)
	}
	counts := map[string]any{}
	if err := g.query(s.scope, "SELECT "+strings.Join(items, ", "), parts, lasting, &counts); err != nil {
		return err
	}
	for n, l := range losses {
		if count, _ := counts[fmt.Sprint("lost", n)].(float64); count > 0 {
			g.note(lostRows(locale.NumbersFor(g.ctx), int64(count), s.relations[l.relation].title, s.relations[l.other].title))
		}
	}
	return nil
}

// losses returns the losses that matter to the result. A dataset that only filters is meant to
// leave rows out, and rows that the result does not show are not missed.
func (s *selection) losses(aggregates []aggregate) []loss {
	shown := s.shown(aggregates)
	var all []loss
	for i := range s.relations {
		for k := range s.relations {
			if shown.has(i) && len(s.joined(i, k)) > 0 && !s.onlyFilters(i, k, shown) {
				all = append(all, loss{i, k})
			}
		}
	}
	return all
}

// shown returns the relations that the result is made of.
func (s *selection) shown(aggregates []aggregate) set {
	var shown set
	for _, v := range append(list(s.node["select_list"]), s.groups...) {
		if object(v)["class"] == "STAR" {
			return s.all()
		}
		refs, ok := s.refs(v)
		if !ok {
			return s.all()
		}
		shown |= refs
	}
	for _, a := range aggregates {
		if a.of == 0 {
			return s.all() // it counts the rows of the join
		}
	}
	return shown
}

// joined returns the conditions by which two relations are joined, none where that is not an
// inner join.
func (s *selection) joined(i, k int) []any {
	var on []any
	for _, e := range s.edges {
		if e.of != [2]int{i, k} && e.of != [2]int{k, i} {
			continue
		}
		if !e.inner || s.relations[i].nullable || s.relations[k].nullable {
			return nil
		}
		on = append(on, equal(e.keys[0], e.keys[1]))
	}
	return on
}

// onlyFilters reports whether what a relation is joined with through another has conditions,
// and is not shown.
func (s *selection) onlyFilters(relation, other int, shown set) bool {
	side := set(1) << other
	for grown := true; grown; {
		before := side
		for _, e := range s.edges {
			for n, i := range e.of {
				if next := e.of[1-n]; side.has(i) && next != relation {
					side |= 1 << next
				}
			}
		}
		grown = side != before
	}
	filtered := false
	for i, r := range s.relations {
		filtered = filtered || side.has(i) && r.filtered
	}
	return filtered && side&shown == 0
}
