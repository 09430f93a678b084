package rules

import "slices"

// readLatest reads what happened last or first: "when was the last order", "who
// joined most recently", "when did Ann last order", "the last 10 orders".
func (r *reader) readLatest() {
	if r.solo() || r.chosen {
		return
	}
	for i := range r.tokens {
		end, desc := r.latestAt(i)
		if end < 0 || slices.Contains(r.used[i:end], true) || r.linkAt(i) != nil {
			continue
		}
		if r.readWhenLast(i, end, desc) || r.readWhoLast(i, end, desc) || r.readLastRows(i, end, desc) {
			r.mayBeNone = true
			return
		}
	}
}

// latestAt reads a word for the latest or the first, and gives the token after it,
// or -1.
func (r *reader) latestAt(i int) (end int, desc bool) {
	if end = phrase(r.tokens, i, "most recent|recently"); end > 0 {
		return end, true
	}
	if end = phrase(r.tokens, i, "last|latest|newest|lastly"); end > 0 {
		return end, true
	}
	return phrase(r.tokens, i, "first|earliest"), false
}

// readWhenLast reads "when was the last order" and "when did we last order tea":
// the date itself.
func (r *reader) readWhenLast(i, end int, desc bool) bool {
	if !(r.lower(0) == "when" || phrase(r.tokens, 0, "on? what|which date|day") > 0) {
		return false
	}
	c, from, to := r.dateSaid(i, end)
	if c == nil {
		return false
	}
	agg := "min"
	if desc {
		agg = "max"
	}
	r.q.main = c.table
	r.q.items = append(r.q.items, item{agg: agg, column: c, at: i})
	r.takeLast(i, end, from, to, c)
	r.take(0, 2)
	return true
}

// readWhoLast reads "who joined most recently" and "which member was lent a book
// last": the one, and when.
func (r *reader) readWhoLast(i, end int, desc bool) bool {
	if !wordIs(r.lower(0), "who", "which") {
		return false
	}
	c, from, to := r.dateSaid(i, end)
	if c == nil {
		return false
	}
	t := c.table
	switch k := r.linkAt(1); {
	case r.lower(0) == "who" && !t.holdsPeople():
		t = r.peopleOf(t)
	case r.lower(0) == "which" && k != nil && k.from == 1 && l(k) > 1 && k.from == from: // "which member joined"
	case r.lower(0) == "which":
		if len(r.spoken) == 0 || r.spoken[0].link.from != 1 || r.spoken[0].table != t && !r.refersTo(t, r.spoken[0].table) {
			return false
		}
		t = r.spoken[0].table
		r.takeLink(r.spoken[0].link)
	}
	if t == nil {
		return false
	}
	r.q.main = t
	r.q.items = append(r.q.items, item{column: nameColumn(t), at: 0}, item{column: c, at: i})
	r.q.orders = append(r.q.orders, order{item: item{column: c, at: i}, desc: desc})
	r.q.limit = 1
	r.takeLast(i, end, from, to, c)
	r.take(0, 1)
	return true
}

// readLastRows reads "the last 10 orders" and "what was the last order of Ann":
// the rows themselves.
func (r *reader) readLastRows(i, end int, desc bool) bool {
	if !wordIs(r.lower(i), "last", "first") || !wordIs(r.lower(0), "what", "show", "list", "give", "display", "the", "last", "first") {
		return false
	}
	limit := 0
	if n, stop, ok := numberAt(r.tokens, end); ok && n >= 1 && n < 1000 && n == float64(int(n)) {
		limit, end = int(n), stop
	}
	k := r.linkFrom(end, nil)
	if k == nil || k.from != end || r.isTable(k) == nil {
		return false
	}
	c := dateOf(r.isTable(k))
	if c == nil || !r.showOf(i, c.table) {
		return false
	}
	if last := r.tokens[k.to-1]; limit == 0 && last.lemma != last.lower {
		limit = longRanking
	}
	r.q.main, r.q.star = c.table, len(r.q.items) == 0
	r.q.orders = append(r.q.orders, order{item: item{column: c, at: i}, desc: desc})
	r.q.limit = max(limit, 1)
	r.takeLast(i, k.to, k.from, k.to, c)
	return true
}

// showOf takes the columns of a table that are named before a token as what is
// asked for: "the amount of the last order". False where something else is.
func (r *reader) showOf(i int, t *table) bool {
	for _, k := range r.links {
		if k.to > i {
			break
		}
		c := r.columnOf(k, func(c *column) bool { return c.table == t })
		if c == nil || r.isTable(k) != nil || columnScore(k, c) < 0.75 {
			r.q.items = nil
			return false
		}
		r.q.items = append(r.q.items, item{column: c, at: k.from, link: k})
		r.takeLink(k)
	}
	return true
}

// dateSaid is the date of what is said to be last or first, with the tokens that
// say it: a table's rows after it, else a verb beside it.
func (r *reader) dateSaid(i, end int) (c *column, from, to int) {
	if k := r.linkFrom(end, nil); k != nil && k.from == end && r.isTable(k) != nil {
		if c := dateOf(r.isTable(k)); c != nil {
			return c, k.from, k.to
		}
		return nil, -1, -1
	}
	for _, k := range r.links {
		if c := r.doneOn(k); c != nil && (k.to == i || k.from == end) {
			return c, k.from, k.to
		}
	}
	for _, at := range []int{i - 1, end} {
		verb := phrase(r.tokens, at, tradeVerbs) > 0
		if k := r.linkAt(at); k != nil && l(k) == 1 && r.isTable(k) != nil && r.asHappening(r.isTable(k)) != nil {
			return dateOf(r.isTable(k)), at, at + 1
		} else if h := r.happeningOf(nil); verb && h != nil {
			return dateOf(h.table), at, at + 1
		}
	}
	return nil, -1, -1
}

// dateOf is the first date of the rows of a table; nil when they have none.
func dateOf(t *table) *column {
	if i := slices.IndexFunc(t.columns, func(c *column) bool { return c.kind == kindDate }); i >= 0 {
		return t.columns[i]
	}
	return nil
}

// takeLast marks the words of what happened last as understood.
func (r *reader) takeLast(i, end, from, to int, c *column) {
	r.takeAll(i, end)
	r.takeAll(from, to)
	r.takeWords("place", "placed", "made", "date")
	r.chosen, r.event, r.when = true, c.table, c
	r.note("by " + c.name)
}
