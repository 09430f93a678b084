package rules

import (
	"slices"
	"strings"
)

// asksWhich reports whether the question asks for a thing, not for a figure.
func (r *reader) asksWhich() bool {
	for i := range r.tokens {
		// "what team had …", "the town with …"
		if r.lower(i) == "what" && i+1 < len(r.tokens) && !stopWords[r.lower(i+1)] && r.measureOf(r.linkAt(i+1)) == nil {
			return true
		}
	}
	if wordIs(r.lower(0), "the", "name") && wordIs(r.lower(2), "with", "that", "who", "whose") {
		return true
	}
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
	if len(q.orders) > 0 && q.limit > 0 && r.asksWhich() && !counted {
		// Who has the most is not answered by how much.
		q.items = slices.DeleteFunc(q.items, func(i item) bool { return i.agg == "" && i.column == q.orders[0].item.column && !r.zones.asked[i.at] })
	}
	r.dropVerbs(counted)
	r.leaveOutTotals(counted)
	r.settleWhere(counted)
	if q.position != nil {
		q.orders, q.limit = nil, 0
		if q.position.offset != 0 && len(q.items) == 0 && !slices.ContainsFunc(r.tokens, func(t token) bool { return t.lower == "where" || t.lower == "when" }) {
			if c := q.position.anchor.column; c.kind == kindText {
				q.items = append(q.items, item{column: c})
			}
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

// dropVerbs takes back columns that only a verb named, where a thing is asked
// for: "which locomotive was the first to enter service".
func (r *reader) dropVerbs(counted bool) {
	q := r.q
	if counted || len(q.items) != 1 || !r.asksWhich() || wordIs(r.lower(0), "when") {
		return
	}
	it := q.items[0]
	if it.agg != "" || it.link == nil || wordIs(r.lower(it.link.from-1), "which", "what", "whose") {
		return
	}
	w := r.lower(it.link.to - 1)
	verb := strings.HasSuffix(w, "ed") || wordIs(w, "born", "built", "held", "won", "lost", "finish", "enter", "begin", "end", "retire", "open", "close")
	known := slices.ContainsFunc(q.conds, func(c cond) bool { return c.column == it.column && c.op == "sql" })
	if verb && columnScore(it.link, it.column) < 1 || known || verb && it.column.kind != kindText {
		q.items = nil
	}
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
			if totals[v] || strings.HasSuffix(v, " total") || strings.HasSuffix(v, " totals") {
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
