package rules

import (
	"slices"
	"strings"
)

// readFigures reads "how many …", "the average …", "the total …".
func (r *reader) readFigures() {
	for i := 0; i < len(r.tokens); i++ {
		if r.taken(i) {
			continue
		}
		if end := phrase(r.tokens, i, "how often"); end > 0 && !r.solo() {
			r.take(i, end)
			r.q.items = append(r.q.items, item{agg: "count", at: i})
			continue
		}
		if end := phrase(r.tokens, i, "how many|may"); end > 0 {
			r.readCount(i, end)
			continue
		}
		if end := phrase(r.tokens, i, "total? number|count|numbers|amount of"); end > 0 && !r.isColumn(end-2) && (r.linkAt(i) == nil || r.linkAt(i).from == i && r.linkAt(i).to == i+1) {
			if k := r.linkAt(i - 1); k != nil && !r.solo() && r.lower(i) == "number" && (r.isValueOnly(k) || weakLink(k)) {
				r.doubt(0.5) // "the phone number of": what no column tells
			}
			r.readCount(i, end)
			continue
		}
		if aggregates[r.lower(i)] != "" && (r.linkAt(i) == nil || r.linkAt(i).from == i && r.linkAt(i).to == i+1) {
			r.readAggregates(i)
		}
	}
}

// readFigureLists reads "the average, minimum and maximum …" before any of them
// is taken for a superlative.
func (r *reader) readFigureLists() {
	for i := range r.tokens {
		if r.taken(i) || aggregates[r.lower(i)] == "" || r.linkAt(i) != nil && (r.linkAt(i).from < i || r.linkAt(i).to > i+1) {
			continue
		}
		if next := r.nextFigure(i + 1); next >= 0 {
			r.readAggregates(i)
		}
	}
}

// nextFigure is where a list of figures goes on; -1 when it does not.
func (r *reader) nextFigure(i int) int {
	joined := false
	for ; i < len(r.tokens); i++ {
		switch w := r.lower(i); {
		case w == "," || w == "and":
			joined = true
		case aggregates[w] != "" && joined:
			return i
		case w != "the":
			return -1
		}
	}
	return -1
}

// readCount reads what is counted.
func (r *reader) readCount(i, end int) {
	if r.lower(end) == "times" || r.lower(end) == "time" {
		r.take(i, end+1)
		r.q.items = append(r.q.items, item{agg: "count", at: i})
		return
	}
	distinct := false
	for wordIs(r.lower(end), "different", "distinct", "unique", "the", "all", "total", "of", "kinds", "kind", "types", "type", "other", "combined", "their", "its") && r.linkAt(end) == nil {
		distinct = distinct || wordIs(r.lower(end), "different", "distinct", "unique", "kinds", "types", "kind", "type")
		end++
	}
	r.take(i, end)
	for end < len(r.tokens) && r.taken(end) {
		end++ // "wild dogs": the flag is taken already
	}
	k := r.linkFrom(end, nil)
	if k == nil {
		counted := item{agg: "count", at: i}
		if r.when != nil && r.when.table.holdsPeople() && wordIs(r.lower(end), "people", "persons") {
			r.take(end, end+1) // "how many people joined"
			counted.table = r.when.table
		}
		r.q.items = append(r.q.items, counted)
		return
	}
	if next := r.countedAfter(k); next != nil {
		k = next // "returned orders": a condition on what is counted
	}
	if next := r.linkFrom(k.to, nil); next != nil && len(next.values) == 0 && r.compound(k, next) {
		// "dog breeds": the first word only says of what.
		r.takeLink(k)
		k = next
	}
	t := r.tableFor(k)
	c := r.columnOf(k, nil)
	if r.isTable(k) == nil && (distinct || c != nil && numericColumn(c) && !r.bareKey(k, c)) {
		t = nil
	}
	switch {
	case t != nil && !(distinct && c != nil && columnScore(k, c) > 0.95):
		r.takeLink(k)
		if slices.ContainsFunc(r.q.items, func(x item) bool { return x.agg == "count" && x.table == t }) {
			return
		}
		r.q.items = append(r.q.items, item{agg: "count", table: t, at: i})
		if r.q.main == nil {
			r.q.main = t
		}
		if wordIs(r.lower(k.from-1), "their", "its") {
			r.groupWhose(i, t)
		}
		if distinct {
			// Different breeds that dogs are of are counted among dogs.
			for _, m := range r.spoken {
				if m.table == t || m.link.from < k.to {
					continue
				}
				if steps, ok := r.joins.path(m.table, t); ok && len(steps) == 1 && steps[0].edge.many.table == m.table {
					last := &r.q.items[len(r.q.items)-1]
					last.table, last.column, last.distinct = nil, steps[0].edge.many, true
					r.q.main = m.table
					r.takeLink(m.link)
					return
				}
			}
		}
	case c != nil && numericColumn(c) && !distinct && !isKeyName(c) && columnScore(k, c) > 0.6:
		// "how many points": the figure itself, or the sum of those of several rows.
		agg := ""
		if r.lower(i) == "total" || wordIs(r.lower(end-1), "total", "combined") {
			agg = "sum"
		}
		r.takeLink(k)
		r.q.items = append(r.q.items, item{agg: agg, column: c, at: i, sums: true})
	case c != nil && c.kind == kindDate && !distinct && !r.solo():
		// "how many customers signed up": the rows are counted, not their dates.
		r.takeLink(k)
		r.q.items = append(r.q.items, item{agg: "count", table: c.table, at: i})
		r.when = c
	case c != nil:
		r.takeLink(k)
		r.q.items = append(r.q.items, item{agg: "count", column: c, distinct: distinct || len(r.tables) > 1, at: i})
	default:
		r.q.items = append(r.q.items, item{agg: "count", at: i})
	}
}

// groupWhose counts rows for each of those that are named before a token: "riders
// and the number of their rentals".
func (r *reader) groupWhose(i int, t *table) {
	if r.solo() || len(r.q.groups) > 0 || r.q.groupTable != nil {
		return
	}
	for _, m := range r.spoken {
		if m.link.to <= i && m.table != t && r.refersTo(t, m.table) {
			r.q.groupTable = m.table
			return
		}
	}
}

// countedAfter is the table that follows a value, or a list of some, which are
// conditions on what is counted: "cancelled and returned orders".
func (r *reader) countedAfter(k *link) *link {
	for k != nil && !r.solo() && r.isValueOnly(k) {
		if k = r.linkFrom(k.to, set("and or ,")); k != nil && r.isTable(k) != nil {
			return k
		}
	}
	return nil
}

// isColumn reports whether a word is the very name of a column of figures: a word
// such as total is that column first, whatever else it could mean.
func (r *reader) isColumn(i int) bool {
	k := r.linkAt(i)
	return k != nil && k.from == i && (k.to == i+1 || r.lower(i+1) == "of") && slices.ContainsFunc(k.columns, func(m columnMatch) bool {
		return m.score >= 0.95 && len(m.column.words) == 1 && numericColumn(m.column)
	})
}

// compound reports whether a link to a table only says of what the next one is:
// "dog breeds". A verb after it does not make one.
func (r *reader) compound(k, next *link) bool {
	w := r.lower(next.from)
	if next.from != k.to || len(k.tables) == 0 || quietWords[w] || strings.HasSuffix(w, "ed") || strings.HasSuffix(w, "ing") {
		return false
	}
	return len(next.tables) > 0 || slices.ContainsFunc(next.columns, func(m columnMatch) bool { return m.score >= 0.75 })
}

// readAggregates reads one or several figures of a column.
func (r *reader) readAggregates(i int) {
	var kinds []string
	j := i
	for ; j < len(r.tokens); j++ {
		if a := aggregates[r.lower(j)]; a != "" && !(r.linkAt(j) != nil && (r.linkAt(j).to > j+1 || j > i && r.isColumn(j))) {
			kinds = append(kinds, a)
			continue
		}
		if r.linkAt(j) != nil || !wordIs(r.lower(j), ",", "and", "the", "of", "all", "amount", "value") {
			break
		}
	}
	if c, end := r.dealValue(j); c != nil {
		r.take(i, end)
		r.addFigures(kinds, c, i)
		return
	}
	k := r.linkFrom(j, articles)
	if k == nil {
		return
	}
	c := r.columnOf(k, func(c *column) bool { return numericColumn(c) && !r.bareKey(k, c) })
	if amount := r.amountSaid(k); amount != nil {
		c = amount // "the total harvest"
	}
	if c == nil {
		return
	}
	if r.valueOfPieces(i, c) {
		r.doubt(0.5)
	}
	r.take(i, k.to)
	r.addFigures(kinds, c, i)
}

func (r *reader) addFigures(kinds []string, c *column, at int) {
	for _, a := range kinds {
		r.q.items = append(r.q.items, item{agg: a, column: c, at: at})
		r.note("the " + item{agg: a, column: c}.label())
	}
}
