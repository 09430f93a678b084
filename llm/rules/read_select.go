package rules

import (
	"slices"
	"strings"
)

// readSelection reads what is to be shown: the columns and tables that no
// condition took.
func (r *reader) readSelection() {
	if end := r.find("all? the? information|details|data|records|everything about|of|on|for"); end > 0 {
		if k := r.linkFrom(end, articles); k != nil {
			if t := r.isTable(k); t != nil && len(r.q.items) == 0 {
				r.q.main, r.q.star = t, true
				r.take(0, k.to)
				return
			}
		}
	}
	if r.find("distinct|different|unique|distinctive") > 0 {
		r.q.distinct = true
		for i := range r.tokens {
			if wordIs(r.lower(i), "distinct", "different", "unique", "distinctive") {
				r.take(i, i+1)
			}
		}
	}
	for n, k := range r.links {
		if !r.free(k) || len(k.columns) == 0 && len(k.tables) == 0 {
			continue
		}
		if t := r.isTable(k); t != nil {
			r.takeLink(k)
			// "the makers and models": the things themselves are shown too.
			if r.zones.asked[k.from] && n+1 < len(r.links) && r.listedAfter(k, r.links[n+1]) && r.isTable(r.links[n+1]) == nil && r.free(r.links[n+1]) &&
				!slices.ContainsFunc(r.q.items, func(i item) bool { return i.at < k.from }) {
				if c := nameColumn(t); c != nil {
					r.q.items = append(r.q.items, item{column: c, at: k.from, link: k})
				}
			}
			continue
		}
		c := r.columnOf(k, nil)
		if c == nil {
			continue
		}
		if next := r.linkFrom(k.to, nil); next != nil && next.from == k.to && len(next.columns) > 0 && len(k.tables) > 0 {
			// "maker full name": the first word says whose.
			r.takeLink(k)
			continue
		}
		if !r.zones.shown[k.from] && len(r.q.items)+len(r.q.orders) > 0 {
			r.doubt(0.05)
			r.takeLink(k)
			continue
		}
		r.takeLink(k)
		if n > 0 && r.links[n-1].to == k.from && !r.isLast(r.links[n-1]) && r.lower(k.from) == "name" && len(r.q.items) > 0 && r.q.items[len(r.q.items)-1].link == r.links[n-1] {
			continue // "continent name" is the continent
		}
		if last := len(r.q.items) - 1; r.solo() && last >= 0 && r.q.items[last].agg == "" && (r.q.items[last].link == nil || !r.listedAfter(r.q.items[last].link, k)) {
			continue // one thing is asked for, unless there is a list
		}
		if !slices.ContainsFunc(r.q.items, func(i item) bool { return i.agg == "" && sameColumn(r.joins, i.column, c) }) {
			r.q.items = append(r.q.items, item{column: c, at: k.from, link: k})
		}
	}
	slices.SortStableFunc(r.q.items, func(a, b item) int { return a.at - b.at })
}

// isLast reports whether a link names a table.
func (r *reader) isLast(k *link) bool { return r.isTable(k) != nil }

// sameColumn reports whether two columns are the same, or one refers to the
// other under the same name.
func sameColumn(joins *joinGraph, a, b *column) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || !slices.Equal(a.words, b.words) {
		return false
	}
	return slices.ContainsFunc(joins.edges, func(e edge) bool { return e.many == a && e.one == b || e.many == b && e.one == a })
}

// find finds a phrase anywhere; it gives the token after it, or -1.
func (r *reader) find(pattern string) int {
	for i := range r.tokens {
		if end := phrase(r.tokens, i, pattern); end > 0 {
			return end
		}
	}
	return -1
}

// settle completes the query from what was read.
func (r *reader) settle() {
	q := r.q
	r.settleMain()
	if r.raw != "" {
		return
	}
	if r.solo() && q.main != nil {
		r.settleSolo()
	}
	r.settleSuperlatives()
	r.settleItems()
	r.settleAbsence()
	r.settleOr()
	r.settleBoth()
	r.settleDistinct()
	if r.inner > 0 {
		r.settleInner()
	}
	for i := range q.orders {
		if k := q.orders[i].link; k != nil {
			for _, it := range q.items {
				if it.agg == "" && columnScore(k, it.column) >= 0.5 {
					q.orders[i].item.column = it.column
				}
			}
		}
		if q.orders[i].item.column == nil && q.orders[i].item.agg == "" {
			if len(q.items) > 0 && q.items[0].agg == "" {
				q.orders[i].item = q.items[0]
			}
		}
	}
	q.orders = slices.DeleteFunc(q.orders, func(o order) bool { return o.item.column == nil && o.item.agg == "" })
}

// asksWhich reports whether the question asks for a thing, not for a figure.
func (r *reader) asksWhich() bool {
	return slices.ContainsFunc(r.tokens, func(t token) bool {
		return t.lower == "who" || t.lower == "which" || t.lower == "where" || t.lower == "when"
	})
}

// settleSolo cleans up what was read of a single table.
func (r *reader) settleSolo() {
	q := r.q
	counted := slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "count" })
	if i := slices.IndexFunc(q.items, func(i item) bool {
		return i.agg == "" && numericColumn(i.column) && i.link != nil && !r.joins.refs[i.column]
	}); counted && i >= 0 && q.items[slices.IndexFunc(q.items, func(i item) bool { return i.agg == "count" })].column == nil &&
		slices.ContainsFunc(q.conds, func(c cond) bool { return c.op == "in" && !c.negated && c.column.unique }) {
		// "how many goals has Rex scored", of one row: what it says.
		q.items = []item{q.items[i]}
		counted = false
	}
	if counted && len(q.groups) == 0 {
		// Names beside a number of rows only say what is counted.
		q.items = slices.DeleteFunc(q.items, func(i item) bool { return i.agg != "count" })
		q.items = q.items[:1]
		q.orders, q.limit = nil, 0
	}
	// Part of the very values that are asked for is context, not a condition.
	q.conds = slices.DeleteFunc(q.conds, func(c cond) bool {
		return c.op == "in" && !c.exact && !c.negated && len(c.texts) > 1 && c.link != nil && len(c.link.values) == 1 &&
			(counted && q.items[0].column == c.column || !counted && len(q.items) == 1 && q.items[0].column == c.column)
	})
	if !counted {
		// What is known already is not asked for.
		q.items = slices.DeleteFunc(q.items, func(i item) bool {
			return i.agg == "" && slices.ContainsFunc(q.conds, func(c cond) bool { return c.column == i.column && c.op == "in" && !c.negated && len(c.texts) == 1 })
		})
	}
	r.leaveOutTotals(counted)
	r.settleWhere(counted)
	if q.position != nil {
		q.orders, q.limit = nil, 0
		if q.position.offset != 0 && len(q.items) == 0 && !slices.ContainsFunc(r.tokens, func(t token) bool { return t.lower == "where" || t.lower == "when" }) {
			q.items = append(q.items, item{column: q.position.anchor.column})
		}
		if counted && q.position.offset == 0 {
			q.position = nil
			r.doubt(0.3)
		}
	}
	if r.asksYesNo() && len(q.conds) > 0 && !counted && q.position == nil {
		q.items, q.orders, q.limit = []item{{agg: "any"}}, nil, 0
		r.doubt(0.1)
	}
	if len(q.items) > 1 && !q.aggregated() && len(q.orders) > 0 {
		q.items = q.items[:1]
	}
	for i := range q.orders {
		if c := q.orders[i].item.column; c != nil && q.limit > 0 && backwards(c, r) && !r.chosen {
			q.orders[i].desc = !q.orders[i].desc
		}
	}
	for i := range q.items {
		// "how many points did A and B have": together.
		if q.items[i].sums && r.find("both|each") < 0 && slices.ContainsFunc(q.conds, func(c cond) bool { return c.op == "in" && c.exact && len(c.texts) > 1 }) {
			q.items[i].agg = "sum"
		}
	}
	r.settlePosition()
}

// settleInner moves the conditions after a comparison with a figure into it:
// they say what the figure is of.
func (r *reader) settleInner() {
	at := r.inner - 1
	i := slices.IndexFunc(r.q.conds, func(c cond) bool { return c.at == at && c.sub != "" })
	if i < 0 {
		return
	}
	var rest []cond
	for _, c := range r.q.conds {
		if c.at > at && r.sameSentence(at, c.at) && c.sub == "" {
			r.q.conds[i].subConds = append(r.q.conds[i].subConds, c)
		}
	}
	for _, c := range r.q.conds {
		if !(c.at > at && r.sameSentence(at, c.at) && c.sub == "") {
			rest = append(rest, c)
		}
	}
	r.q.conds = rest
}

// totals are what rows that add up others are called.
var totals = set("total totals overall sum combined average")

// leaveOutTotals leaves out rows that add up the others, where rows are counted,
// added up or compared.
func (r *reader) leaveOutTotals(counted bool) {
	q := r.q
	if !counted && len(q.orders) == 0 && !q.aggregated() && q.position == nil {
		return
	}
	for _, c := range q.main.columns[:min(3, len(q.main.columns))] {
		if c.kind != kindText {
			continue
		}
		var texts []string
		for i, v := range c.normal {
			if w := strings.TrimPrefix(strings.TrimPrefix(v, "grand "), "league "); totals[w] {
				texts = append(texts, c.values[i])
			}
		}
		if len(texts) > 0 && !slices.ContainsFunc(q.conds, func(x cond) bool { return x.column == c && slices.Contains(x.texts, texts[0]) }) {
			q.conds = append(q.conds, cond{column: c, op: "in", texts: texts, negated: true, at: len(r.tokens), exact: true, orNull: true})
		}
	}
}

// settleWhere shows a place for where and a date for when, whatever else is
// named.
func (r *reader) settleWhere(counted bool) {
	q := r.q
	w := r.lower(0)
	if counted || !wordIs(w, "where", "when") || len(q.items) == 0 {
		return
	}
	fits := func(c *column) bool {
		return slices.ContainsFunc(askedFor[w], func(word string) bool { return slices.Contains(c.words, word) }) || w == "when" && c.kind == kindDate
	}
	if slices.ContainsFunc(q.items, func(i item) bool { return i.column != nil && fits(i.column) }) {
		return
	}
	if c := r.askedColumn(q.main); c != nil && fits(c) {
		q.items = []item{{column: c}}
	}
}

func (r *reader) settleMain() {
	q := r.q
	if q.main != nil {
		return
	}
	for _, i := range q.items {
		if i.column != nil && i.agg == "" {
			q.main = i.column.table
			return
		}
	}
	for _, m := range r.spoken {
		if !r.onlyCounted(m.table) {
			q.main = m.table
			return
		}
	}
	switch {
	case len(q.items) > 0 && q.items[0].column != nil:
		q.main = q.items[0].column.table
	case len(q.conds) > 0:
		q.main = q.conds[0].column.table
	case len(q.orders) > 0 && q.orders[0].item.column != nil:
		q.main = q.orders[0].item.column.table
	case len(r.tables) == 1:
		q.main = r.tables[0]
	}
}

// onlyCounted reports whether a table is named only to be counted.
func (r *reader) onlyCounted(t *table) bool {
	for _, o := range r.q.orders {
		if o.item.table == t {
			return true
		}
	}
	for _, h := range r.q.having {
		if h.table == t {
			return true
		}
	}
	return slices.ContainsFunc(r.q.absent, func(a absence) bool { return a.table == t })
}

// settleSuperlatives decides between the greatest row and the greatest value.
func (r *reader) settleSuperlatives() {
	q := r.q
	if len(q.orders) == 0 || q.limit == 0 {
		return
	}
	plain := slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && !i.sums })
	if q.aggregated() && !plain && !q.orders[0].shown && q.limit == 1 && q.offset == 0 && len(q.groups) == 0 && q.groupTable == nil {
		// "how many … in the largest …": only of that one.
		if o := q.orders[0]; o.item.agg == "" && o.item.column != nil {
			figure := "min"
			if o.desc {
				figure = "max"
			}
			q.conds = append(q.conds, cond{column: o.item.column, op: "=", sub: figure, at: o.item.at})
			q.orders, q.limit = nil, 0
			return
		}
	}
	if !q.orders[0].shown || r.solo() && r.asksWhich() {
		return
	}
	if plain && len(q.groups) == 0 && q.groupTable == nil {
		if first := q.orders[0].item; !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && i.column == first.column }) {
			q.items = append(q.items, first)
		}
		return
	}
	if q.limit == 1 {
		var rest []order
		for _, o := range q.orders {
			agg := "min"
			if o.desc {
				agg = "max"
			}
			if o.item.agg == "" && o.item.column != nil {
				q.items = append(q.items, item{agg: agg, column: o.item.column, at: o.item.at})
			} else {
				rest = append(rest, o)
			}
		}
		q.orders, q.limit = rest, 0
		slices.SortStableFunc(q.items, func(a, b item) int { return a.at - b.at })
	}
}

// settleItems decides what to show where nothing was named, and what figures are
// for.
func (r *reader) settleItems() {
	q := r.q
	if q.main == nil {
		return
	}
	if len(q.items) == 0 && !q.star {
		t := q.main
		c := nameColumn(t)
		if r.solo() {
			c = r.askedColumn(t)
		}
		if c != nil {
			q.items = append(q.items, item{column: c})
			r.doubt(0.05)
		}
	}
	r.settleSums()
	figures := q.aggregated()
	if figures && q.groupTable == nil && len(q.groups) == 0 {
		// "the average age (age)" is one figure.
		q.items = slices.DeleteFunc(q.items, func(i item) bool {
			return i.agg == "" && slices.ContainsFunc(q.items, func(o item) bool { return o.agg != "" && o.agg != "count" && o.column == i.column })
		})
	}
	if figures && q.groupTable == nil && len(q.groups) == 0 && r.find("each|every|per|by|respectively|their") < 0 && len(q.having) == 0 {
		// Figures are seldom asked for by another figure.
		n := len(q.items)
		q.items = slices.DeleteFunc(q.items, func(i item) bool {
			return i.agg == "" && numericColumn(i.column) && !r.joins.refs[i.column] && !slices.Contains(i.column.words, "year")
		})
		if len(q.items) < n {
			r.doubt(0.1)
		}
	}
	if !figures && len(q.having) == 0 && !q.ordersByFigure() {
		q.groups, q.groupTable = nil, nil
		return
	}
	if figures && q.groupTable != nil && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" }) {
		if c := nameColumn(q.groupTable); c != nil {
			q.items = append([]item{{column: c}}, q.items...)
		}
	}
	for _, g := range q.groups {
		if figures && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && sameColumn(r.joins, i.column, g) }) {
			q.items = append([]item{{column: g}}, q.items...)
		}
	}
	if q.groupTable == nil && len(q.groups) == 0 {
		// Rows of a table that is named are told apart by its key.
		for _, i := range q.items {
			if i.agg == "" && slices.ContainsFunc(r.spoken, func(m mention) bool { return m.table == i.column.table && !r.onlyCounted(m.table) }) && r.countsOther(i.column.table) {
				q.groupTable = i.column.table
				break
			}
		}
		if len(q.having) > 0 && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" }) {
			q.groupTable = q.main
		}
	}
}

// settleSums adds figures up where they are asked for of several rows.
func (r *reader) settleSums() {
	q := r.q
	for i := range q.items {
		it := &q.items[i]
		if !it.sums || len(q.orders) > 0 || len(r.tables) == 1 && !slices.ContainsFunc(q.conds, func(c cond) bool { return len(c.texts) > 1 }) {
			continue
		}
		single := slices.ContainsFunc(q.conds, func(c cond) bool {
			return c.op == "in" && len(c.texts) == 1 && (c.column.unique || c.column == nameColumn(c.column.table)) &&
				!(c.column.table != it.column.table && r.joins.manyOf(c.column.table, it.column.table))
		})
		if !single {
			it.agg = "sum"
		}
	}
}

// countsOther reports whether what is counted is of another table.
func (r *reader) countsOther(t *table) bool {
	for _, i := range r.q.items {
		if i.agg != "" && (i.table == t || i.agg == "count" && i.table == nil && i.column == nil) {
			return false
		}
	}
	for _, o := range r.q.orders {
		if o.item.agg == "count" && (o.item.table == t || o.item.table == nil) {
			return false
		}
	}
	for _, h := range r.q.having {
		if h.table == t {
			return false
		}
	}
	return true
}

// settleAbsence moves the conditions on an absent table into its absence.
func (r *reader) settleAbsence() {
	q := r.q
	q.absent = slices.DeleteFunc(q.absent, func(a absence) bool { return a.table == q.main })
	for i := range q.absent {
		a := &q.absent[i]
		var rest []cond
		for _, c := range q.conds {
			if c.at > a.at && c.column.table != q.main {
				a.conds = append(a.conds, c)
			} else {
				rest = append(rest, c)
			}
		}
		q.conds = rest
	}
}

// settleOr joins conditions that stand on both sides of an "or".
func (r *reader) settleOr() {
	slices.SortStableFunc(r.q.conds, func(a, b cond) int { return a.at - b.at })
	for i := 1; i < len(r.q.conds); i++ {
		a, b := &r.q.conds[i-1], &r.q.conds[i]
		if a.or != 0 && a.or == b.or || r.q.both {
			continue
		}
		for j := a.at + 1; j < b.at; j++ {
			if r.lower(j) == "or" && !r.used[j] {
				if a.or == 0 {
					r.orSeq++
					a.or = r.orSeq
				}
				b.or = a.or
			}
		}
	}
}

// settleDistinct shows once what several rows share, where that is what was
// asked for: "which years".
func (r *reader) settleDistinct() {
	q := r.q
	if len(q.items) != 1 || q.items[0].agg != "" || q.limit > 0 || len(q.conds) == 0 || len(q.orders) > 0 {
		return
	}
	c, k := q.items[0].column, q.items[0].link
	if c.unique || k == nil || c == nameColumn(c.table) || r.joins.refs[c] {
		return
	}
	before := k.from - 1
	if r.lower(before) == "the" {
		before--
	}
	if wordIs(r.lower(before), "which", "what") || wordIs(r.lower(before), "are") && !wordIs(r.lower(k.to), "of", "for") {
		q.distinct = true
	}
}

// settleBoth finds conditions that no one row can meet.
func (r *reader) settleBoth() {
	for i, a := range r.q.conds {
		for _, b := range r.q.conds[i+1:] {
			if r.solo() || a.column != b.column || a.or != 0 && a.or == b.or || a.sub != "" || b.sub != "" {
				continue
			}
			if (a.op == "<" || a.op == "<=") && (b.op == ">" || b.op == ">=") && a.low <= b.low ||
				(a.op == ">" || a.op == ">=") && (b.op == "<" || b.op == "<=") && a.low >= b.low ||
				a.op == "=" && b.op == "=" && a.low != b.low {
				r.q.both = true
			}
		}
	}
}
