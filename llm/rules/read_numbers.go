package rules

import "slices"

// readContains reads "with the letter x in its …" and "… contains 'x'".
func (r *reader) readContains() {
	for i := range r.tokens {
		if r.taken(i) {
			continue
		}
		end := -1
		for _, p := range []string{"the? letter|word|words|substring|string|text|phrase", "contain|contains|containing|including|includes|include the? letter|word|words|substring|text|phrase?",
			"having|has"} {
			if e := phrase(r.tokens, i, p); e > end {
				end = e
			}
		}
		if end < 0 || end >= len(r.tokens) || r.tokens[end].mark || r.taken(end) {
			continue
		}
		quoted := r.tokens[end].quote != 0
		if wordIs(r.lower(i), "having", "has") && !quoted || r.linkAt(i) != nil && r.linkAt(i).from < i {
			continue
		}
		if !quoted && !wordIs(r.lower(end-1), "letter", "word", "substring", "phrase") {
			continue
		}
		stop := end + 1
		for quoted && stop < len(r.tokens) && r.tokens[stop].quote == r.tokens[end].quote {
			stop++
		}
		// The column stands after "in its", else before.
		k := r.linkFrom(stop, set("in on the its their his her of within as part any"))
		c := r.columnOf(k, func(c *column) bool { return c.kind == kindText })
		if c == nil {
			k = r.linkBefore(i, copulas)
			if c = r.columnOf(k, func(c *column) bool { return c.kind == kindText }); c == nil {
				continue
			}
		}
		if wordIs(r.lower(i), "text", "string") && !quoted {
			continue
		}
		r.takeLink(k)
		r.take(i, stop)
		var words []string
		for _, t := range r.tokens[end:stop] {
			words = append(words, t.text)
		}
		r.q.conds = append(r.q.conds, cond{column: c, op: "like", texts: []string{join(words)}, at: i, negated: r.negatedAt(i)})
		r.note(c.name + " contains " + join(words))
	}
}

// readNumbers reads numbers that stand beside a column, and years.
func (r *reader) readNumbers() {
	var last *cond
	lastEnd := -1
	for i := 0; i < len(r.tokens); i++ {
		if r.taken(i) {
			continue
		}
		n, end, ok := numberAt(r.tokens, i)
		if !ok || slices.Contains(r.used[i:end], true) || wordIs(r.lower(i), "one", "single", "once", "second", "hundred", "thousand", "million") && r.linkFrom(end, nil) == nil {
			continue
		}
		if last != nil && lastEnd > 0 && r.lower(lastEnd) != "" && wordIs(r.lower(i-1), "or", "and") && i-1 <= lastEnd+1 {
			next := cond{column: last.column, op: "=", low: n, at: i}
			if r.lower(i-1) == "and" && !r.solo() {
				r.q.both = true
			} else {
				r.orSeq++
				r.q.conds[len(r.q.conds)-1].or = r.orSeq
				next.or = r.orSeq
			}
			r.q.conds = append(r.q.conds, next)
			r.take(i-1, end)
			last, lastEnd = &r.q.conds[len(r.q.conds)-1], end
			continue
		}
		c, k := r.numberColumn(i, end, n)
		if c == nil {
			if c = r.yearColumn(n); c != nil {
				r.take(i, end)
				text := number(n)
				r.q.conds = append(r.q.conds, cond{column: c, op: "sql", at: i, end: end, negated: r.negatedAt(i),
					sql: func(ref string) string { return "regexp_matches(" + ref + ", '(^|[^0-9])" + text + "([^0-9]|$)')" }})
				r.note(c.name + " has " + text)
			}
			continue
		}
		if k != nil {
			r.takeLink(k)
		}
		r.take(i, end)
		op := "="
		if r.negatedAt(i) {
			op = "<>"
		}
		r.q.conds = append(r.q.conds, cond{column: c, op: op, low: n, at: i})
		r.note(c.name + " " + op + " " + number(n))
		last, lastEnd = &r.q.conds[len(r.q.conds)-1], end
	}
}

// yearColumn is a column whose texts contain years: a season.
func (r *reader) yearColumn(n float64) *column {
	if !yearLike(n) {
		return nil
	}
	for _, w := range hintColumns["year"] {
		for _, t := range r.tables {
			for _, c := range t.columns {
				if c.kind == kindText && slices.Contains(c.words, w) && len(t.index.containing(number(n)))+len(t.index.words[number(n)]) > 0 {
					return c
				}
			}
		}
	}
	return nil
}

func (r *reader) numberColumn(i, end int, n float64) (*column, *link) {
	if before := r.linkBefore(i, copulas); before != nil {
		if c := r.measureOf(before); c != nil && (c.kind != kindDate || yearLike(n)) {
			if year := r.yearBeside(i, n, c); year != nil {
				return year, nil
			}
			return c, before
		}
	}
	if after := r.linkFrom(end, nil); after != nil {
		if c := r.measureOf(after); c != nil && numericColumn(c) {
			return c, after
		}
	}
	if when := r.whenSaid(); when != nil && yearLike(n) {
		return when, nil
	}
	if yearLike(n) {
		if c := r.hinted("year", measurable); c != nil {
			return c, nil
		}
	}
	return nil, nil
}

// yearBeside is the date that a year tells of which stands after a figure: "the
// revenue in 2025". It is nil where the number may be the figure itself.
func (r *reader) yearBeside(i int, n float64, c *column) *column {
	if r.solo() || !yearLike(n) || !numericColumn(c) || c.years() || slices.Contains(c.words, "year") || !wordIs(r.lower(i-1), "in", "of", "during", "for") {
		return nil
	}
	for _, date := range c.table.columns {
		if date.kind == kindDate {
			return date
		}
	}
	return nil
}
