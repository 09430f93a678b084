package rules

import "slices"

// readSelection reads what is to be shown: the columns and tables that no
// condition took.
func (r *reader) readSelection() {
	if end := r.find("all? the? information|details|data|records|everything about|of|on|for"); end > 0 {
		if k := r.linkFrom(end, articles); k != nil {
			if t := r.isTable(k); t != nil && len(r.q.items) == 0 {
				r.q.main, r.q.star = t, true
				r.take(0, k.to)
				return
			}
		}
	}
	if r.find("distinct|different|unique|distinctive") > 0 {
		r.q.distinct = true
		for i := range r.tokens {
			if wordIs(r.lower(i), "distinct", "different", "unique", "distinctive") {
				r.take(i, i+1)
			}
		}
	}
	for n, k := range r.links {
		if !r.free(k) || len(k.columns) == 0 && len(k.tables) == 0 {
			continue
		}
		if t := r.isTable(k); t != nil {
			r.takeLink(k)
			// "the owners and breeds": the things themselves are shown too.
			if r.zones.asked[k.from] && n+1 < len(r.links) && r.listedAfter(k, r.links[n+1]) && r.isTable(r.links[n+1]) == nil && r.free(r.links[n+1]) &&
				!slices.ContainsFunc(r.q.items, func(i item) bool { return i.at < k.from }) {
				if c := nameColumn(t); c != nil {
					r.q.items = append(r.q.items, item{column: c, at: k.from, link: k})
				}
			}
			continue
		}
		c := r.columnOf(k, nil)
		if c == nil {
			continue
		}
		if next := r.linkFrom(k.to, nil); next != nil && next.from == k.to && len(next.columns) > 0 && len(k.tables) > 0 {
			// "owner full name": the first word says whose.
			r.takeLink(k)
			continue
		}
		if !r.zones.shown[k.from] && len(r.q.items)+len(r.q.orders) > 0 {
			r.doubt(0.05)
			r.takeLink(k)
			continue
		}
		r.takeLink(k)
		if n > 0 && r.links[n-1].to == k.from && r.isTable(r.links[n-1]) == nil && r.lower(k.from) == "name" && len(r.q.items) > 0 && r.q.items[len(r.q.items)-1].link == r.links[n-1] {
			continue // "breed name" is the breed
		}
		if last := len(r.q.items) - 1; r.solo() && last >= 0 && r.q.items[last].agg == "" && (r.q.items[last].link == nil || !r.listedAfter(r.q.items[last].link, k)) {
			continue // one thing is asked for, unless there is a list
		}
		if !slices.ContainsFunc(r.q.items, func(i item) bool { return i.agg == "" && sameColumn(r.joins, i.column, c) }) {
			r.q.items = append(r.q.items, item{column: c, at: k.from, link: k})
		}
	}
	r.readWithTheir()
	slices.SortStableFunc(r.q.items, func(a, b item) int { return a.at - b.at })
}

// readWithTheir reads "customers with their cities" and "employees with their
// department": both are shown.
func (r *reader) readWithTheir() {
	if r.solo() || r.q.aggregated() || len(r.q.orders)+len(r.q.having) > 0 || len(r.spoken) == 0 || len(r.q.items) > 1 || r.q.star {
		return
	}
	main := r.spoken[0]
	for _, k := range r.links {
		at := k.from - 1
		if k.from <= main.link.to || !wordIs(r.lower(at), "their", "its") || r.lower(at-1) != "with" || main.link.to != at-1 || !r.endsClause(k.to) {
			continue
		}
		c := r.columnOf(k, nil)
		if t := r.isTable(k); t != nil && t != main.table {
			c = nameColumn(t)
		}
		if c == nil || nameColumn(main.table) == nil || c == nameColumn(main.table) {
			return
		}
		r.q.main = main.table
		r.q.items = []item{{column: nameColumn(main.table), at: main.link.from}, {column: c, at: k.from}}
		return
	}
}

// sameColumn reports whether two columns are the same, or one refers to the
// other under the same name.
func sameColumn(joins *joinGraph, a, b *column) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || !slices.Equal(a.words, b.words) {
		return false
	}
	return slices.ContainsFunc(joins.edges, func(e edge) bool { return e.many == a && e.one == b || e.many == b && e.one == a })
}

// find finds a phrase anywhere; it gives the token after it, or -1.
func (r *reader) find(pattern string) int {
	for i := range r.tokens {
		if end := phrase(r.tokens, i, pattern); end > 0 {
			return end
		}
	}
	return -1
}
