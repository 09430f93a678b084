package rules

import "slices"

func skipWords(tokens []token, i int, words ...string) int {
	for i < len(tokens) && slices.Contains(words, tokens[i].lower) {
		i++
	}
	return i
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

// compared finds the column that a number is compared with, or the table whose
// rows are counted.
func (r *reader) compared(i, end int, c comparator, n float64) (*column, *table, *link) {
	if wordIs(r.lower(end), "times", "time") || wordIs(r.lower(end-1), "once", "twice") {
		if t := r.otherSpoken(); t != nil {
			return nil, t, nil
		}
	}
	if piece := phrase(r.tokens, end, pieceWords+"? left?"); !r.solo() && (piece > end || r.lower(end) == "in") {
		// "less than 10 pieces in stock"
		if k := r.linkFrom(piece, set("in on of left the")); k != nil && r.isTable(k) == nil {
			if col := r.measureOf(k); col != nil && numericColumn(col) {
				r.take(end, piece)
				return col, nil, k
			}
		}
	}
	skip := set("of the different distinct other total more % $")
	if k := r.linkFrom(end, skip); k != nil && r.tableFor(k) != nil {
		if next := r.linkFrom(k.to, nil); next != nil && len(next.values) == 0 && r.compound(k, next) {
			r.takeLink(k) // "3 dog breeds": breeds
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
	if when := r.whenSaid(); when != nil && yearLike(n) && wordIs(c.hint, "year", "") {
		return when, nil, nil
	}
	if c.hint != "" && !(c.hint == "year" && !yearLike(n)) {
		if col := r.hinted(c.hint, measurable); col != nil {
			if c.hint == "age" && tellsBirth(col) && !yearLike(n) && !r.solo() {
				return nil, nil, nil // how old someone is today is not known
			}
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
	if only := r.onlyMeasure(); only != nil && !yearLike(n) {
		r.doubt(0.05)
		return only, nil, nil
	}
	// The nearest column of numbers named before it.
	for j := i - 1; j >= 0 && j > i-8; j-- {
		if k := r.linkAt(j); k != nil && !r.taken(j) {
			if col := r.measureOf(k); col != nil && numericColumn(col) {
				return col, nil, k
			}
		}
	}
	return nil, nil, nil
}

// onlyMeasure is the one column of figures of the table that is named; nil when
// it has several or none.
func (r *reader) onlyMeasure() *column {
	if len(r.spoken) == 0 {
		return nil
	}
	var only *column
	for _, c := range r.spoken[0].table.columns {
		if c.kind != kindNumber || r.joins.refs[c] {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
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
	if k == nil {
		return nil
	}
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
