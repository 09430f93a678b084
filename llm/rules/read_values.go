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
				r.q.conds[i].each = r.joinedWith(previous, k) == "and"
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
			if k := r.linkAt(j); !r.taken(j) && (k == nil || r.isTable(k) == nil) {
				return "" // "the Chess club and the Rowing club" is a list
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
	if names < 0.6 && !r.solo() && len(k.tables) == 0 && slices.ContainsFunc(k.values, func(m valueMatch) bool { return m.exact }) {
		return true // only a description has the word
	}
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
			if s := columnScore(beside, m.column); s > 0 && (m.exact || !wordIs(r.lower(k.from-1), "of") || !slices.ContainsFunc(k.values, func(o valueMatch) bool { return o.exact })) {
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
		if r.named(m.column.table) {
			score += 0.1
			if len(r.spoken) > 0 && r.spoken[0].table == m.column.table {
				score += 0.02
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
	}
	if after := r.linkFrom(k.to, set("as their its the his her a listed")); after != nil && columnScore(after, c) > 0.5 && r.isTable(after) == nil {
		r.takeLink(after)
	}
}
