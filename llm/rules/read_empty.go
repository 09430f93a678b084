package rules

// readEmpty reads "out of stock" and "in stock": whether the figure of a column is
// none or some.
func (r *reader) readEmpty() {
	if r.solo() {
		return
	}
	if r.find("how many") == 2 && r.find("are|is left|available") > 0 {
		r.doubt(0.5) // what is left is not what there is
	}
	for i := range r.tokens {
		if r.taken(i) {
			continue
		}
		op, end := "=", phrase(r.tokens, i, "run|runs|ran|sold? out of")
		if end < 0 {
			end = phrase(r.tokens, i, "not|no longer? in")
		}
		if end < 0 {
			end = phrase(r.tokens, i, "no|zero|without any?")
		}
		some := false
		if end < 0 && phrase(r.tokens, i-1, "have|has|had|with a|an|any|some") > 0 {
			op, end, some = ">", i+1, true // "loans that have a fine"
		}
		if end < 0 && wordIs(r.lower(i-1), "is", "are", "still", "currently", "have", "was", "were", "left") {
			op, end = ">", phrase(r.tokens, i, "still|currently? left? in")
		}
		if end < 0 {
			continue
		}
		k := r.linkFrom(end, set("the"))
		if k == nil {
			continue
		}
		c := r.columnOf(k, func(c *column) bool {
			return c.kind == kindNumber && (c.integers || some) && !r.joins.refs[c] && !isKeyName(c) && !c.years()
		})
		if c == nil || r.isTable(k) != nil || columnScore(k, c) < 0.75 || !r.endsClause(k.to) {
			continue
		}
		r.readLevel(i, k, c, op)
		return
	}
}

// readLevel takes a column whose figure is none or some as a condition, or adds it
// up where pieces are counted: "how many items are in stock".
func (r *reader) readLevel(i int, k *link, c *column, op string) {
	at := r.find("how many")
	end := -1
	if at >= 0 {
		end = phrase(r.tokens, at, pieceWords)
	}
	if named := r.linkFrom(max(at, 0), nil); at > 0 && named != nil && r.isValueOnly(named) && end < 0 {
		end = at // "how many lamps are in stock"
	}
	if op == ">" && end > 0 {
		r.q.items = append(r.q.items, item{agg: "sum", column: c, at: at - 2})
		r.q.main = c.table
		r.take(at-2, end)
		r.note("the total " + c.name)
	} else {
		r.q.conds = append(r.q.conds, cond{column: c, op: op, low: 0, at: i})
		if r.q.negations == nil {
			r.q.negations = map[int]bool{}
		}
		r.q.negations[i] = true
		r.mayBeNone = true
		r.note(c.name + " " + op + " 0")
	}
	r.take(i, k.to)
	r.takeWords("left", "longer")
}

// endsClause reports whether nothing follows that says more of what stood before.
func (r *reader) endsClause(i int) bool {
	return i >= len(r.tokens) || r.tokens[i].mark || wordIs(r.lower(i), "and", "or", "left", "now", "right", "at", "in", "of", "for", "by", "per", "from")
}
