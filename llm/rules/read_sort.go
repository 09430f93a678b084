package rules

// readSorting reads "ordered by …" and "in descending order of …".
func (r *reader) readSorting() {
	for i := range r.tokens {
		if r.taken(i) {
			continue
		}
		end := -1
		switch {
		case phrase(r.tokens, i, "ordered|sorted|order|sort|arranged|arrange|rank|ranked") > 0 && !r.isSortNoun(i):
			end = i + 1
		case phrase(r.tokens, i, "in the? ascending|descending|increasing|decreasing|alphabetical|alphabetic|chronological|lexicographical|reverse order?") > 0:
			end = i + 1
		case r.listsBy(i):
			end = i
		default:
			continue
		}
		if wordIs(r.lower(i), "sorted", "arranged") {
			r.take(i, i+1)
		}
		r.readSortKey(i, end)
		return
	}
}

// listsBy reports whether rows are listed by a figure from a token on: "list the
// products by price".
func (r *reader) listsBy(i int) bool {
	if r.solo() || r.lower(i) != "by" || r.linkAt(i) != nil || !wordIs(r.lower(0), "list", "show", "display", "give") {
		return false
	}
	rows, k := r.linkAt(i-1), r.linkFrom(i+1, set("the their"))
	return rows != nil && k != nil && (r.isTable(rows) != nil || r.isValueOnly(rows)) && r.isMeasure(k) && r.isTable(k) == nil && r.endsClause(k.to)
}

// isSortNoun reports whether a word such as "order" is what the data holds and not
// what is to be done with it: "the order", "average order amount".
func (r *reader) isSortNoun(i int) bool {
	if wordIs(r.lower(i-1), "the", "in", "per", "each", "every", "an") {
		return true
	}
	k := r.linkAt(i)
	switch {
	case k == nil || wordIs(r.lower(i), "sorted", "arranged") && r.lower(i+1) == "by":
		return false
	case !wordIs(r.lower(i), "order", "sort"):
		return true
	}
	return r.lower(i+1) != "by" && (r.isTable(k) != nil || k.to > i+1)
}

func wordIs(w string, words ...string) bool {
	for _, x := range words {
		if w == x {
			return true
		}
	}
	return false
}

// directionWords say which way rows are sorted.
var directionWords = set("ascending descending increasing decreasing alphabetical alphabetic chronological lexicographical reverse asc desc order")

// readSortKey reads the column and direction of a sorting clause that starts at i.
func (r *reader) readSortKey(i, from int) {
	desc, stop := false, min(len(r.tokens), i+16)
	var key *link
	keyFrom := from
	for j := from; j < stop && !wordIs(r.lower(j), ".", "?", ";"); j++ {
		if wordIs(r.lower(j), "by", "of") && r.linkAt(j) == nil {
			keyFrom = j + 1
			break
		}
	}
	for j := from; j < stop; j++ {
		w := r.lower(j)
		switch w {
		case "descending", "decreasing", "reverse", "desc":
			desc = true
		case ".", "?", ";":
			stop = j
			continue
		case "and", ",":
			if key != nil {
				stop = j
				continue
			}
		case "from":
			if s, ok := superlatives[r.lower(j+1)]; ok {
				desc = s.desc
				r.take(j, j+4)
			} else if s, ok := superlatives[r.lower(j+2)]; ok {
				desc = s.desc
				r.take(j, j+5)
			} else if wordIs(r.lower(j+1), "high", "old", "large", "big", "most", "new", "late", "long") {
				desc = true
				r.take(j, j+4)
			}
		}
		if k := r.linkAt(j); key == nil && j >= keyFrom && k != nil && k.from == j && !r.taken(j) && len(k.columns) > 0 {
			if t := r.isTable(k); t == nil || len(k.columns) > 0 && r.linkFrom(k.to, nil) == nil {
				key = k
			}
		}
	}
	for j := i; j < stop; j++ {
		// What rows are to be sorted by and is not in the data stays unread.
		if r.linkAt(j) == nil && (key != nil || keyFrom == from || j < keyFrom || directionWords[r.lower(j)]) {
			r.take(j, j+1)
		}
	}
	if key == nil {
		// "in alphabetical order" sorts by what is shown.
		r.q.orders = append(r.q.orders, order{desc: desc})
		return
	}
	if c := r.columnOf(key, nil); c != nil {
		r.takeLink(key)
		r.q.orders = append(r.q.orders, order{item: item{column: c}, desc: desc, link: key})
		r.note("sorted by " + c.name)
	}
}

// readGroups reads "for each …" and "per …".
func (r *reader) readGroups() {
	for i := range r.tokens {
		if end := phrase(r.tokens, i, "for|across all? of? the? different|various|distinct"); end > 0 && !r.taken(i) {
			if k := r.linkFrom(end, set("number of the kinds types")); k != nil {
				r.take(i, k.from)
				r.groupBy(k)
				continue
			}
		}
		if end := phrase(r.tokens, i, "distributed|split|spread|divided over|across|among|between|by the?"); end > 0 && !r.solo() && !r.taken(i) {
			if k := r.linkFrom(end, nil); k != nil {
				r.take(i, end)
				r.groupBy(k)
				continue
			}
		}
		if r.lower(i) == "by" && !r.taken(i) && r.linkAt(i) == nil && i > 0 && (r.linkAt(i-1) != nil || wordIs(r.lower(i-1), "rate", "rates") || r.tokens[i-1].isNumber && !r.solo()) && (wordIs(r.lower(i-1), "rate", "rates") || r.find("average|mean|total|sum|number|count|maximum|minimum") >= 0 || r.isMeasure(r.linkAt(i-1)) || r.find("how many") >= 0 && !r.solo() || r.countsAll(r.linkAt(i-1)) || r.tokens[i-1].isNumber && r.countsAll(r.linkAt(0))) {
			// "average salary by gender"
			k := r.linkFrom(i+1, set("the"))
			if c := r.columnOf(k, nil); c != nil && c.kind == kindText && len(k.values) == 0 && r.isTable(k) == nil {
				r.take(i, i+1)
				r.groupBy(k)
				r.groupMore(k.to)
				r.sums = true
				continue
			}
		}
		if r.taken(i) || !wordIs(r.lower(i), "each", "every", "per") || r.linkAt(i) != nil && r.linkAt(i).from < i {
			continue
		}
		skip := set("of the different distinct type kind single individual")
		k := r.linkFrom(i+1, skip)
		if k == nil {
			r.take(i, i+1)
			continue
		}
		if r.lower(i) == "per" && i > 0 && r.linkAt(i) != nil {
			continue
		}
		r.take(i, i+1)
		r.groupBy(k)
		r.groupMore(k.to)
		r.sums = r.sums || r.lower(i) == "per"
	}
}

// groupMore reads what else there are groups of after a token: "and channel".
func (r *reader) groupMore(i int) {
	for !r.solo() && wordIs(r.lower(i), "and", ",") {
		k := r.linkFrom(i+1, set("per by each every"))
		c := r.columnOf(k, nil)
		if c == nil || !r.endsClause(k.to) || r.isValueOnly(k) || r.isTable(k) == nil && (c.kind != kindText || columnScore(k, c) < 0.75) {
			return
		}
		r.take(i, k.from)
		r.groupBy(k)
		i = k.to
	}
}

// countsAll reports whether a question starts with a table, and so speaks of how
// many rows it has: "orders by status".
func (r *reader) countsAll(k *link) bool {
	return k != nil && k.from == 0 && r.isTable(k) != nil && !r.solo()
}

// isMeasure reports whether a link names a column of figures, rather than of
// keys.
func (r *reader) isMeasure(k *link) bool {
	c := r.measureOf(k)
	return c != nil && !r.solo() && numericColumn(c) && !isKeyName(c)
}

func (r *reader) groupBy(k *link) {
	t := r.isTable(k)
	next := r.linkFrom(k.to, nil)
	if t != nil && next != nil && len(next.columns) > 0 && r.isTable(next) == nil {
		// "each dog's breed": the column is what is grouped by.
		if c := r.columnOf(next, nil); c != nil && c.table == t && isKeyOrName(c) {
			r.q.groupTable = t
			return
		}
	}
	if t != nil {
		r.q.groupTable = t
		r.takeLink(k)
		r.note("for each " + join(t.words))
		return
	}
	if c := r.columnOf(k, nil); c != nil {
		if !r.solo() && c.kind == kindNumber && !c.integers && !r.joins.refs[c] {
			r.doubt(0.5) // "kilos per square metre" is a ratio
		}
		r.q.groups = append(r.q.groups, c)
		r.takeLink(k)
		r.note("for each " + c.name)
	}
}

func isKeyOrName(c *column) bool { return isKeyName(c) || c == nameColumn(c.table) }
