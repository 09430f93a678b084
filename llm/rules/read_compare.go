package rules

import "slices"

// readComparisons reads "more than 5 …", "before 1990", "between 3 and 7".
func (r *reader) readComparisons() {
	for i := 0; i < len(r.tokens); i++ {
		if r.used[i] || r.tokens[i].mark {
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
			if k := r.at[i]; k != nil && (k.from < i || k.to > end) {
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
			if r.at[at] != nil && !r.tokens[at].isNumber {
				at = r.at[at].to
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
	return r.compare(i, end2, comparator{op: "between"}, low, high, at)
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
	return r.compare(i, stop, comparator{op: op}, n, 0, i)
}

// readComparison reads what is compared with, after the words that compare.
func (r *reader) readComparison(i, end int, c comparator) bool {
	if c.op == "=" && r.lower(i) == "only" {
		if _, _, ok := numberAt(r.tokens, end); !ok {
			return false
		}
	}
	at := end
	for wordIs(r.lower(at), "the", "a", "an", "that", "of", "than", "$", "£", "€", "year", "age") && r.at[at] == nil || wordIs(r.lower(at), "$") {
		at++
	}
	var named *link
	if n, stop, ok := numberAt(r.tokens, at); ok {
		if yearLike(n) && wordIs(r.lower(i), "under", "over", "above", "below") && at > end {
			return false // "listed under the year 1999"
		}
		return r.compare(i, stop, c, n, 0, at)
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

func skipWords(tokens []token, i int, words ...string) int {
	for i < len(tokens) && slices.Contains(words, tokens[i].lower) {
		i++
	}
	return i
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
func (r *reader) compare(i, end int, c comparator, low, high float64, numberAt int) bool {
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
	_ = numberAt
	return false
}

// lastCompared is the column that the comparison just before a token is of,
// joined to it by no more than "and" or "or".
func (r *reader) lastCompared(i int) *column {
	if len(r.q.conds) == 0 {
		return nil
	}
	last := r.q.conds[len(r.q.conds)-1]
	if last.op == "in" || last.end == 0 {
		return nil
	}
	joined := false
	for j := last.end; j < i; j++ {
		switch r.lower(j) {
		case "and", "or", "but":
			joined = true
		case ",", "also", "either":
		default:
			return nil
		}
	}
	if !joined {
		return nil
	}
	return last.column
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

// compared finds the column that a number is compared with, or the table whose
// rows are counted.
func (r *reader) compared(i, end int, c comparator, n float64) (*column, *table, *link) {
	if wordIs(r.lower(end), "times", "time") || wordIs(r.lower(end-1), "once", "twice") {
		if t := r.otherSpoken(); t != nil {
			return nil, t, nil
		}
	}
	skip := set("of the different distinct other total more % $")
	if k := r.linkFrom(end, skip); k != nil && r.tableFor(k) != nil {
		if next := r.linkFrom(k.to, nil); next != nil && len(next.values) == 0 && r.compound(k, next) {
			r.takeLink(k) // "3 car models": models
			end = next.from
		}
	}
	if k := r.linkFrom(end, skip); k != nil {
		t := r.tableFor(k)
		col := r.columnOf(k, func(c *column) bool { return numericColumn(c) && !r.bareKey(k, c) })
		if before := r.linkBefore(i, copulas); before != nil && col != nil {
			if other := r.measureOf(before); other != nil && columnScore(before, other) > columnScore(k, col) {
				r.takeLink(k)
				return other, nil, before
			}
		}
		if col != nil && (t == nil || col.table != t && columnScore(k, col) >= 0.95) {
			return col, nil, k
		}
		if c := r.columnOf(k, nil); r.solo() && c != nil && c.kind == kindText && !yearLike(n) && n < 1000 {
			return nil, c.table, k // more than 3 riders: rows
		}
		if t != nil && len(r.tables) > 1 && !yearLike(n) {
			return nil, t, k
		}
	}
	if before := r.linkBefore(i, copulas); before != nil {
		if col := r.measureOf(before); col != nil {
			return col, nil, before
		}
	}
	if c.hint != "" && !(c.hint == "year" && !yearLike(n)) {
		if col := r.hinted(c.hint, measurable); col != nil {
			if c.hint == "speed" && !slices.Contains(col.words, "speed") {
				r.flip = true // the faster, the less time
			}
			return col, nil, nil
		}
	}
	if wordIs(r.lower(end-2), "$", "£", "€") || wordIs(r.lower(end), "dollars", "euros", "pounds", "$", "€", "usd") {
		if col := r.hinted("money", numericColumn); col != nil {
			return col, nil, nil
		}
	}
	if yearLike(n) {
		if col := r.hinted("year", measurable); col != nil {
			return col, nil, nil
		}
	}
	if n := len(r.q.conds); n > 0 && r.q.conds[n-1].end > 0 && r.q.conds[n-1].column.kind == kindNumber && r.sameSentence(r.q.conds[n-1].at, i) {
		return r.q.conds[n-1].column, nil, nil
	}
	// The nearest column of numbers named before it.
	for j := i - 1; j >= 0 && j > i-8; j-- {
		if k := r.at[j]; k != nil && !r.used[j] {
			if col := r.measureOf(k); col != nil && numericColumn(col) {
				return col, nil, k
			}
		}
	}
	return nil, nil, nil
}

// otherSpoken is a table that rows of the first that is named have several of.
func (r *reader) otherSpoken() *table {
	if len(r.spoken) == 0 {
		return nil
	}
	first := r.spoken[0].table
	for _, m := range r.spoken[1:] {
		if m.table != first && r.joins.manyOf(first, m.table) {
			return m.table
		}
	}
	for _, t := range r.tables {
		if steps, ok := r.joins.path(first, t); ok && len(steps) == 1 && r.joins.manyOf(first, t) {
			return t
		}
	}
	return nil
}

// measureOf is the column of figures that a link names; the key of a table that
// is named is none.
func (r *reader) measureOf(k *link) *column {
	t := r.isTable(k)
	return r.columnOf(k, func(c *column) bool {
		return measurable(c) && (t == nil || columnScore(k, c) >= 0.95 && !isKeyName(c)) && !r.bareKey(k, c)
	})
}

// bareKey reports whether a column only tells rows apart, and was not asked for
// as such.
func (r *reader) bareKey(k *link, c *column) bool {
	if !r.joins.refs[c] || r.solo() && !slices.Contains(c.words, "id") {
		return false
	}
	for _, t := range r.tokens[k.from:k.to] {
		if slices.Contains(keyWords, t.lemma) {
			return false
		}
	}
	return true
}

func columnScore(k *link, c *column) float64 {
	for _, m := range k.columns {
		if m.column == c {
			return m.score
		}
	}
	return 0
}
