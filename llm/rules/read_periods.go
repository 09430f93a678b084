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
			end = max(phrase(r.tokens, i, "which|what day|week|month|quarter|year"), phrase(r.tokens, i, "best|worst|top day|week|month|quarter|year"))
		}
		span := r.lower(end - 1)
		if adjective := spanAdjectives[r.lower(i)]; end < 0 && adjective != "" && !r.solo() {
			asked, span, end = false, adjective, i+1
		}
		if next := phrase(r.tokens, i, "and|, per|by? day|week|month|quarter|year"); end < 0 && next > 0 && r.groupedBefore(i) {
			asked, span, end = false, r.lower(next-1), next
		}
		if end < 0 || r.taken(i) || r.taken(end-1) {
			continue
		}
		if k := r.linkAt(end - 1); k != nil && (!weakLink(k) || len(k.values) > 0) {
			continue
		}
		c := r.dateColumn(date{}, i)
		if own := r.measureDate(); own != nil {
			c = own
		}
		if c == nil {
			continue
		}
		by := c.by(span)
		r.q.groups = append(r.q.groups, by)
		if asked {
			r.q.items = append(r.q.items, item{column: by, at: i})
		}
		r.take(end-1, end)
		if !wordIs(r.lower(i), "best", "worst", "top") {
			r.take(i, end)
		}
		r.note("for each " + span + " of " + c.name)
		if !asked {
			r.groupMore(end)
		}
		return
	}
}

// groupedBefore reports whether a list of groups stands before a token: "per
// category and year".
func (r *reader) groupedBefore(i int) bool {
	k := r.linkAt(i - 1)
	return k != nil && !r.solo() && wordIs(r.lower(k.from-1), "per", "by", "each", "every")
}

// spanAdjectives are how spans of time are spoken of before a figure.
var spanAdjectives = map[string]string{
	"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year", "annual": "year",
}

// by is a date as the span of time that it lies in.
func (c *column) by(span string) *column {
	s := *c
	s.period, s.kind, s.values, s.unique = span, kindText, nil, false
	return &s
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

// measureDate is the date of the one figure that the question names; nil when it
// names none, or several, or the figure has none.
func (r *reader) measureDate() *column {
	var t *table
	for _, k := range r.links {
		if r.isTable(k) != nil || !r.isMeasure(k) || r.isValueOnly(k) {
			continue
		}
		c := r.measureOf(k)
		if t != nil && c.table != t {
			return nil
		}
		t = c.table
	}
	if t == nil {
		return nil
	}
	if i := slices.IndexFunc(t.columns, func(c *column) bool { return c.kind == kindDate }); i >= 0 {
		return t.columns[i]
	}
	return nil
}
