package rules

import (
	"slices"
	"strings"
)

// readValues reads the values that are named as conditions.
func (r *reader) readValues() {
	var previous *link
	var last *cond
	for _, k := range r.links {
		if !r.free(k) || len(k.values) == 0 {
			continue
		}
		if !r.isValue(k) {
			continue
		}
		m := r.valueOf(k, previous, last)
		if m == nil {
			continue
		}
		r.takeValue(k, m.column)
		texts := m.texts()
		if !m.exact {
			r.doubt(0.05)
		}
		c := cond{column: m.column, op: "in", texts: texts, at: k.from, negated: r.negatedAt(k.from), link: k, exact: m.exact && !m.guess}
		if last != nil && last.column == c.column && last.negated == c.negated && r.joinedWith(previous, k) != "" {
			for j := previous.to; j < k.from; j++ {
				r.take(j, j+1)
			}
			if r.joinedWith(previous, k) == "and" && !r.solo() && (r.saysBoth(previous) || r.related(c.column) || r.tellsOthers(c.column)) && !c.negated {
				r.q.both = true
			} else {
				i := len(r.q.conds) - 1
				r.q.conds[i].texts = append(r.q.conds[i].texts, texts...)
				previous, last = k, &r.q.conds[i]
				continue
			}
		}
		r.q.conds = append(r.q.conds, c)
		r.note(c.column.name + " is " + saysAll(texts))
		previous, last = k, &r.q.conds[len(r.q.conds)-1]
	}
}

func first(texts []string, n int) []string { return texts[:min(n, len(texts))] }

// related reports whether a column is of a table that the main one has several
// rows of.
func (r *reader) related(c *column) bool {
	main := r.q.main
	if main == nil && len(r.spoken) > 0 {
		main = r.spoken[0].table
	}
	return main != nil && main != c.table && r.joins.manyOf(main, c.table)
}

// tellsOthers reports whether the rows of a column's table stand for things of
// another table, by the first column that is named.
func (r *reader) tellsOthers(c *column) bool {
	if len(r.q.items) > 0 || len(r.links) == 0 {
		return false
	}
	first := r.columnOf(r.links[0], nil)
	return first != nil && first != c && r.joins.refs[first] && (first.table != c.table || !first.unique)
}

func (r *reader) saysBoth(k *link) bool {
	for j := k.from - 1; j >= 0 && j > k.from-5; j-- {
		if r.lower(j) == "both" {
			return true
		}
	}
	return false
}

// joinedWith says whether two links are joined by and, or, or a comma; "" when
// they are not.
func (r *reader) joinedWith(a, b *link) string {
	if a == nil {
		return ""
	}
	joined := ""
	for j := a.to; j < b.from; j++ {
		switch w := r.lower(j); w {
		case "or", "and":
			joined = w
		case ",":
			if joined == "" {
				joined = "or"
			}
		case "in", "the", "a", "either", "also", "not":
		default:
			if !r.used[j] {
				return ""
			}
		}
	}
	return joined
}

// isValue reports whether a link is a value rather than a name.
func (r *reader) isValue(k *link) bool {
	if r.tokens[k.from].quote != 0 {
		return true
	}
	names := 0.0
	for _, c := range k.columns {
		names = max(names, c.score)
	}
	for _, t := range k.tables {
		names = max(names, t.score)
	}
	if r.tokens[k.from].isNumber && k.to == k.from+1 {
		return slices.ContainsFunc(k.values, func(m valueMatch) bool { return m.exact && m.column.kind == kindText })
	}
	if names == 0 {
		return true
	}
	capital := k.from > 0 && r.tokens[k.from].capital
	exact := slices.ContainsFunc(k.values, func(m valueMatch) bool { return m.exact && !m.guess })
	return exact && (capital || names < 0.75)
}

// valueOf picks the column whose value a link is.
func (r *reader) valueOf(k, previous *link, last *cond) *valueMatch {
	before, after := r.linkBefore(k.from, copulas), r.linkFrom(k.to, set("the of is as a"))
	var best *valueMatch
	bestScore := -1.0
	for i := range k.values {
		m := &k.values[i]
		score := 0.3
		switch {
		case m.exact && !m.guess:
			score = 0.6
		case m.guess:
			score = 0.5
		}
		if m.exact && m.refs != nil && sameCase(r.tokens[k.from:k.to], m.refs[0].text()) {
			score += 0.05
		}
		for _, beside := range []*link{before, after} {
			if beside == nil || beside == k {
				continue
			}
			if s := columnScore(beside, m.column); s > 0 {
				score += 0.4 * s
			}
			if t := r.isTable(beside); t == m.column.table {
				score += 0.15
				if m.column == nameColumn(t) {
					score += 0.15
				}
			}
		}
		if last != nil && last.column == m.column && r.joinedWith(previous, k) != "" {
			score += 0.5
		}
		for n, s := range r.spoken {
			if s.table == m.column.table {
				score += 0.1
				if n == 0 {
					score += 0.02
				}
				break
			}
		}
		if m.column.kind != kindText && m.column.kind != kindDate {
			score -= 0.1
		}
		if m.column == nameColumn(m.column.table) {
			score += 0.03
		}
		if score > bestScore {
			best, bestScore = m, score
		}
	}
	return best
}

func sameCase(tokens []token, text string) bool {
	return strings.HasPrefix(text, tokens[0].text)
}

// takeValue marks a value as understood, with the name of its column beside it.
func (r *reader) takeValue(k *link, c *column) {
	r.takeLink(k)
	if before := r.linkBefore(k.from, copulas); before != nil && columnScore(before, c) > 0.5 && r.isTable(before) == nil {
		r.takeLink(before)
	} else if before != nil && r.isTable(before) == c.table {
		// "the airport AKO": the table is named with it.
		_ = before
	}
	if after := r.linkFrom(k.to, set("as their its the his her a listed")); after != nil && columnScore(after, c) > 0.5 && r.isTable(after) == nil && !r.headAfter(after) {
		r.takeLink(after)
	}
}

// headAfter reports whether a column after a value is what is asked for.
func (r *reader) headAfter(k *link) bool { return false }

// readContains reads "with the letter w in its …" and "… contains 'x'".
func (r *reader) readContains() {
	for i := range r.tokens {
		if r.used[i] {
			continue
		}
		end := -1
		for _, p := range []string{"the? letter|word|words|substring|string|text|phrase", "contain|contains|containing|including|includes|include the? letter|word|words|substring|text|phrase?",
			"having|has"} {
			if e := phrase(r.tokens, i, p); e > end {
				end = e
			}
		}
		if end < 0 || end >= len(r.tokens) || r.tokens[end].mark || r.used[end] {
			continue
		}
		quoted := r.tokens[end].quote != 0
		if wordIs(r.lower(i), "having", "has") && !quoted || r.at[i] != nil && r.at[i].from < i {
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
		if r.used[i] {
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
			if c = r.readYears(i, n); c != nil {
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

// readYears reads a year of a column whose texts only contain it: a season.
func (r *reader) readYears(i int, n float64) *column {
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
			return c, before
		}
	}
	if after := r.linkFrom(end, nil); after != nil {
		if c := r.measureOf(after); c != nil && numericColumn(c) {
			return c, after
		}
	}
	if yearLike(n) {
		if c := r.hinted("year", measurable); c != nil {
			return c, nil
		}
	}
	return nil, nil
}

// readAbsence reads "without any …" and "that do not have any …".
func (r *reader) readAbsence() {
	if len(r.tables) < 2 {
		return
	}
	for i := range r.tokens {
		if r.used[i] {
			continue
		}
		end := -1
		for _, p := range []string{"without any|a?", "no", "not a? single", "not|never have|hire|use|used|own|contain|include|receive|received|win|won|had|hold by|in|for|any|a? any|a? single?",
			"not|never used|assigned|associated in|by|for|with|to any|a?", "never"} {
			if e := phrase(r.tokens, i, p); e > end {
				end = e
			}
		}
		if wordIs(r.lower(i), "not", "never") {
			for j := i + 1; j < len(r.tokens) && j <= i+4; j++ {
				if wordIs(r.lower(j), "any", "a", "an", "single") && r.at[j] == nil {
					end = j + 1
					break
				}
			}
		}
		if wordIs(r.lower(i), "except", "excluding") {
			for j := i + 1; j < len(r.tokens); j++ {
				if k := r.at[j]; k != nil && r.isTable(k) != nil && r.otherTable(r.isTable(k), k) {
					end = k.from
					break
				}
			}
		}
		if end < 0 {
			continue
		}
		k := r.linkFrom(end, set("any a an the single of in by have has had received won yet"))
		if k == nil {
			continue
		}
		t := r.isTable(k)
		if t == nil && wordIs(r.lower(i), "never", "not", "without") && r.lower(end-1) == "any" {
			// "any award in the evaluation": rows of the table said next.
			for _, m := range r.spoken {
				if m.link.from > k.from {
					t = m.table
					r.takeLink(m.link)
					break
				}
			}
		}
		if t == nil || !r.otherTable(t, k) {
			continue
		}
		r.take(i, end)
		if r.q.negations == nil {
			r.q.negations = map[int]bool{}
		}
		r.q.negations[i] = true
		r.takeLink(k)
		r.q.absent = append(r.q.absent, absence{table: t, at: i})
		r.note("with no " + join(t.words))
	}
}

// otherTable reports whether a table other than this one is named before it.
func (r *reader) otherTable(t *table, k *link) bool {
	return slices.ContainsFunc(r.links, func(o *link) bool {
		if o.to > k.from {
			return false
		}
		if n := r.isTable(o); n != nil {
			return n != t
		}
		c := r.columnOf(o, nil)
		return c != nil && c.table != t
	})
}

// flagWords are how columns that say yes or no write it.
var flagWords = map[string]bool{"t": true, "true": true, "y": true, "yes": true, "1": true, "f": false, "false": false, "n": false, "no": false, "0": false}

// flags are the values of a column that say yes and no; false when it is no
// column of that kind.
func (c *column) flags() (yes, no string, ok bool) {
	if c.kind == kindBool {
		return "true", "false", true
	}
	if !c.complete || len(c.values) == 0 || len(c.values) > 2 || c.kind == kindNumber && !slices.Contains(c.words, "is") && !slices.Contains(c.words, "has") {
		return "", "", false
	}
	for _, v := range c.values {
		says, known := flagWords[strings.ToLower(strings.TrimSpace(v))]
		switch {
		case !known:
			return "", "", false
		case says:
			yes = v
		default:
			no = v
		}
	}
	return yes, no, true
}

// readFlags reads the names of columns that say yes or no as conditions.
func (r *reader) readFlags() {
	for _, k := range r.links {
		if !r.free(k) || r.isTable(k) != nil {
			continue
		}
		c := r.columnOf(k, nil)
		if c == nil {
			continue
		}
		yes, no, ok := c.flags()
		if !ok || r.zones.asked[k.from] && len(r.q.items) == 0 && r.linkFrom(k.to, nil) == nil {
			continue
		}
		value := yes
		if r.negatedAt(k.from) {
			value = no
		}
		if value == "" {
			continue
		}
		r.takeLink(k)
		r.q.conds = append(r.q.conds, cond{column: c, op: "in", texts: []string{value}, at: k.from})
		r.note(c.name + " is " + value)
	}
}
