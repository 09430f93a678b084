package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// span is a stretch of time: from a day on, up to another that it does not
// include. A zero end is open.
type span struct{ from, to time.Time }

// span is the time that a date with a year covers: a day, a month or a year.
func (d date) span() (span, bool) {
	if d.year == 0 || d.day != 0 && d.month == 0 {
		return span{}, false
	}
	from := time.Date(d.year, time.Month(max(d.month, 1)), max(d.day, 1), 0, 0, 0, 0, time.UTC)
	switch {
	case d.day != 0:
		return span{from, from.AddDate(0, 0, 1)}, true
	case d.month != 0:
		return span{from, from.AddDate(0, 1, 0)}, true
	}
	return span{from, from.AddDate(1, 0, 0)}, true
}

// sql is the condition that a point in time lies in the span.
func (s span) sql(expr string) string {
	var parts []string
	day := func(t time.Time) string { return fmt.Sprintf("make_date(%d, %d, %d)", t.Year(), t.Month(), t.Day()) }
	if !s.from.IsZero() {
		parts = append(parts, fmt.Sprintf("%s >= %s", expr, day(s.from)))
	}
	if !s.to.IsZero() {
		parts = append(parts, fmt.Sprintf("%s < %s", expr, day(s.to)))
	}
	return strings.Join(parts, " AND ")
}

func (s span) String() string {
	switch {
	case s.to.IsZero():
		return "from " + s.from.Format(time.DateOnly)
	case s.from.IsZero():
		return "before " + s.to.Format(time.DateOnly)
	}
	return s.from.Format(time.DateOnly) + " to " + s.to.AddDate(0, 0, -1).Format(time.DateOnly)
}

// readSpans reads stretches of time that are told by dates: "after June 2025",
// "between January and March 2025", "in the first quarter of 2025".
func (r *reader) readSpans() {
	if r.solo() {
		return
	}
	for i := range r.tokens {
		s, end, ok := r.spanAt(i)
		if !ok || slices.Contains(r.used[i:end], true) {
			continue
		}
		c := r.dateColumn(date{}, i)
		if c == nil {
			continue
		}
		r.takeAll(i, end)
		r.q.conds = append(r.q.conds, cond{column: c, op: "sql", at: i, end: end, negated: r.negatedAt(i), sql: func(ref string) string {
			return s.sql("CAST(" + c.dated(ref) + " AS DATE)")
		}})
		r.mayBeNone = true
		r.note(c.name + " " + s.String())
	}
}

// spanAt reads a stretch of time at a token, and gives the token after it.
func (r *reader) spanAt(i int) (span, int, bool) {
	if end := phrase(r.tokens, i, "between|from"); end > 0 {
		return r.spanBetween(end)
	}
	if s, end, ok := r.quarterAt(i); ok {
		return s, end, true
	}
	end := phrase(r.tokens, i, "after|since|before|until|till|through|starting|beginning|later|earlier|prior than|from|to|in? the? end|start|beginning? of?")
	if end < 0 {
		return span{}, i, false
	}
	d, stop, ok := r.dayAt(end)
	s, dated := d.span()
	if !ok || !dated {
		return span{}, i, false
	}
	switch r.lower(i) {
	case "after", "later":
		return span{from: s.to}, stop, true
	case "before", "earlier", "prior":
		return span{to: s.from}, stop, true
	case "until", "till", "through":
		return span{to: s.to}, stop, true
	}
	return span{from: s.from}, stop, true
}

// spanBetween reads the two dates of a stretch of time. The first may leave out
// the year.
func (r *reader) spanBetween(i int) (span, int, bool) {
	a, end, ok := r.dayAt(i)
	if !ok || !wordIs(r.lower(end), "and", "to", "until", "till", "through", "-", "–") {
		return span{}, i, false
	}
	b, end, ok := r.dayAt(end + 1)
	if a.year == 0 {
		a.year = b.year
	}
	first, dated := a.span()
	last, also := b.span()
	if !ok || !dated || !also || last.to.Before(first.from) {
		return span{}, i, false
	}
	return span{first.from, last.to}, end, true
}

// dayAt reads a date that names its month, or is written as in 2025-06-01.
func (r *reader) dayAt(i int) (date, int, bool) {
	if d, end, ok := dateAt(r.tokens, i); ok {
		return d, end, true
	}
	return isoAt(r.tokens, i)
}

// isoAt reads a date that is written as year, month and day.
func isoAt(tokens []token, i int) (date, int, bool) {
	if i+5 > len(tokens) || tokens[i+1].lower != "-" || tokens[i+3].lower != "-" {
		return date{}, i, false
	}
	var n [3]int
	for j := range n {
		t := tokens[i+2*j]
		if !t.isNumber || t.number != float64(int(t.number)) {
			return date{}, i, false
		}
		n[j] = int(t.number)
	}
	if !yearLike(float64(n[0])) || n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 {
		return date{}, i, false
	}
	return date{n[0], n[1], n[2]}, i + 5, true
}

// quarterAt reads "the first quarter of 2025" and "Q1 2025".
func (r *reader) quarterAt(i int) (span, int, bool) {
	n, end := 0, -1
	switch w := r.lower(i); {
	case len(w) == 2 && w[0] == 'q' && w[1] >= '1' && w[1] <= '4':
		n, end = int(w[1]-'0'), phrase(r.tokens, i+1, "of? the? year?")
	case wordIs(r.lower(i+1), "quarter"):
		n = ordinals[w]
		if t := r.tokens[i]; t.isNumber && !yearLike(t.number) {
			n = int(t.number)
		}
		if w == "last" {
			n = 4
		}
		end = phrase(r.tokens, i+2, "of|in? the? year?")
	}
	if n < 1 || n > 4 || end >= len(r.tokens) || !r.tokens[end].isNumber || !yearLike(r.tokens[end].number) {
		return span{}, i, false
	}
	from := time.Date(int(r.tokens[end].number), time.Month(3*n-2), 1, 0, 0, 0, 0, time.UTC)
	return span{from, from.AddDate(0, 3, 0)}, end + 1, true
}
