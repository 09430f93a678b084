package rules

import (
	"slices"
	"strings"
)

// readSuperlatives reads "the highest …", "the 3 largest …", "the most …".
func (r *reader) readSuperlatives() {
	for i := 0; i < len(r.tokens); i++ {
		s, ok := superlatives[r.lower(i)]
		if !ok || r.taken(i) || r.linkAt(i) != nil && r.linkAt(i).to-r.linkAt(i).from > 1 && r.linkAt(i).from < i {
			continue
		}
		if wordIs(r.lower(i), "recent", "expensive", "populous", "populated") {
			if !wordIs(r.lower(i-1), "most", "least") {
				continue
			}
			if r.lower(i-1) == "least" {
				s.desc = !s.desc
			}
		}
		if r.lower(i-1) == "at" || r.lower(i) == "bottom" && r.solo() {
			continue
		}
		r.readSuperlative(i, s)
	}
}

func (r *reader) readSuperlative(i int, s superlative) {
	limit := 1
	from, to := i, i+1
	if n := ordinals[r.lower(i-1)]; n > 1 && !r.taken(i-1) {
		r.q.offset, from = n-1, i-1
	} else if r.lower(i-1) == "next" || r.tokens[max(0, i-1)].isNumber && wordIs(strings.TrimLeft(r.lower(i-1), "0123456789"), "nd", "rd", "th") && i > 0 {
		r.q.offset, from = 1, i-1
		if r.tokens[i-1].isNumber {
			r.q.offset = int(r.tokens[i-1].number) - 1
		}
	}
	if from < i {
		r.take(from, i)
	}
	if n, _, ok := numberAt(r.tokens, i-1); ok && from == i && n >= 1 && n < 1000 && n == float64(int(n)) && i > 0 && !r.taken(i-1) && !yearLike(n) {
		limit, from = int(n), i-1
	} else if n, end, ok := numberAt(r.tokens, i+1); ok && n >= 1 && n < 1000 && n == float64(int(n)) && !r.taken(i+1) {
		limit, to = int(n), end
		if _, again := superlatives[r.lower(end)]; again {
			// "top 3 largest": the next word says of what.
			r.take(i, end)
			r.few = limit
			return
		}
	}
	if r.few > 0 {
		limit, r.few = r.few, 0
	}
	if limit == 1 && !r.solo() {
		limit = r.someOf()
	}
	if limit == 1 && s.hint == "date" && r.asksForLatest(i, to) {
		limit = longRanking
	}
	w := r.lower(i)
	if wordIs(w, "top", "best", "bottom", "worst") && r.readRanking(from, to, s, limit) {
		return
	}
	if wordIs(w, "most", "least") {
		if end := phrase(r.tokens, to, "common|commonly|frequent|frequently|popular|often|prevalent|repeated|times|used"); end > 0 {
			r.readMostFrequent(from, end, s, limit)
			return
		}
		// "most expensive": the next word says more.
		if _, more := superlatives[r.lower(to)]; more && !wordIs(r.lower(to), "top") {
			r.few = limit
			r.take(from, i+1)
			return
		}
	}
	if figure := aggregates[r.lower(to)]; (figure == "sum" || figure == "avg") && !r.taken(to) {
		// "the highest total amount": of each group.
		if c, end := r.dealValue(to + 1); c != nil {
			r.take(to, end)
			r.addSuperlative(item{agg: figure, column: c, at: from}, s.desc, limit, from, to)
			return
		}
		if k := r.linkFrom(to+1, articles); k != nil {
			if c := r.measureOf(k); c != nil && c.kind == kindNumber {
				r.take(to, k.to)
				r.addSuperlative(item{agg: figure, column: c, at: from}, s.desc, limit, from, to)
				return
			}
		}
	}
	k := r.linkFrom(to, set("of the number amount total one time different distinct"))
	if next := r.linkAfter(k); !r.solo() && next != nil && next.from == k.to && r.isTable(next) != nil && r.isValueOnly(k) {
		k = next // "the most cancelled orders": a condition on what is counted
	}
	for k != nil && k.from > to && len(k.columns) == 0 && len(k.tables) == 0 && r.linkFrom(k.to, nil) != nil {
		k = r.linkFrom(k.to, nil) // "the largest number of Roman owners"
	}
	if k != nil && !stopsBetween(r.tokens, to, k.from) {
		if r.superlativeOf(k, from, to, s, limit) {
			return
		}
	}
	if o := r.measureAhead(to); o != nil {
		if r.superlativeOf(o, from, to, s, limit) {
			return
		}
	}
	if k = r.linkBefore(from, set("is are was were the a an")); k != nil {
		if c := r.measureOf(k); c != nil && (s.hint == "" || slices.ContainsFunc(hintColumns[s.hint], func(w string) bool { return slices.Contains(c.words, w) })) {
			r.takeLink(k)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
			return
		}
	}
	if s.hint != "" {
		if c := r.hinted(s.hint, measurable); c != nil {
			defer func() { r.q.orders[len(r.q.orders)-1].shown = false }()
			r.addSuperlative(item{column: c, at: from}, s.desc != turned(s, c), limit, from, to)
			return
		}
	}
	if k == nil {
		k = r.linkFrom(to, articles)
	}
	if wordIs(w, "most", "fewest", "least") && to < len(r.tokens) && (k == nil || k.from > to || weakLink(k)) && !r.tokens[to].mark && !r.taken(to) {
		if r.solo() {
			for _, c := range r.tables[0].columns {
				if c.kind == kindNumber && slices.Contains(c.words, "total") {
					r.doubt(0.05)
					if r.linkAt(to) == nil {
						to++
					}
					r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
					r.q.orders[len(r.q.orders)-1].shown = false
					return
				}
			}
		}
		// "the most prizes": what no column tells is counted.
		var counted *table
		for _, m := range r.spoken {
			if m.link.from > to {
				counted = m.table
				break
			}
		}
		r.doubt(0.1)
		if r.linkAt(to) == nil {
			to++
		} else {
			to = r.linkAt(to).to
		}
		r.addSuperlative(item{agg: "count", table: counted, at: from}, s.desc, limit, from, to)
		return
	}
	if hint := adjectiveHints[r.lower(from-1)]; wordIs(r.lower(from-1), "the") || hint != "" {
		// "who earns the most"
		if hint == "" {
			hint = adjectiveHints[r.lower(from-2)]
		}
		if c := r.hinted(hint, numericColumn); c != nil {
			r.take(from-2, from)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
			r.q.orders[len(r.q.orders)-1].shown = false
			return
		}
	}
	if wordIs(w, "most", "least") && (to >= len(r.tokens) || r.tokens[to].mark) && k == nil {
		// "which venue was used the most": how often it occurs.
		r.doubt(0.05)
		if before := skipBack(r.tokens, from-1, "the"); !r.solo() && before >= 0 && !wordIs(r.lower(before), "used", "listed", "appears", "appeared", "occurs", "occurred", "appear", "occur") && r.linkAt(before) == nil {
			r.doubt(0.4) // done the most: what was done is not known
		}
		r.takeWords("used", "listed", "appears", "appeared", "occurs", "occurred", "appear", "occur")
		r.addSuperlative(item{agg: "count", at: from}, s.desc, limit, from, to)
		return
	}
	if wordIs(w, "largest", "biggest", "smallest") {
		if c := r.hinted("size", numericColumn); c != nil {
			r.doubt(0.1)
			r.addSuperlative(item{column: c, at: from}, s.desc, limit, from, to)
			r.q.orders[len(r.q.orders)-1].shown = false
			return
		}
		r.readBiggest(from, to, s, limit)
	}
}

// skipBack goes back over some words.
func skipBack(tokens []token, i int, words ...string) int {
	for i >= 0 && slices.Contains(words, tokens[i].lower) {
		i--
	}
	return i
}

// weakLink reports whether a link only resembles names.
func weakLink(k *link) bool {
	return len(k.tables) == 0 && !slices.ContainsFunc(k.columns, func(m columnMatch) bool { return m.score >= 0.75 })
}

func stopsBetween(tokens []token, from, to int) bool {
	for i := from; i < to; i++ {
		if tokens[i].mark && tokens[i].lower != "-" {
			return true
		}
	}
	return false
}

// turned reports whether a column measures the opposite of what a superlative
// speaks of: the oldest has the least year of birth, the fastest the least time.
func turned(s superlative, c *column) bool {
	return s.hint == "age" && !slices.Contains(c.words, "age") || s.hint == "speed" && !slices.Contains(c.words, "speed")
}

// measureAhead is a column of figures a few words after a superlative: "the most
// people in attendance".
func (r *reader) measureAhead(i int) *link {
	for n := 0; n < 4 && i < len(r.tokens) && !r.tokens[i].mark; n++ {
		k := r.linkAt(i)
		if k == nil {
			i++
			continue
		}
		if r.taken(i) || len(k.columns) == 0 {
			return nil
		}
		if c := r.measureOf(k); c != nil && c.kind != kindDate {
			return k
		}
		return nil
	}
	return nil
}

// superlativeOf takes what follows a superlative as its measure.
func (r *reader) superlativeOf(k *link, from, to int, s superlative, limit int) bool {
	t := r.tableFor(k)
	c := r.columnOf(k, func(c *column) bool { return measurable(c) && !r.bareKey(k, c) })
	if c != nil && (t == nil || t != c.table || columnScore(k, c) >= 0.95 && !isKeyName(c)) {
		if t == nil || columnScore(k, c) >= 0.95 {
			if wordIs(r.lower(to-1), "most", "fewest", "least") && columnScore(k, c) < 0.75 {
				return false
			}
			r.take(to, k.to)
			if r.negatedAt(from) {
				// "that do not have the lowest": any but the least.
				op, figure := ">", "min"
				if s.desc {
					op, figure = "<", "max"
				}
				r.take(from, to)
				r.q.conds = append(r.q.conds, cond{column: c, op: op, sub: figure, at: from})
				return true
			}
			r.addSuperlative(item{column: c, at: from}, s.desc != turned(s, c), limit, from, to)
			return true
		}
	}
	counted := wordIs(r.lower(to-1), "most", "fewest", "least") || phrase(r.tokens, to, "number|amount of") > 0
	if t != nil && counted {
		r.takeCounted(to, k)
		r.addSuperlative(item{agg: "count", table: t, at: from}, s.desc, limit, from, to)
		return true
	}
	if t == nil && counted && len(k.columns) > 0 {
		// "the most breeds": how many there are, not the greatest.
		if c := r.columnOf(k, nil); c != nil && !measurable(c) {
			r.takeCounted(to, k)
			r.addSuperlative(item{agg: "count", table: c.table, at: from}, s.desc, limit, from, to)
			return true
		}
	}
	return false
}

// takeCounted marks what is counted as understood, but no value before it.
func (r *reader) takeCounted(from int, k *link) {
	for i := from; i < k.from; i++ {
		if r.linkAt(i) == nil {
			r.take(i, i+1)
		}
	}
	r.takeLink(k)
}

// readMostFrequent reads "the most common …".
func (r *reader) readMostFrequent(from, to int, s superlative, limit int) {
	if r.lower(to-1) == "popular" && r.readPopular(from, to, s, limit) {
		return
	}
	r.take(from, to)
	k := r.linkFrom(to, articles)
	if k != nil && r.isTable(k) != nil {
		if next := r.linkFrom(k.to, nil); next != nil && next.from == k.to && len(next.columns) > 0 {
			r.takeLink(k)
			k = next
		}
	}
	if k != nil {
		if c := r.columnOf(k, nil); c != nil {
			r.takeLink(k)
			r.q.items = append(r.q.items, item{column: c, at: k.from})
		}
	}
	r.q.orders = append(r.q.orders, order{item: item{agg: "count", at: from}, desc: s.desc})
	r.q.limit = limit
	r.note("by how often it occurs")
}

func (r *reader) addSuperlative(i item, desc bool, limit, from, to int) {
	r.take(from, to)
	if i.column != nil && i.agg == "" && r.find("in total|altogether|overall|all") > 0 && len(r.spoken) > 0 && r.joins.manyOf(r.spoken[0].table, i.column.table) {
		i.agg = "sum"
	}
	if i.agg == "" && i.column != nil && r.overGroups(i.column, from, to) {
		i.agg = "sum"
	}
	shown := i.column != nil && i.agg == "" && r.zones.asked[from] && !r.asksWho()
	r.q.orders = append(r.q.orders, order{item: i, desc: desc, shown: shown})
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
