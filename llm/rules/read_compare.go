package rules

import "slices"

// readComparisons reads "more than 5 …", "before 1990", "between 3 and 7".
func (r *reader) readComparisons() {
	for i := 0; i < len(r.tokens); i++ {
		if r.taken(i) || r.tokens[i].mark {
			continue
		}
		if r.readBetween(i) || r.readOrMore(i) {
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
		// "1 to 2 paragraphs"
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
		r.take(i, end)
		r.addCompare(col, c, low, high, i)
		r.q.conds[len(r.q.conds)-1].end = end
		return true
	}
	return false
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
