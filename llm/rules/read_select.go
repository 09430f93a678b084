package rules

import "slices"

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
	inClause := false
	for _, k := range r.links {
		inClause = r.clause(k, inClause)
		if !r.free(k) || len(k.columns) == 0 && len(k.tables) == 0 {
			continue
		}
		if t := r.isTable(k); t != nil {
			r.takeLink(k)
			continue
		}
		c := r.columnOf(k, nil)
		if c == nil {
			continue
		}
		if inClause && len(r.q.items) > 0 {
			r.doubt(0.1)
			r.takeLink(k)
			continue
		}
		r.takeLink(k)
		if !slices.ContainsFunc(r.q.items, func(i item) bool { return i.column == c && i.agg == "" }) {
			r.q.items = append(r.q.items, item{column: c, at: k.from})
		}
	}
	slices.SortStableFunc(r.q.items, func(a, b item) int { return a.at - b.at })
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

// clause reports whether a link is in a clause that describes, not one that asks.
func (r *reader) clause(k *link, before bool) bool {
	for j := k.from - 1; j >= 0; j-- {
		if o := r.at[j]; o != nil && o != k {
			break
		}
		switch r.lower(j) {
		case "with", "whose", "who", "that", "having", "where":
			if j == 0 || wordIs(r.lower(j), "who", "where") && j < 2 {
				continue
			}
			return true
		case "what", "which", "list", "show", "give", "return", "find", "how", "?", ".", "tell":
			if j > 0 {
				return false
			}
		}
	}
	return before
}

// settle completes the query from what was read.
func (r *reader) settle() {
	q := r.q
	r.settleMain()
	r.settleSuperlatives()
	r.settleItems()
	r.settleAbsence()
	r.settleOr()
	r.settleBoth()
	for i := range q.orders {
		if q.orders[i].item.column == nil && q.orders[i].item.agg == "" {
			if len(q.items) > 0 && q.items[0].agg == "" {
				q.orders[i].item = q.items[0]
			}
		}
	}
	q.orders = slices.DeleteFunc(q.orders, func(o order) bool { return o.item.column == nil && o.item.agg == "" })
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
	plain := slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" })
	entity := r.headTable() != nil
	first := q.orders[0].item
	if first.agg == "" && first.column != nil && !plain && !entity && q.limit == 1 && !r.asksWho() {
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

// headTable is the table that the question is after: the first that is named,
// before any other name.
func (r *reader) headTable() *table {
	for _, k := range r.links {
		if t := r.isTable(k); t != nil {
			return t
		}
		return nil
	}
	return nil
}

func (r *reader) asksWho() bool {
	return len(r.tokens) > 0 && (wordIs(r.lower(0), "who", "which", "where", "when") ||
		slices.ContainsFunc(r.tokens, func(t token) bool { return t.lower == "who" || t.lower == "which" }))
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
		if c := nameColumn(t); c != nil {
			q.items = append(q.items, item{column: c})
			r.doubt(0.05)
		}
	}
	figures := q.aggregated()
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
		if figures && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" && i.column == g }) {
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

// countsOther reports whether what is counted is of another table.
func (r *reader) countsOther(t *table) bool {
	for _, i := range r.q.items {
		if i.agg != "" && i.table == t {
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

// settleBoth finds conditions that no one row can meet.
func (r *reader) settleBoth() {
	for i, a := range r.q.conds {
		for _, b := range r.q.conds[i+1:] {
			if a.column != b.column || a.or != 0 && a.or == b.or || a.sub != "" || b.sub != "" {
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
