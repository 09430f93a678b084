package rules

import "slices"

// findTables sees which tables are named.
func (r *reader) findTables() {
	for _, k := range r.links {
		if t := r.tableOf(k); t != nil {
			r.spoken = append(r.spoken, mention{t, k})
			continue
		}
		// "of all owners": rows of a table, though a column fits the word better.
		before := k.from - 1
		for wordIs(r.lower(before), "the", "all", "any", "some") {
			before--
		}
		if wordIs(r.lower(before), "of", "for", "by", "each", "every") && len(k.values) == 0 {
			if t := r.tableFor(k); t != nil {
				r.spoken = append(r.spoken, mention{t, k})
			}
		}
	}
}

// tableOf is the table that a link names; nil when it names none.
func (r *reader) tableOf(k *link) *table {
	var best *table
	bestScore := 0.0
	for _, m := range k.tables {
		score := m.score
		if len(r.tables) == 1 {
			score *= 0.9
		}
		for _, other := range r.links {
			if other == k {
				continue
			}
			for _, c := range other.columns {
				if c.column.table == m.table && c.score >= 0.85 {
					score += 0.06
					break
				}
			}
		}
		if score > bestScore {
			best, bestScore = m.table, score
		}
	}
	if best == nil || l(k) == 1 && quietWords[r.lower(k.from)] && bestScore < 0.95 {
		return nil
	}
	// A column that fits better is meant, unless tables are what is counted.
	own := 0.0
	for _, m := range k.tables {
		own = max(own, m.score)
	}
	for _, c := range k.columns {
		if c.score > own+0.08 {
			return nil
		}
	}
	return best
}

// isTable reports whether a link was found to name a table.
func (r *reader) isTable(k *link) *table {
	for _, m := range r.spoken {
		if m.link == k {
			return m.table
		}
	}
	return nil
}

// nearestTable is the table named next after a link, else the one before it.
func (r *reader) nearestTable(k *link) (after, before *table) {
	for _, m := range r.spoken {
		if m.link.from >= k.to && after == nil {
			after = m.table
			// A column that names its table speaks of it too.
			for _, o := range r.links {
				if o.from >= k.to && o.from < m.link.from && r.isTable(o) == nil && after == m.table {
					if t := ownTable(o); t != nil {
						after = t
					}
				}
			}
		}
		if m.link.to <= k.from {
			before = m.table
		}
	}
	return after, before
}

// ofTable is the table that follows a link directly: "the names of their ships".
func (r *reader) ofTable(k *link) *table {
	if !wordIs(r.lower(k.to), "of", "for") {
		return nil
	}
	at := k.to + 1
	for wordIs(r.lower(at), "the", "their", "its", "all", "each", "every", "his", "her", "these", "those") {
		at++
	}
	if o := r.linkAt(at); o != nil && o.from == at {
		return r.isTable(o)
	}
	return nil
}

// ownTable is the table that a link to a column names with it; nil when it names
// none.
func ownTable(k *link) *table {
	if l(k) < 2 {
		return nil
	}
	for _, m := range k.columns {
		if m.score >= 0.95 && len(m.column.short) > 0 && len(m.column.short) < len(m.column.words) {
			return m.column.table
		}
	}
	return nil
}

// columnOf picks the column that a link names, by the tables around it; nil when
// it names none. Fits, unless nil, says which will do.
func (r *reader) columnOf(k *link, fits func(*column) bool) *column {
	if k == nil {
		return nil
	}
	after, before := r.nearestTable(k)
	var adjacent *table
	if p := r.linkBefore(k.from, nil); p != nil {
		adjacent = r.isTable(p)
	} else if k.from > 0 && r.linkAt(k.from-1) != nil {
		adjacent = r.isTable(r.linkAt(k.from - 1))
	}
	var best *column
	bestScore := 0.0
	called := !r.solo() && slices.ContainsFunc(k.columns, func(m columnMatch) bool { return m.score >= 0.97 && (fits == nil || fits(m.column)) })
	for _, m := range k.columns {
		if fits != nil && !fits(m.column) {
			continue
		}
		score := m.score
		if called && score <= 0.8 {
			score -= 0.3 // another is called just that
		}
		t := m.column.table
		if t == adjacent {
			score += 0.3
		}
		if t == after {
			score += 0.2
			if r.ofTable(k) == t {
				score += 0.4
			}
		}
		if t == before {
			score += 0.12
			if wordIs(r.lower(k.from-1), "its", "their", "his", "her") {
				score += 0.3
			}
		}
		if l(k) > 1 && (m.column.unique && overlap(m.column.words, t.words) || r.names(k, t)) {
			score += 0.35 // of the table that it names
		}
		if t == r.q.groupTable {
			score += 0.3
		}
		if t == r.listTable(k) {
			score += 0.25
		}
		if len(r.spoken) > 0 && r.spoken[0].table == t && after == nil && !r.sameSentence(r.spoken[0].link.from, k.from) {
			score += 0.25
		}
		for _, other := range r.spoken {
			if other.table == t {
				score += 0.08
				break
			}
		}
		for _, other := range r.links {
			if other != k && len(other.columns) > 0 && slices.ContainsFunc(other.columns, func(o columnMatch) bool { return o.column.table == t && o.score > 0.9 }) {
				score += 0.01
			}
		}
		if isKeyName(m.column) && len(m.column.words) == 1 && t == r.q.main {
			score += 0.05
		}
		if score > bestScore {
			best, bestScore = m.column, score
		}
	}
	return best
}

func l(k *link) int { return k.to - k.from }

// names reports whether a link has the name of a table among its words.
func (r *reader) names(k *link, t *table) bool {
	for _, w := range t.words {
		if !slices.ContainsFunc(r.tokens[k.from:k.to], func(x token) bool { return x.lemma == w }) {
			return false
		}
	}
	return len(t.words) > 0
}

// listTable is the table of the item that a link follows in a list.
func (r *reader) listTable(k *link) *table {
	for _, i := range r.q.items {
		if i.column != nil && i.link != nil && r.listedAfter(i.link, k) {
			return i.column.table
		}
	}
	return nil
}

// tableFor is the table that a link may name, though a column fits better; nil
// when none does.
func (r *reader) tableFor(k *link) *table {
	if t := r.isTable(k); t != nil {
		return t
	}
	var best *table
	score := 0.59
	for _, m := range k.tables {
		if m.score > score {
			best, score = m.table, m.score
		}
	}
	return best
}

func numericColumn(c *column) bool { return c.kind == kindNumber || c.kind == kindTime }

func measurable(c *column) bool { return numericColumn(c) || c.kind == kindDate }

// hinted finds a column that a hint speaks of, in the tables that are named
// first.
func (r *reader) hinted(hint string, fits func(*column) bool) *column {
	for _, pass := range []bool{true, false} {
		var tables []*table
		for _, t := range r.likely() {
			if r.named(t) == pass && (pass || r.beside(t)) {
				tables = append(tables, t)
			}
		}
		for _, w := range hintColumns[hint] {
			for _, t := range tables {
				for _, c := range t.columns {
					if r.unsaidBirth(hint, c) {
						continue
					}
					if (fits == nil || fits(c)) && (slices.Contains(c.words, w) || slices.Contains(c.hints, w) && pass) {
						return c
					}
				}
			}
		}
		if hint != "year" && hint != "date" {
			continue
		}
		// A date is one, whatever it is called.
		for _, t := range tables {
			for _, c := range t.columns {
				if c.kind == kindDate && (fits == nil || fits(c)) && !r.unsaidBirth(hint, c) {
					return c
				}
			}
		}
	}
	return nil
}

// unsaidBirth reports whether a column tells births, of which a question that asks
// when things happened does not speak.
func (r *reader) unsaidBirth(hint string, c *column) bool {
	return !r.solo() && (hint == "year" || hint == "date") && tellsBirth(c) && !saysBirth(r.tokens)
}

// named reports whether the question names a table, by itself or with a column.
func (r *reader) named(t *table) bool {
	return t == r.event || slices.ContainsFunc(r.spoken, func(m mention) bool { return m.table == t }) ||
		slices.ContainsFunc(r.links, func(k *link) bool {
			return l(k) > 1 && r.names(k, t) && slices.ContainsFunc(k.columns, func(m columnMatch) bool { return m.column.table == t && m.score >= 0.9 })
		})
}

// beside reports whether a table is one join away from one that is named; where
// none is, any will do.
func (r *reader) beside(t *table) bool {
	if len(r.spoken) == 0 {
		return true
	}
	return slices.ContainsFunc(r.spoken, func(m mention) bool {
		steps, ok := r.joins.path(m.table, t)
		return ok && len(steps) <= 1
	})
}
