package rules

// readTimes reads "ordered more than once" and "bought at least 3 times": how
// often something happened to each thing.
func (r *reader) readTimes(i int) bool {
	if phrase(r.tokens, i, tradeVerbs) < 0 {
		return false
	}
	for _, c := range comparators {
		from := phrase(r.tokens, i+1, "from? us? something|anything? "+c.pattern)
		if from < 0 {
			continue
		}
		n, end, ok := numberAt(r.tokens, from)
		if !ok {
			return false
		}
		if times := phrase(r.tokens, end, "times|time"); times > 0 {
			end = times
		} else if !wordIs(r.lower(from), "once", "twice") {
			return false
		}
		k := r.thingsNear(i, end)
		if k == nil || r.isTable(k) == nil {
			return false
		}
		t := r.isTable(k)
		h := r.happeningOf(t)
		if h == nil || h.table == t {
			return false
		}
		r.takeAll(i, end)
		r.q.main = t
		r.q.having = append(r.q.having, having{op: c.op, n: n, table: h.table})
		r.event = h.table
		r.note("by the number of " + h.table.name)
		return true
	}
	return false
}

// readDealt reads "who bought the tent" and "what did Ann buy": the things on the
// other side of what happened.
func (r *reader) readDealt(i int) bool {
	if phrase(r.tokens, i, tradeVerbs) < 0 || r.find("how many|much|often") > 0 {
		return false
	}
	var side *link
	for _, k := range r.links {
		if r.free(k) && r.isValueOnly(k) && r.happeningOf(k.values[0].column.table) != nil {
			side = k
			break
		}
	}
	if side == nil {
		return false
	}
	known := side.values[0].column.table
	h := r.happeningOf(known)
	if h == nil || h.table == known {
		return false
	}
	asked := r.otherSide(h, known)
	if asked == nil {
		return false
	}
	who := phrase(r.tokens, 0, "who|which|what") > 0 && side.from > i && (r.lower(0) == "who" || r.linkAt(1) != nil && r.isTable(r.linkAt(1)) == asked)
	what := phrase(r.tokens, 0, "what|which") > 0 && side.to <= i && r.find("did|has|have") > 0 && r.lower(0) != "who"
	if !who && !what {
		return false
	}
	c := nameColumn(asked)
	r.takeAll(i, i+1)
	r.takeThings(0)
	r.q.main, r.q.distinct = asked, true
	r.q.items = append(r.q.items, item{column: c})
	r.chosen, r.event = true, h.table
	r.note("by " + h.table.name)
	return true
}

// otherSide is the one table that a happening refers to beside another; nil when
// it has none, or several.
func (r *reader) otherSide(h *happening, known *table) *table {
	var other *table
	for _, e := range r.joins.edges {
		if e.many.table != h.table || e.one.table == known || e.one.table == other {
			continue
		}
		if other != nil {
			return nil
		}
		other = e.one.table
	}
	return other
}
