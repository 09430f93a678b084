package rules

import "slices"

// How trade is spoken of. Verbs of pieces ask how many changed hands, verbs of
// money for how much.
const (
	tradeVerbs = "sold|sell|sells|selling|bought|buy|buys|buying|purchased|purchase|purchases|ordered|order|borrowed|borrow|borrows|lent|lend|rented|rent|rents|booked"
	moneyVerbs = "spent|spend|spends|spending|paid|pays|pay|earned|earns|earn|makes|made|make|generates|generate|generated|brings|bring|brought"
	takings    = "money|revenue|revenues|sales|turnover|income"
	pieceWords = "units|pieces|items|copies|articles|goods"
)

// longRanking is how many a ranking has that says no number.
const longRanking = 10

// readTrade reads what is asked of things that are sold, bought or paid for, over
// the table of what happened to them.
func (r *reader) readTrade() {
	if r.solo() {
		return
	}
	for i := range r.tokens {
		if r.taken(i) {
			continue
		}
		if r.readTimes(i) || r.readMostState(i) || r.readBestSold(i) || r.readBestPaid(i) || r.readNeverSold(i) || r.readHowMuch(i) || r.readHowManySold(i) || r.readJustBest(i) || r.readDealt(i) || r.readPriceOf(i) {
			return
		}
	}
}

// readBestSold reads "best selling products" and "which product was sold the
// most".
func (r *reader) readBestSold(i int) bool {
	for _, p := range []string{
		"most|least|best|top|worst|fewest often|frequently|commonly? -? sold|bought|purchased|ordered|selling",
		tradeVerbs + " the? most|least|best|worst|fewest often|frequently|" + pieceWords + "?",
	} {
		if end := phrase(r.tokens, i, p); end > 0 && r.rankThings(i, end, (*happening).pieces) {
			return true
		}
	}
	return false
}

// readBestPaid reads "which customer spent the most" and "which category brings
// in the most money".
func (r *reader) readBestPaid(i int) bool {
	end := phrase(r.tokens, i, moneyVerbs+" in? us? the? most|least|highest|lowest "+takings+"?")
	return end > 0 && r.rankThings(i, end, (*happening).worth)
}

// readJustBest reads "our best customer" and "which month was the best", where no
// figure is named: by what they were worth.
func (r *reader) readJustBest(i int) bool {
	if !wordIs(r.lower(i), "best", "worst", "top") || r.linkAt(i) != nil {
		return false
	}
	if slices.ContainsFunc(r.links, func(k *link) bool { return r.isTable(k) == nil && r.isMeasure(k) }) || r.lower(i) == "top" && r.find("by") > 0 {
		return false
	}
	k := r.linkFrom(skipNumber(r.tokens, i+1), nil)
	if next := r.linkAfter(k); next != nil && r.isValueOnly(k) && r.isTable(next) != nil {
		k = next // "top 5 garden products"
	}
	next := i + 1
	if r.taken(next) && periods[r.lower(next)] != nil {
		next++ // "our best month"
	}
	ends := next >= len(r.tokens) || r.tokens[next].mark || wordIs(r.lower(next), "in", "of", "ever")
	if k == nil && !(ends && r.q.byPeriod()) {
		return false
	}
	if k != nil && r.isTable(k) == nil {
		return false
	}
	if h := r.happeningOf(r.thingsTable(i, i+1)); h == nil || h.money == nil || k != nil && r.isTable(k) == h.table {
		return false
	}
	r.doubt(0.03)
	return r.rankThings(i, i+1, (*happening).worth)
}

// linkAfter is the free link that follows another at once; nil when there is none.
func (r *reader) linkAfter(k *link) *link {
	if k == nil {
		return nil
	}
	return r.linkFrom(k.to, nil)
}

func skipNumber(tokens []token, i int) int {
	if _, end, ok := numberAt(tokens, i); ok {
		return end
	}
	return i
}

// rankThings orders the things that are spoken of by a figure of what happened to
// them; false when none are, or nothing did.
func (r *reader) rankThings(from, to int, figure func(*happening, int) item) bool {
	k := r.thingsNear(from, to)
	period := r.q.byPeriod() && len(r.q.items) > 0
	of := r.thingsOfValue(from, to)
	if k == nil && of == nil && !period {
		return false
	}
	t := r.thingsTable(from, to)
	if k == nil && of != nil {
		t = of.values[0].column.table
	}
	h := r.happeningOf(t)
	if h == nil || h.money == nil && h.quantity == nil && r.find(tradeVerbs) < 0 {
		return false
	}
	limit := 1
	switch {
	case period:
	case k != nil:
		limit = r.rankingLimit(k, from, to)
		r.groupThings(k)
	default:
		limit = r.rankingLimit(of, from, to)
		r.q.items = append(r.q.items, item{column: nameColumn(t), at: of.from})
		r.q.main, r.q.groupTable = t, t
	}
	by := figure(h, from)
	if limit > 1 {
		r.q.items = append(r.q.items, by)
	}
	desc := !slices.ContainsFunc(r.tokens[from:to], func(t token) bool { return wordIs(t.lower, "least", "worst", "fewest", "lowest") })
	r.takeAll(from, to)
	r.q.orders = append(r.q.orders, order{item: by, desc: desc})
	r.q.limit = limit
	r.chosen, r.event = true, h.table
	r.note("ranked by " + by.label() + " of " + h.table.name)
	return true
}

// thingsNear is the link to what is ranked: what a ranking names next, else what
// the question asks for first.
func (r *reader) thingsNear(from, to int) *link {
	if k := r.linkFrom(skipNumber(r.tokens, to), nil); k != nil && r.rankedColumn(k) != nil {
		return k
	}
	for _, k := range r.links {
		if r.free(k) && (k.to <= from || k.from >= to) && r.rankedColumn(k) != nil && !r.isValueOnly(k) {
			return k
		}
	}
	return nil
}

// thingsOfValue is the link to a value that the things have which are ranked: "best
// selling toys".
func (r *reader) thingsOfValue(from, to int) *link {
	k := r.linkFrom(skipNumber(r.tokens, to), nil)
	if wordIs(r.lower(0), "which", "what") && from > 1 {
		k = r.linkFrom(1, nil)
	}
	if k == nil || !r.isValueOnly(k) {
		return nil
	}
	if h := r.happeningOf(k.values[0].column.table); h == nil || h.table == k.values[0].column.table {
		return nil
	}
	return k
}

func (r *reader) isValueOnly(k *link) bool {
	return len(k.values) > 0 && r.isTable(k) == nil && r.isValue(k)
}

// thingsTable is the table of what is ranked; nil where spans of time are.
func (r *reader) thingsTable(from, to int) *table {
	if k := r.thingsNear(from, to); k != nil {
		return r.rankedColumn(k).table
	}
	if r.q.byPeriod() {
		return r.q.groups[0].table
	}
	return nil
}

// groupThings asks for figures of rows of a table, or values of a column.
func (r *reader) groupThings(k *link) {
	c := r.rankedColumn(k)
	r.takeLink(k)
	r.q.items = append(r.q.items, item{column: c, at: k.from})
	r.q.main = c.table
	if r.isTable(k) != nil {
		r.q.groupTable = c.table
	} else {
		r.q.groups = append(r.q.groups, c)
	}
}

// rankingLimit is how many are asked for: as many as are said, one of what is
// spoken of as one, and several of what is spoken of as many.
func (r *reader) rankingLimit(k *link, from, to int) int {
	for _, i := range []int{from - 1, to, k.from - 1} {
		if n, end, ok := numberAt(r.tokens, i); ok && n >= 1 && n < 1000 && n == float64(int(n)) && !r.taken(i) {
			r.take(i, end)
			return int(n)
		}
	}
	if last := r.tokens[k.to-1]; last.lemma != last.lower {
		return longRanking
	}
	return 1
}

// takeAll marks tokens as understood, with the links that they are part of.
func (r *reader) takeAll(from, to int) {
	r.take(from, to)
	for i := from; i < to; i++ {
		if k := r.linkAt(i); k != nil && k.to <= to {
			r.takeLink(k)
		}
	}
}

// readNeverSold reads "which products have never been sold".
func (r *reader) readNeverSold(i int) bool {
	end := phrase(r.tokens, i, "never|not yet? been? yet? "+tradeVerbs)
	if end < 0 || len(r.spoken) == 0 {
		return false
	}
	t := r.spoken[0].table
	h := r.happeningOf(t)
	if h == nil || h.table == t || r.spoken[0].link.from > i {
		return false
	}
	r.takeAll(i, end)
	r.q.main = t
	if r.q.negations == nil {
		r.q.negations = map[int]bool{}
	}
	r.q.negations[i] = true
	r.q.absent = append(r.q.absent, absence{table: h.table, at: i})
	r.takeWords("anything", "something", "anyone", "anybody", "yet")
	r.mayBeNone = true
	r.note("with no " + join(h.table.words))
	return true
}

// readHowMuch reads "how much did we earn" and "how much did customers from Vienna
// spend".
func (r *reader) readHowMuch(i int) bool {
	end := phrase(r.tokens, i, "how much "+takings+"? did|do|have|has|was|were")
	if end < 0 {
		return false
	}
	if r.readHowMuchDone(i, end) {
		return true
	}
	verb := r.verbAfter(end, moneyVerbs+"|"+tradeVerbs)
	h := r.happeningOf(nil)
	if verb < 0 || h == nil || h.money == nil {
		return false
	}
	r.q.main = h.table
	r.q.items = append(r.q.items, h.worth(i))
	r.takeAll(i, end)
	r.takeAll(verb, verb+1)
	r.takeThings(end)
	r.chosen, r.event = true, h.table
	r.note("the total " + h.money.name)
	return true
}

// readHowMuchDone reads "how much did we harvest", where the table of what happened
// has that name and tells one amount.
func (r *reader) readHowMuchDone(i, end int) bool {
	for _, m := range r.spoken {
		c := r.amountSaid(m.link)
		if m.link.from < end || c == nil || !r.free(m.link) {
			continue
		}
		r.q.main = c.table
		r.q.items = append(r.q.items, item{agg: "sum", column: c, at: i})
		r.takeAll(i, end)
		r.takeLink(m.link)
		r.chosen, r.event = true, c.table
		r.note("the total " + c.name)
		return true
	}
	return false
}

// verbAfter is where one of some verbs stands after a token, in its sentence; -1
// when none does.
func (r *reader) verbAfter(i int, verbs string) int {
	for ; i < len(r.tokens) && !wordIs(r.lower(i), "?", ".", ";"); i++ {
		if phrase(r.tokens, i, verbs) > 0 && !r.taken(i) {
			return i
		}
	}
	return -1
}

// takeThings marks the tables that are named after a token as understood: that
// they took part goes without saying.
func (r *reader) takeThings(from int) {
	for _, m := range r.spoken {
		if m.link.from >= from && r.free(m.link) {
			r.takeLink(m.link)
		}
	}
}

// readHowManySold reads "how many units did we sell", "how many tents were sold"
// and "how many lamps were returned": pieces are meant.
func (r *reader) readHowManySold(i int) bool {
	end := phrase(r.tokens, i, "how many")
	if end < 0 {
		return false
	}
	distinct := phrase(r.tokens, end, "different|distinct|unique")
	units := phrase(r.tokens, max(end, distinct), pieceWords+" of? the?")
	k := r.linkFrom(max(end, distinct, units), nil)
	var t *table
	switch {
	case k != nil && r.isTable(k) != nil:
		t = r.isTable(k)
	case k != nil && r.isValueOnly(k):
		t = k.values[0].column.table
	case units < 0:
		return false
	}
	h := r.happeningOf(t)
	if h == nil || h.table == t || t != nil && !r.passive(k, h) || t == nil && r.verbAfter(units, tradeVerbs) < 0 {
		return false
	}
	switch ref := r.reference(h.table, t); {
	case distinct > 0 && ref != nil && r.isTable(k) != nil:
		r.q.items = append(r.q.items, item{agg: "count", column: ref, distinct: true, at: i})
	case distinct > 0:
		return false
	default:
		r.q.items = append(r.q.items, h.pieces(i))
		r.note("pieces, not rows, are counted")
	}
	r.q.main = h.table
	r.takeAll(i, max(end, distinct, units))
	if t != nil && r.isTable(k) != nil {
		r.takeLink(k)
	}
	if verb := r.verbAfter(end, tradeVerbs); verb >= 0 {
		r.takeAll(verb, verb+1)
	}
	r.takeThings(max(end, units))
	r.chosen, r.event = true, h.table
	return true
}

// passive reports whether something was done to what a link names: it was sold, or
// a value of what happened is said of it.
func (r *reader) passive(k *link, h *happening) bool {
	if phrase(r.tokens, k.to, "do|does") > 0 {
		return false // "how many lamps do we sell": what there is
	}
	if phrase(r.tokens, k.to, "did|have|has we|i|they|you|customers|people? "+tradeVerbs) > 0 || phrase(r.tokens, k.to, "were|was|are|is|have|has been? "+tradeVerbs) > 0 {
		return true
	}
	if r.isTable(k) != nil || phrase(r.tokens, k.to, "were|was|are|is|have|has|did") < 0 {
		return r.isTable(k) == nil && r.verbAfter(k.to, tradeVerbs) >= 0
	}
	return r.verbAfter(k.to, tradeVerbs) >= 0 || slices.ContainsFunc(r.links, func(o *link) bool {
		return o.from >= k.to && slices.ContainsFunc(o.values, func(m valueMatch) bool { return m.column.table == h.table })
	})
}
