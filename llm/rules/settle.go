package rules

import "slices"

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
	r.settleShare()
	r.settleWho()
	r.settleItems()
	r.settleAbsence()
	r.settlePresence()
	r.settleOr()
	r.settleBoth()
	if q.both {
		r.takeWords("both")
	}
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

// settleAbsence moves the conditions on an absent table into its absence.
func (r *reader) settleAbsence() {
	q := r.q
	q.absent = slices.DeleteFunc(q.absent, func(a absence) bool { return a.table == q.main })
	r.settleNegations()
	for i := range q.absent {
		a := &q.absent[i]
		var rest []cond
		for _, c := range q.conds {
			if c.at > a.at && c.column.table != q.main && len(a.conds) == 0 {
				a.conds = append(a.conds, c)
			} else {
				rest = append(rest, c)
			}
		}
		q.conds = rest
	}
}

// settlePresence asks for rows of a table that is only spoken of: "authors who
// have books".
func (r *reader) settlePresence() {
	q := r.q
	if q.main == nil || r.solo() {
		return
	}
	used := q.tablesOf()
	for _, a := range q.absent {
		used = append(used, a.table)
	}
	for _, m := range r.spoken {
		before := m.link.from - 1
		for wordIs(r.lower(before), "a", "an", "any", "some", "the", "least", "one") {
			before--
		}
		if slices.Contains(used, m.table) || r.zones.asked[m.link.from] || !wordIs(r.lower(before), "by", "in", "have", "has", "had", "having", "with", "used", "on") ||
			!r.joins.manyOf(q.main, m.table) {
			continue
		}
		if r.lower(m.link.from-1) == "on" && wordIs(r.lower(m.link.from-2), "is", "are") {
			r.doubt(0.5) // "on loan" is now, and not at any time
		}
		q.absent = append(q.absent, absence{table: m.table, at: m.link.from, present: true})
		used = append(used, m.table)
		r.note("with some " + join(m.table.words))
	}
}

// settleNegations turns "that do not own a poodle" into the absence of such
// rows, with all that is said of them.
func (r *reader) settleNegations() {
	q := r.q
	if q.main == nil {
		return
	}
	r.settleButNot()
	for i := 0; i < len(q.conds); i++ {
		c := q.conds[i]
		if !c.negated || c.column.table == q.main || !r.joins.manyOf(q.main, c.column.table) {
			continue
		}
		c.negated = false
		a := absence{table: c.column.table, at: c.at, conds: []cond{c}}
		var rest []cond
		for n, o := range q.conds {
			switch {
			case n == i:
			case o.column.table == c.column.table && !o.negated && r.sameSentence(o.at, c.at) && (r.solo() || o.column != c.column || o.op != "in"):
				a.conds = append(a.conds, o)
			default:
				rest = append(rest, o)
			}
		}
		q.conds = rest
		q.absent = append(q.absent, a)
		i = -1
	}
}

// settleButNot reads "in 2024 but not in 2025" of what happened to things: there
// are rows of the one, and none of the other.
func (r *reader) settleButNot() {
	q := r.q
	for n, c := range q.conds {
		if c.op != "<>" || c.sub != "" || !r.related(c.column) || !slices.ContainsFunc(q.conds, func(o cond) bool { return o.column == c.column && o.op == "=" }) {
			continue
		}
		c.op = "="
		q.conds = slices.Delete(q.conds, n, n+1)
		q.absent = append(q.absent, absence{table: c.column.table, at: len(r.tokens), conds: []cond{c}})
		q.distinct = !q.aggregated()
		r.mayBeNone = true
		return
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
			if r.lower(j) == "or" && !r.taken(j) {
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
	if len(q.items) != 1 || q.items[0].agg != "" || q.limit > 0 || len(q.orders) > 0 || q.position != nil {
		return
	}
	c, k := q.items[0].column, q.items[0].link
	if c == nameColumn(c.table) && c.table == q.main && (wordIs(r.lower(0), "which", "who") || r.find("something|anything") > 0) && slices.ContainsFunc(q.conds, func(o cond) bool { return r.related(o.column) }) {
		// "which customers returned something": each once, however often.
		r.takeWords("something", "anything")
		q.distinct = true
	}
	if len(q.conds) == 0 {
		// "List the cities": each once, unless it is of the rows of a table.
		q.distinct = q.distinct || k != nil && !c.unique && c.kind == kindText && c != nameColumn(c.table) &&
			(len(r.spoken) == 0 || wordIs(r.lower(k.from-1), "which", "what") && r.tokens[k.to-1].lemma != r.tokens[k.to-1].lower)
		return
	}
	if c.unique || k == nil || c == nameColumn(c.table) {
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
