package rules

import "slices"

// settleItems decides what to show where nothing was named, and what figures are
// for.
func (r *reader) settleItems() {
	q := r.q
	if q.main == nil {
		return
	}
	if len(q.items) == 0 && !q.star && (len(q.groups) > 0 || q.groupTable != nil && q.groupTable != q.main) && len(q.orders)+len(q.having) == 0 && !r.solo() {
		// "orders per city": how many.
		q.items = append(q.items, item{agg: "count", table: q.main})
	}
	if len(q.items) == 0 && !q.star {
		t := q.main
		c := nameColumn(t)
		if r.solo() {
			c = r.askedColumn(t)
		}
		if c != nil && c.kind != kindText && wordIs(r.lower(0), "show", "list", "display", "give") && len(r.links) > 0 && r.isTable(r.links[0]) == t {
			// Rows that are called by no name are shown whole.
			q.star = true
			return
		}
		if r.lower(0) == "where" && !r.solo() {
			c = r.placeOf(t)
		}
		if c != nil {
			q.items = append(q.items, item{column: c})
			r.doubt(0.05)
		}
		if !r.solo() && c != nil && r.saysAlready(c) {
			r.doubt(0.5) // the name of what was named is no answer
		}
	}
	r.settleEach()
	r.settleSums()
	r.settleTotals()
	r.settlePeriods()
	figures := q.aggregated()
	if r.sums && q.groupTable != nil && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg != "avg" || i.column.table != q.groupTable }) {
		q.groupTable = nil // "the average amount per order": each has one
	}
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
		if !r.settleWithin() && q.byPeriod() {
			r.doubt(0.5) // nothing is given for the spans of time
		}
		q.groups, q.groupTable = nil, nil
		return
	}
	if figures && q.groupTable != nil && !slices.ContainsFunc(q.items, func(i item) bool { return i.agg == "" }) {
		if c := nameColumn(q.groupTable); c != nil {
			q.items = append([]item{{column: c}}, q.items...)
		}
	}
	for _, g := range slices.Backward(q.groups) {
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

// settleEach gives the average of each where it is asked for of several: "the
// average wage of men and women".
func (r *reader) settleEach() {
	q := r.q
	if r.solo() || len(q.groups) > 0 || q.groupTable != nil || len(q.items) == 0 || slices.ContainsFunc(q.items, func(i item) bool { return i.agg != "avg" && i.agg != "median" }) {
		return
	}
	if i := slices.IndexFunc(q.conds, func(c cond) bool { return c.each && c.op == "in" && !c.negated && c.or == 0 }); i >= 0 {
		q.groups = append(q.groups, q.conds[i].column)
		r.note("for each " + q.conds[i].column.name)
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

// placeOf is the column that says where the rows of a table are; nil when none
// does.
func (r *reader) placeOf(t *table) *column {
	for _, w := range []string{"city", "town", "place", "location", "address", "country", "region"} {
		for _, c := range t.columns {
			if slices.Contains(c.words, w) {
				return c
			}
		}
	}
	return nil
}

// saysAlready reports whether the question gives the one value of a column that
// would be shown. Questions that ask whether there is one are answered by it.
func (r *reader) saysAlready(c *column) bool {
	return !wordIs(r.lower(0), "is", "are", "was", "were", "do", "does", "did", "has", "have") && slices.ContainsFunc(r.q.conds, func(o cond) bool {
		return o.column == c && o.op == "in" && len(o.texts) == 1 && !o.negated
	})
}
