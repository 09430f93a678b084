package rules

import "slices"

// readSuperlatives reads "the highest …", "the 3 largest …", "the most …".
func (r *reader) readSuperlatives() {
	for i := 0; i < len(r.tokens); i++ {
		s, ok := superlatives[r.lower(i)]
		if !ok || r.used[i] || r.at[i] != nil && r.at[i].to-r.at[i].from > 1 && r.at[i].from < i {
			continue
		}
		if wordIs(r.lower(i), "recent", "expensive", "populous", "populated", "populace") {
			if !wordIs(r.lower(i-1), "most", "least") {
				continue
			}
			if r.lower(i-1) == "least" {
				s.desc = !s.desc
			}
		}
		if r.lower(i-1) == "at" {
			continue
		}
		r.readSuperlative(i, s)
	}
}

func (r *reader) readSuperlative(i int, s superlative) {
	limit := 1
	from, to := i, i+1
	if n, _, ok := numberAt(r.tokens, i-1); ok && n >= 1 && n < 1000 && n == float64(int(n)) && i > 0 && !r.used[i-1] && !yearLike(n) {
		limit, from = int(n), i-1
	} else if n, end, ok := numberAt(r.tokens, i+1); ok && n >= 1 && n < 1000 && n == float64(int(n)) && !r.used[i+1] {
		limit, to = int(n), end
		// "top 3 largest"
		if _, again := superlatives[r.lower(end)]; again {
			to = end + 1
		}
	}
	w := r.lower(i)
	if wordIs(w, "most", "least") {
		if end := phrase(r.tokens, to, "common|commonly|frequent|frequently|popular|often|prevalent|repeated|times|used"); end > 0 {
			r.readMostFrequent(from, end, s, limit)
			return
		}
		// "most expensive": the next word says more.
		if _, more := superlatives[r.lower(to)]; more && !wordIs(r.lower(to), "top") {
			return
		}
	}
	k := r.linkFrom(to, set("of the number amount total one time different distinct car"))
	if k != nil && !stopsBetween(r.tokens, to, k.from) {
		if r.superlativeOf(k, from, to, s, limit) {
			return
		}
	}
	if k = r.linkBefore(from, copulas); k != nil {
		if c := r.measureOf(k); c != nil && (s.hint == "" || slices.ContainsFunc(hintColumns[s.hint], func(w string) bool { return slices.Contains(c.words, w) })) {
			r.takeLink(k)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
			return
		}
	}
	if s.hint != "" {
		if c := r.hinted(s.hint, measurable); c != nil {
			desc := s.desc
			if s.hint == "age" && !slices.Contains(c.words, "age") {
				desc = !desc
			}
			r.addSuperlative(item{column: c, at: from}, desc, limit, from, to)
			return
		}
	}
	if k == nil {
		k = r.linkFrom(to, articles)
	}
	if wordIs(w, "largest", "biggest", "smallest") {
		if c := r.hinted("size", numericColumn); c != nil {
			r.doubt(0.1)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
		}
	}
}

func stopsBetween(tokens []token, from, to int) bool {
	for i := from; i < to; i++ {
		if tokens[i].mark && tokens[i].lower != "-" {
			return true
		}
	}
	return false
}

// superlativeOf takes what follows a superlative as its measure.
func (r *reader) superlativeOf(k *link, from, to int, s superlative, limit int) bool {
	t := r.isTable(k)
	c := r.columnOf(k, measurable)
	if c != nil && (t == nil || t != c.table || columnScore(k, c) >= 0.95 && !isKeyName(c)) {
		if t == nil || columnScore(k, c) >= 0.95 {
			r.takeLink(k)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
			return true
		}
	}
	counted := wordIs(r.lower(to-1), "most", "fewest", "least") || phrase(r.tokens, to, "number|amount of") > 0
	if t != nil && counted && len(r.tables) > 1 {
		r.takeLink(k)
		r.addSuperlative(item{agg: "count", table: t, at: from}, s.desc, limit, from, to)
		return true
	}
	if t == nil && counted && len(k.columns) > 0 {
		// "the most languages": how many there are, not the greatest.
		if c := r.columnOf(k, nil); c != nil && !measurable(c) {
			r.takeLink(k)
			r.addSuperlative(item{agg: "count", table: c.table, at: from}, s.desc, limit, from, to)
			return true
		}
	}
	return false
}

// readMostFrequent reads "the most common …".
func (r *reader) readMostFrequent(from, to int, s superlative, limit int) {
	r.take(from, to)
	k := r.linkFrom(to, articles)
	if k != nil {
		if c := r.columnOf(k, nil); c != nil {
			r.takeLink(k)
			r.q.items = append(r.q.items, item{column: c, at: k.from})
		}
	}
	r.q.orders = append(r.q.orders, order{item{agg: "count", at: from}, s.desc})
	r.q.limit = limit
	r.note("by how often it occurs")
}

func (r *reader) addSuperlative(i item, desc bool, limit, from, to int) {
	r.take(from, to)
	r.q.orders = append(r.q.orders, order{i, desc})
	r.q.limit = limit
	name := "their number"
	if i.column != nil {
		name = i.column.name
	}
	if desc {
		r.note("the greatest " + name)
	} else {
		r.note("the least " + name)
	}
}
