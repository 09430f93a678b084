package rules

import (
	"fmt"
	"slices"
	"strings"
)

// date is a date that may lack fields: 0 is not said.
type date struct{ year, month, day int }

// dateAt reads a date that names its month; it gives the token after it.
func dateAt(tokens []token, i int) (d date, end int, ok bool) {
	number := func(j int) (int, bool) {
		if j >= len(tokens) || !tokens[j].isNumber || tokens[j].number != float64(int(tokens[j].number)) {
			return 0, false
		}
		return int(tokens[j].number), true
	}
	if i >= len(tokens) {
		return d, i, false
	}
	at := i
	if n, is := number(at); is && n >= 1 && n <= 31 {
		d.day = n
		at++
		if at < len(tokens) && tokens[at].lower == "of" {
			at++
		}
	}
	if at >= len(tokens) || months[tokens[at].lower] == 0 {
		return date{}, i, false
	}
	d.month = months[tokens[at].lower]
	// "may" is a verb too, and "march".
	bare := wordIs(tokens[at].lower, "may", "march", "mar", "jan") && d.day == 0
	at++
	if at < len(tokens) && tokens[at].lower == "." {
		at++
	}
	if n, is := number(at); is && d.day == 0 && n >= 1 && n <= 31 {
		d.day = n
		at++
	}
	next := at
	if next < len(tokens) && (tokens[next].lower == "," || tokens[next].lower == "of") {
		next++
	}
	if n, is := number(next); is && n >= 1000 && n <= 2100 {
		d.year = n
		at = next + 1
	}
	if bare && d.day == 0 && d.year == 0 && (i == 0 || !wordIs(tokens[i-1].lower, "in", "of", "during", "by", "or", "and", "between", "from", "since", "until")) {
		return date{}, i, false
	}
	return d, at, true
}

// readDates reads dates as conditions.
func (r *reader) readDates() {
	r.readSpans()
	for i := 0; i < len(r.tokens); i++ {
		if r.taken(i) || r.tokens[i].quote != 0 {
			continue
		}
		d, end, ok := r.dayAt(i)
		if !ok || slices.Contains(r.used[i:end], true) {
			continue
		}
		c := r.dateColumn(d, i)
		if c == nil {
			continue
		}
		op := "="
		start := i
		if d.day != 0 && d.year != 0 {
			switch r.lower(i - 1) {
			case "after", "since":
				op, start = ">", i-1
			case "before":
				op, start = "<", i-1
			}
		}
		r.take(start, end)
		for j := i; j < end; j++ {
			if k := r.linkAt(j); k != nil {
				r.takeLink(k)
			}
		}
		n := cond{column: c, op: "sql", at: i, end: end, negated: r.negatedAt(i), sql: func(ref string) string { return d.sql(c.dated(ref), op) }}
		if last := len(r.q.conds) - 1; last >= 0 && r.q.conds[last].column == c && r.q.conds[last].op == "sql" && r.lower(i-1) == "or" {
			if r.q.conds[last].or == 0 {
				r.orSeq++
				r.q.conds[last].or = r.orSeq
			}
			n.or = r.q.conds[last].or
		}
		r.q.conds = append(r.q.conds, n)
		r.note(fmt.Sprintf("%s is %s", c.name, d))
		i = end - 1
	}
}

func (d date) String() string {
	var parts []string
	if d.year != 0 {
		parts = append(parts, fmt.Sprintf("year %d", d.year))
	}
	if d.month != 0 {
		parts = append(parts, fmt.Sprintf("month %d", d.month))
	}
	if d.day != 0 {
		parts = append(parts, fmt.Sprintf("day %d", d.day))
	}
	return strings.Join(parts, " ")
}

// sql compares an expression that is a point in time with the date.
func (d date) sql(expr, op string) string {
	if op != "=" {
		return fmt.Sprintf("CAST(%s AS DATE) %s make_date(%d, %d, %d)", expr, op, d.year, d.month, d.day)
	}
	var parts []string
	for _, f := range []struct {
		name string
		n    int
	}{{"year", d.year}, {"month", d.month}, {"day", d.day}} {
		if f.n != 0 {
			parts = append(parts, fmt.Sprintf("%s(%s) = %d", f.name, expr, f.n))
		}
	}
	return strings.Join(parts, " AND ")
}

// dateColumn is the column that a date speaks of: one that is named beside it,
// else the only one or the first.
func (r *reader) dateColumn(d date, i int) *column {
	if before := r.linkBefore(i, copulas); before != nil {
		if c := r.columnOf(before, func(c *column) bool { return c.kind == kindDate }); c != nil {
			return c
		}
	}
	if c := r.whenSaid(); c != nil {
		return c
	}
	for _, t := range r.likely() {
		for _, c := range t.columns {
			if c.kind == kindDate && !r.unsaidBirth("date", c) {
				return c
			}
		}
	}
	return nil
}

// whenSaid is the date that the question itself tells: that of its verb, else of
// the one figure that it names; nil when it tells none.
func (r *reader) whenSaid() *column {
	switch {
	case r.when != nil || r.solo():
		return r.when
	case r.event != nil:
		return dateOf(r.event)
	}
	if h := r.happeningOf(nil); h != nil && r.verbAfter(0, tradeVerbs) >= 0 {
		return dateOf(h.table) // "customers who bought toys in 2025"
	}
	if c := r.measureDate(); c != nil && !r.unsaidBirth("date", c) {
		return c
	}
	return nil
}

// likely gives the tables, those first that are spoken of, then those of which a
// column is. Of customers and their orders, which are many, the orders come first:
// they are what happened at some time.
func (r *reader) likely() []*table {
	tables := slices.Clone(r.tables)
	happened := r.happeningOf(nil)
	rank := func(t *table) int {
		if t == r.event {
			return -len(r.tables)
		}
		if at := slices.IndexFunc(r.spoken, func(m mention) bool { return m.table == t }); at >= 0 {
			for _, m := range r.spoken {
				if m.table != t && r.joins.manyOf(m.table, t) {
					at -= len(r.spoken)
				}
			}
			return at
		}
		if slices.ContainsFunc(r.links, func(k *link) bool { return len(k.columns) > 0 && k.columns[0].column.table == t }) {
			return len(r.spoken)
		}
		if happened != nil && happened.table == t {
			return len(r.spoken) + 1
		}
		return len(r.spoken) + 2
	}
	slices.SortStableFunc(tables, func(a, b *table) int { return rank(a) - rank(b) })
	return tables
}
