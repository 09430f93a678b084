package rules

// readEach reads "the average number of orders per customer", "how many orders per
// day on average" and "the average revenue per month": a total over how many there
// are.
func (r *reader) readEach(i int) bool {
	if r.readPiecesEach(i) {
		return true
	}
	figure, k := r.figureOfEach(i)
	if k == nil {
		return false
	}
	t := figure.table
	if t == nil {
		t = figure.column.table
	}
	var by *column
	switch {
	case r.q.byPeriod() && r.q.groups[0].table == t:
		by = r.q.groups[0]
	case r.q.groupTable != nil:
		by = r.reference(t, r.q.groupTable)
	default:
		next := r.linkFrom(k.to, set("does do did a an each every the per"))
		if next != nil && r.isTable(next) != nil {
			by = r.reference(t, r.isTable(next))
			r.takeLink(next)
		}
	}
	if by == nil {
		return false
	}
	r.q.groups, r.q.groupTable, r.q.main = nil, nil, t
	r.q.items = append(r.q.items, item{agg: "each", table: figure.table, column: by, figure: &figure, at: i})
	r.take(i, k.to)
	r.takeWords("on", "average", "place")
	r.chosen = true
	r.note("on average")
	return true
}

// figureOfEach is the total whose average is asked for from a token on: a number
// of rows, or what adds up; nil when there is none.
func (r *reader) figureOfEach(i int) (item, *link) {
	end := phrase(r.tokens, i, "average|mean number|count of")
	if end < 0 && r.find("on average") > 0 {
		end = phrase(r.tokens, i, "how many")
	}
	if end > 0 {
		if k := r.linkFrom(end, nil); k != nil && r.isTable(k) != nil {
			return item{agg: "count", table: r.isTable(k)}, k
		}
		return item{}, nil
	}
	if end = phrase(r.tokens, i, "average|mean total? daily|weekly|monthly|quarterly|yearly|annual?"); end < 0 {
		return item{}, nil
	}
	k := r.linkAt(end)
	if k == nil || k.from != end || r.isTable(k) != nil || !r.isMeasure(k) || !r.addsUp(k, r.measureOf(k)) {
		return item{}, nil
	}
	return item{agg: "sum", column: r.measureOf(k)}, k
}

// readPiecesEach reads "the average number of items per order", where a column
// tells the pieces.
func (r *reader) readPiecesEach(i int) bool {
	end := phrase(r.tokens, i, "average|mean number|count of "+pieceWords)
	if end < 0 || r.q.groupTable == nil {
		return false
	}
	h := r.asHappening(r.q.groupTable)
	if h == nil || h.quantity == nil {
		return false
	}
	r.q.main, r.q.groupTable = h.table, nil
	r.q.items = append(r.q.items, item{agg: "avg", column: h.quantity, at: i})
	r.takeAll(i, end)
	r.chosen = true
	r.note("the average " + h.quantity.name)
	return true
}
