package rules

// readRanking reads "top 5 customers by total revenue": rows of a table, or values
// of a column, by a figure. The figure is shown where it is made of several rows.
func (r *reader) readRanking(from, to int, s superlative, limit int) bool {
	k := r.linkFrom(to, articles)
	if r.solo() || k == nil || r.lower(k.to) != "by" || r.linkAt(k.to) != nil {
		return false
	}
	ranked := r.rankedColumn(k)
	if ranked == nil {
		return false
	}
	figure, end := r.rankingFigure(k.to+1, ranked.table, r.isTable(k) == nil)
	if end < 0 {
		return false
	}
	r.takeLink(k)
	r.take(k.to, end)
	r.q.items = append(r.q.items, item{column: ranked, at: k.from})
	if r.isTable(k) != nil {
		r.q.main = ranked.table
	}
	if figure.agg != "" {
		r.q.items = append(r.q.items, figure)
		if r.isTable(k) != nil {
			r.q.groupTable = ranked.table
		} else {
			r.q.groups = append(r.q.groups, ranked)
		}
	}
	r.addSuperlative(figure, s.desc, limit, from, to)
	r.q.orders[len(r.q.orders)-1].shown = false
	return true
}

// rankedColumn is what shows the things of a ranking; nil where there is none.
func (r *reader) rankedColumn(k *link) *column {
	if t := r.isTable(k); t != nil {
		return nameColumn(t)
	}
	return r.columnOf(k, func(c *column) bool { return c.kind == kindText })
}

// rankingFigure reads what a ranking goes by, and gives the token after it, or -1.
func (r *reader) rankingFigure(i int, t *table, values bool) (item, int) {
	agg := ""
	for ; wordIs(r.lower(i), "the", "their", "of", "number", "count", "total", "overall", "combined", "average", "mean") && !r.isColumn(i); i++ {
		switch r.lower(i) {
		case "number", "count":
			agg = "count"
		case "total", "overall", "combined":
			if agg == "" {
				agg = "sum"
			}
		case "average", "mean":
			agg = "avg"
		}
	}
	if end := phrase(r.tokens, i, pieceWords+" sold|bought|ordered?"); end > 0 && agg == "" {
		if h := r.happeningOf(t); h != nil && h.table != t {
			return h.pieces(i), end
		}
	}
	k := r.linkFrom(i, nil)
	if k == nil {
		return item{}, -1
	}
	if counted := r.isTable(k); counted != nil && counted != t && (agg == "" || agg == "count") {
		return item{agg: "count", table: counted, at: i}, k.to
	}
	c := r.measureOf(k)
	if c == nil || !numericColumn(c) || agg == "count" {
		return item{}, -1
	}
	if agg == "" && (values || c.table != t && r.joins.manyOf(t, c.table)) {
		agg = "sum"
	}
	return item{agg: agg, column: c, at: i}, k.to
}

// someOf reads how many are asked for at the start of a question: "which 5
// customers have the highest …".
func (r *reader) someOf() int {
	for i := range r.tokens {
		n, end, ok := numberAt(r.tokens, i)
		if !ok || r.taken(i) || n < 2 || n >= 1000 || n != float64(int(n)) || !wordIs(r.lower(i-1), "which", "what", "the") {
			continue
		}
		if k := r.linkFrom(end, nil); k != nil && r.rankedColumn(k) != nil {
			r.take(i, end)
			return int(n)
		}
	}
	return 1
}
