package rules

import "slices"

// periods are the spans of time that figures are asked for, and how a point in
// time is written as one.
var periods = map[string]func(at string) string{
	"day":     func(at string) string { return "CAST(" + at + " AS DATE)" },
	"week":    func(at string) string { return "CAST(date_trunc('week', " + at + ") AS DATE)" },
	"month":   func(at string) string { return "strftime(" + at + ", '%Y-%m')" },
	"quarter": func(at string) string { return "year(" + at + ") || '-Q' || quarter(" + at + ")" },
	"year":    func(at string) string { return "year(" + at + ")" },
}

// readPeriods reads "per month" and "by year" where no column is called that: the
// spans of a date.
func (r *reader) readPeriods() {
	for i := range r.tokens {
		end := phrase(r.tokens, i, "for|in|of|during? each|every|per|by the? day|week|month|quarter|year")
		asked := end < 0 && !r.solo()
		if asked {
			end = phrase(r.tokens, i, "which|what day|week|month|quarter|year")
		}
		if end < 0 || r.taken(i) || r.taken(end-1) {
			continue
		}
		if k := r.linkAt(end - 1); k != nil && (!weakLink(k) || len(k.values) > 0) {
			continue
		}
		c := r.dateColumn(date{}, i)
		if c == nil {
			continue
		}
		span := *c
		span.period, span.kind, span.values, span.unique = r.lower(end-1), kindText, nil, false
		r.q.groups = append(r.q.groups, &span)
		if asked {
			r.q.items = append(r.q.items, item{column: &span, at: i})
		}
		r.take(i, end)
		r.note("for each " + span.period + " of " + c.name)
		return
	}
}

// settlePeriods adds up the figures that are asked for by spans of time, or of
// things that have several each: "the revenue of each country".
func (r *reader) settlePeriods() {
	q := r.q
	if q.aggregated() || r.solo() && !q.byPeriod() || len(q.orders) > 0 {
		return
	}
	for n := range q.items {
		i := &q.items[n]
		if i.agg == "" && numericColumn(i.column) && !isKeyName(i.column) && !r.joins.refs[i.column] && r.severalFor(i.column.table) {
			i.agg = "sum"
		}
	}
}

// severalFor reports whether what is grouped by has several rows of a table each.
func (r *reader) severalFor(t *table) bool {
	if r.q.groupTable != nil && r.q.groupTable != t && r.joins.manyOf(r.q.groupTable, t) {
		return true
	}
	return slices.ContainsFunc(r.q.groups, func(c *column) bool {
		return c.period != "" || c.kind == kindText && (c.table == t && r.sums || c.table != t && r.joins.manyOf(c.table, t))
	})
}

// byPeriod reports whether figures are given for spans of time.
func (q *query) byPeriod() bool {
	return slices.ContainsFunc(q.groups, func(c *column) bool { return c.period != "" })
}
