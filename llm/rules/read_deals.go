package rules

// readTimes reads "ordered more than once", "sold less than 100 units" and "spent
// more than 500": how often, or how much, something happened to each thing.
func (r *reader) readTimes(i int) bool {
	if phrase(r.tokens, i, tradeVerbs+"|"+moneyVerbs) < 0 {
		return false
	}
	for _, c := range comparators {
		from := phrase(r.tokens, i+1, "from? us? something|anything? "+c.pattern)
		if from < 0 {
			continue
		}
		k := r.thingsNear(i, from)
		if k == nil || r.isTable(k) == nil {
			return false
		}
		t := r.isTable(k)
		h := r.happeningOf(t)
		if h == nil || h.table == t {
			return false
		}
		limit, end := r.timesLimit(i, from, h)
		if end < 0 {
			return false
		}
		limit.op = c.op
		r.takeAll(i, end)
		r.q.main = t
		r.q.having = append(r.q.having, limit)
		r.event, r.mayBeNone = h.table, true
		r.note("by what happened in " + h.table.name)
		return true
	}
	return false
}

// timesLimit reads the number of times, pieces or money that a verb is compared
// with, and gives the token after it, or -1.
func (r *reader) timesLimit(verb, from int, h *happening) (having, int) {
	n, end, ok := numberAt(r.tokens, from)
	if !ok {
		return having{}, -1
	}
	limit := having{n: n, table: h.table}
	if times := phrase(r.tokens, end, "times|time"); times > 0 {
		return limit, times
	}
	if wordIs(r.lower(from), "once", "twice") {
		return limit, end
	}
	if pieces := phrase(r.tokens, end, pieceWords); pieces > 0 && h.quantity != nil {
		limit.agg, limit.col = "sum", h.quantity
		return limit, pieces
	}
	if phrase(r.tokens, verb, moneyVerbs) < 0 || h.money == nil {
		return having{}, -1
	}
	limit.agg, limit.col = "sum", h.money
	if unit := phrase(r.tokens, end, "euros|euro|dollars|dollar|pounds|eur|usd"); unit > 0 {
		end = unit
	}
	return limit, end
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

// readMostState reads "which city returns the most" and "the most returns", where
// a value tells that of what happened.
func (r *reader) readMostState(i int) bool {
	at, end := i, phrase(r.tokens, i+1, "the? most|least often|frequently?")
	if end < 0 {
		if !wordIs(r.lower(i), "most", "fewest", "least") || !r.endsClause(i+2) {
			return false
		}
		at, end = i+1, i+2
	}
	if at >= len(r.tokens) || r.linkAt(at) != nil && r.isTable(r.linkAt(at)) != nil {
		return false
	}
	c, value := r.stateCalled(r.tokens[at].lemma)
	if c == nil || r.asHappening(c.table) == nil || !r.rankThings(i, end, (*happening).times) {
		return false
	}
	r.q.conds = append(r.q.conds, cond{column: c, op: "in", texts: []string{value}, at: at, exact: true})
	r.takeAll(i, end)
	if k := r.linkFrom(end, nil); k != nil && r.isTable(k) == c.table {
		r.takeLink(k) // "cancelled the most orders"
	}
	r.note(c.name + " is " + value)
	return true
}

// readPriceOf reads "how much is the lamp": its price.
func (r *reader) readPriceOf(i int) bool {
	end := phrase(r.tokens, i, "how much is|are|does|do|was a|an|the?")
	if end < 0 {
		return false
	}
	k := r.linkFrom(end, nil)
	if k == nil || !r.isValueOnly(k) {
		return false
	}
	c := r.figureCalled(k.values[0].column.table, []string{"price", "cost", "fee"})
	if c == nil {
		return false
	}
	r.q.main = c.table
	r.q.items = append(r.q.items, item{column: c, at: i})
	r.take(i, end)
	r.takeWords("cost", "costs")
	r.chosen = true
	return true
}
