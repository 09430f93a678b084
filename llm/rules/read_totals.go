package rules

import "slices"

// overGroups reports whether a superlative asks for the greatest total rather than
// the greatest row: what is asked for has several rows each, and their figures
// make sense added up. "Which city has the highest revenue" is such a question,
// "which order has the highest amount" is not.
func (r *reader) overGroups(c *column, from, to int) bool {
	if r.solo() || c.kind != kindNumber {
		return false
	}
	if r.q.byPeriod() {
		return true
	}
	k := r.linkAhead(to)
	if k == nil {
		return false
	}
	if !r.addsUp(k, c) {
		return wordIs(r.lower(to-1), "most", "least", "fewest") && r.addsWithin(from, k, c)
	}
	things := r.thingsNear(from, k.to)
	if things == nil {
		return false
	}
	shown := r.rankedColumn(things)
	if shown.table == c.table {
		return r.isTable(things) == nil && !shown.unique && slices.ContainsFunc(r.joins.edges, func(e edge) bool { return e.many.table == c.table })
	}
	return r.joins.manyOf(shown.table, c.table)
}

// linkAhead is the link that a superlative is of, whether understood or not.
func (r *reader) linkAhead(i int) *link {
	for ; i < len(r.tokens) && !r.tokens[i].mark; i++ {
		if k := r.linkAt(i); k != nil {
			return k
		}
	}
	return nil
}

// readPopular reads "the most popular product": by what happened to each, where
// that is told.
func (r *reader) readPopular(from, to int, s superlative, limit int) bool {
	k := r.thingsNear(from, to)
	if r.solo() || k == nil {
		return false
	}
	t := r.rankedColumn(k).table
	h := r.happeningOf(t)
	if h == nil || h.table == t {
		return false
	}
	if limit == 1 {
		limit = r.rankingLimit(k, from, to)
	}
	r.groupThings(k)
	by := h.pieces(from)
	if limit > 1 {
		r.q.items = append(r.q.items, by)
	}
	r.event = h.table
	r.addSuperlative(by, s.desc, limit, from, to)
	return true
}

// settleTotals adds up what is asked for as one figure: "what is our revenue".
func (r *reader) settleTotals() {
	q := r.q
	if r.solo() || len(q.items) != 1 || q.items[0].agg != "" || q.items[0].link == nil || len(q.orders) > 0 || len(q.groups) > 0 || q.groupTable != nil {
		return
	}
	it := &q.items[0]
	if r.asHappening(it.column.table) == nil || r.find("each|every|list|per") >= 0 {
		return
	}
	for _, t := range r.tokens[it.link.from:it.link.to] {
		if takingWords[t.lemma] {
			it.agg = "sum"
			r.note("the total " + it.column.name)
		}
	}
}

// readBiggest reads "the biggest order" where nothing says how big things are: by
// what they were worth.
func (r *reader) readBiggest(from, to int, s superlative, limit int) {
	k := r.linkFrom(to, nil)
	if k == nil || r.isTable(k) == nil {
		return
	}
	h := r.asHappening(r.isTable(k))
	if h == nil || h.money == nil {
		return
	}
	r.takeLink(k)
	shown := nameColumn(h.table)
	if things := r.thingsNear(from, k.to); things != nil && r.isTable(things) != nil && r.isTable(things) != h.table {
		shown = r.rankedColumn(things) // "which customer has the biggest order"
		r.takeLink(things)
	}
	r.q.items = append(r.q.items, item{column: shown, at: k.from}, item{column: h.money, at: k.from})
	r.addSuperlative(item{column: h.money, at: from}, s.desc, limit, from, to)
	r.q.orders[len(r.q.orders)-1].shown = false
}

// asksForLatest reports whether several rows of a table are asked for by a word
// such as latest: "show the latest orders".
func (r *reader) asksForLatest(i, to int) bool {
	k := r.linkFrom(to, nil)
	if r.solo() || k == nil || r.isTable(k) == nil || !wordIs(r.lower(i), "latest", "newest", "recent") {
		return false
	}
	last := r.tokens[k.to-1]
	return last.lemma != last.lower && r.endsClause(k.to)
}

// dealValue reads "order value": what one row of a happening was worth. It gives
// the column and the token after it; nil when nothing of the kind stands there.
func (r *reader) dealValue(i int) (*column, int) {
	k := r.linkFrom(i, articles)
	if k == nil || r.isTable(k) == nil {
		return nil, -1
	}
	h, end := r.asHappening(r.isTable(k)), phrase(r.tokens, k.to, "value|values|size|worth|volume")
	if h == nil || h.money == nil || end < 0 || r.linkAt(k.to) != nil && !weakLink(r.linkAt(k.to)) {
		return nil, -1
	}
	return h.money, end
}

// valueOfPieces reports whether the value is asked for of what a column only
// counts, beside which there is a price: "the value of the stock".
func (r *reader) valueOfPieces(i int, c *column) bool {
	return r.find("value|worth of") > i && c.integers && !slices.Contains(c.words, "value") && r.figureCalled(c.table, []string{"price", "cost"}) != nil
}

// addsWithin reports whether the most of a count is asked for by a kind of thing:
// "which category has the most stock".
func (r *reader) addsWithin(from int, k *link, c *column) bool {
	things := r.thingsNear(from, k.to)
	if things == nil || r.isTable(things) != nil || !c.integers || c.years() {
		return false
	}
	shown := r.rankedColumn(things)
	return shown.table == c.table && !shown.unique && shown != nameColumn(shown.table) && shown.distinct*2 <= shown.filled
}
