package rules

import (
	"slices"
	"strconv"
	"strings"
)

// readComparisons reads "more than 5 …", "before 1990", "between 3 and 7".
func (r *reader) readComparisons() {
	for i := 0; i < len(r.tokens); i++ {
		if r.taken(i) || r.tokens[i].mark {
			continue
		}
		if r.readBetween(i) || r.readOrMore(i) || r.readSign(i) || r.readDecade(i) {
			continue
		}
		for _, c := range comparators {
			end := phrase(r.tokens, i, c.pattern)
			if end < 0 || slices.Contains(r.used[i:end], true) {
				continue
			}
			if k := r.linkAt(i); k != nil && (k.from < i || k.to > end) {
				continue
			}
			if r.readComparison(i, end, c) {
				break
			}
		}
	}
}

// readDecade reads "in the 1990s" and "the 1800's".
func (r *reader) readDecade(i int) bool {
	digits, end := strings.TrimSuffix(r.lower(i), "s"), i+1
	if digits == r.lower(i) {
		if r.lower(i+1) != "s" {
			return false
		}
		end++
	}
	n, err := strconv.Atoi(digits)
	if err != nil || !yearLike(float64(n)) || n%10 != 0 {
		return false
	}
	last := n + 9
	if n%100 == 0 {
		last = n + 99
	}
	c := r.hinted("year", measurable)
	if c == nil {
		return false
	}
	r.take(i, end)
	r.addCompare(c, comparator{op: "between"}, float64(n), float64(last), i)
	return true
}

// readSign reads "a positive …".
func (r *reader) readSign(i int) bool {
	op := map[string]string{"positive": ">", "negative": "<"}[r.lower(i)]
	if op == "" || r.linkAt(i) != nil {
		return false
	}
	k := r.linkFrom(i+1, nil)
	c := r.measureOf(k)
	if c == nil || !numericColumn(c) {
		return false
	}
	r.take(i, k.to)
	r.addCompare(c, comparator{op: op}, 0, 0, i)
	return true
}

// readBetween reads "between 3 and 7" and "from 3 to 7".
func (r *reader) readBetween(i int) bool {
	at := i + 1
	switch r.lower(i) {
	case "between", "from":
		if wordIs(r.lower(at), "the", "age", "year", "years", "ages") {
			if r.lower(at) == "the" {
				at++
			}
			if r.linkAt(at) != nil && !r.tokens[at].isNumber {
				at = r.linkAt(at).to
			}
		}
	default:
		// "1 to 2 dogs"
		if !r.tokens[i].isNumber || r.lower(i+1) != "to" {
			return false
		}
		at = i
	}
	low, end, ok := numberAt(r.tokens, at)
	if !ok || !wordIs(r.lower(end), "and", "to", "through", "until", "-", "–") {
		return false
	}
	high, end2, ok := numberAt(r.tokens, end+1)
	if !ok {
		return false
	}
	return r.compare(i, end2, comparator{op: "between"}, low, high)
}

// readOrMore reads "5 or more".
func (r *reader) readOrMore(i int) bool {
	n, end, ok := numberAt(r.tokens, i)
	if !ok {
		return false
	}
	op := ""
	stop := -1
	if stop = phrase(r.tokens, end, "or more|higher|greater|above|later|after|older|over|better|larger"); stop > 0 {
		op = ">="
	} else if stop = phrase(r.tokens, end, "or less|fewer|lower|below|earlier|before|younger|under|smaller"); stop > 0 {
		op = "<="
	} else {
		return false
	}
	return r.compare(i, stop, comparator{op: op}, n, 0)
}

// readComparison reads what is compared with, after the words that compare.
func (r *reader) readComparison(i, end int, c comparator) bool {
	if c.op == "=" && r.lower(i) == "only" {
		if _, _, ok := numberAt(r.tokens, end); !ok {
			return false
		}
	}
	at := end
	for wordIs(r.lower(at), "the", "a", "an", "that", "of", "than", "$", "£", "€", "year", "age") && r.linkAt(at) == nil || wordIs(r.lower(at), "$") {
		at++
	}
	var named *link
	if n, stop, ok := numberAt(r.tokens, at); ok {
		if yearLike(n) && wordIs(r.lower(i), "under", "over", "above", "below") && at > end {
			return false // "listed under the year 1999"
		}
		return r.compare(i, stop, c, n, 0)
	}
	// "above age 20"
	if k := r.linkFrom(at, articles); k != nil && len(k.columns) > 0 {
		if n, stop, ok := numberAt(r.tokens, skipWords(r.tokens, k.to, "of", "is")); ok && !wordIs(r.lower(k.from), "average", "minimum", "maximum") {
			if col := r.columnOf(k, measurable); col != nil {
				named = k
				r.takeLink(named)
				r.take(i, stop)
				r.addCompare(col, c, n, 0, i)
				r.q.conds[len(r.q.conds)-1].end = stop
				return true
			}
		}
	}
	return r.compareWithFigure(i, at, c)
}

// compareWithFigure reads "above the average …" and "than the lowest …".
func (r *reader) compareWithFigure(i, at int, c comparator) bool {
	if c.hint == "year" && !wordIs(r.lower(at), "average", "mean") {
		return false
	}
	figure := ""
	switch w := r.lower(at); {
	case aggregates[w] == "avg":
		figure = "avg"
	default:
		s, ok := superlatives[w]
		if !ok || s.hint != "" || w == "most" || w == "top" || w == "least" {
			return false
		}
		figure = "min"
		if s.desc {
			figure = "max"
		}
	}
	stop := at + 1
	col := (*column)(nil)
	after := r.linkFrom(stop, articles)
	if after != nil {
		if col = r.columnOf(after, measurable); col != nil && col.kind == kindNumber {
			r.takeLink(after)
		} else {
			col = nil
		}
	}
	before := r.linkBefore(i, copulas)
	if b := r.measureOf(before); b != nil && (col == nil || b == col) {
		col = b
		r.takeLink(before)
	}
	if col == nil && c.hint != "" {
		col = r.hinted(c.hint, measurable)
	}
	if col == nil {
		return false
	}
	r.take(i, stop)
	op := c.op
	if r.negatedAt(i) {
		op = flipped[op]
	}
	r.q.conds = append(r.q.conds, cond{column: col, op: op, sub: figure, at: i})
	r.note(col.name + " compared with its " + figure)
	return true
}

// compare finds what a number is compared with, and adds the condition.
func (r *reader) compare(i, end int, c comparator, low, high float64) bool {
	col, counted, k := r.compared(i, end, c, low)
	if last := r.lastCompared(i); last != nil && (k == nil || k.from < i) && r.linkFrom(end, nil) == nil {
		// "no less than 3 and no more than 7"
		col, counted, k = last, nil, nil
	}
	switch {
	case counted != nil:
		op := c.op
		if r.negatedAt(i) {
			op = flipped[op]
		}
		r.q.having = append(r.q.having, having{op: op, n: low, high: high, table: counted})
		if k != nil {
			r.takeLink(k)
		}
		if wordIs(r.lower(end), "times", "time") {
			r.take(end, end+1)
		}
		r.take(i, end)
		r.note("by the number of " + join(counted.words))
		return true
	case col != nil:
		if k != nil {
			r.takeLink(k)
		}
		if col.kind == kindTime && !col.typed {
			low, high = low*unitOf(r.lower(end)), high*unitOf(r.lower(end))
		}
		r.take(i, end)
		if figure := r.figureBefore(k, i); figure != "" && c.op != "between" {
			// "whose average age is above 7": of each group.
			op := c.op
			if r.negatedAt(i) {
				op = flipped[op]
			}
			r.q.having = append(r.q.having, having{op: op, n: low, agg: figure, col: col})
			r.note("by the " + item{agg: figure, column: col}.label())
			return true
		}
		r.addCompare(col, c, low, high, i)
		r.q.conds[len(r.q.conds)-1].end = end
		return true
	}
	return false
}

// unitOf is how many seconds a unit of time has; 1 for what is none.
func unitOf(w string) float64 {
	switch lemma(w) {
	case "minute":
		return 60
	case "hour":
		return 3600
	}
	return 1
}

// figureBefore is the figure that a column is named with before a comparison,
// where there are groups for it.
func (r *reader) figureBefore(k *link, i int) string {
	if k == nil || k.from > i || r.solo() {
		return ""
	}
	figure := aggregates[r.lower(k.from-1)]
	if figure != "avg" && r.find("each|every|for") < 0 {
		return ""
	}
	if figure != "" {
		r.take(k.from-1, k.from)
	}
	return figure
}

func (r *reader) addCompare(col *column, c comparator, low, high float64, at int) {
	op := c.op
	if op != "between" && r.negatedAt(at) {
		op = flipped[op]
	}
	if r.flip {
		op, r.flip = mirrored[op], false
	}
	r.q.conds = append(r.q.conds, cond{column: col, op: op, low: low, high: high, at: at})
	r.note(col.name + " " + op + " " + number(low))
}
