package rules

import "fmt"

var comparatives = map[string]string{
	"more": ">", "greater": ">", "higher": ">", "larger": ">", "bigger": ">", "longer": ">", "better": ">", "older": ">", "heavier": ">", "taller": ">",
	"fewer": "<", "less": "<", "lower": "<", "smaller": "<", "shorter": "<", "younger": "<", "lighter": "<",
}

// readThan reads comparisons with what another row has: "more points than Rome",
// "a higher age than the dog with the lowest weight", "more staff than the
// average".
func (r *reader) readThan() {
	for i := range r.tokens {
		op, ok := comparatives[r.lower(i)]
		if !ok || r.taken(i) || r.linkAt(i) != nil && r.linkAt(i).from < i {
			continue
		}
		than := -1
		for j := i + 1; j < len(r.tokens) && j < i+9; j++ {
			if r.lower(j) == "than" && r.linkAt(j) == nil {
				than = j
				break
			}
		}
		if than < 0 {
			continue
		}
		c, k := r.thanColumn(i, than)
		if c == nil {
			continue
		}
		if r.thanObject(i, than, c, k, op) {
			return
		}
	}
}

// thanColumn is what is compared: the column between the words, or before them,
// or what the adjective speaks of.
func (r *reader) thanColumn(i, than int) (*column, *link) {
	for j := i; j < than; j++ {
		if k := r.linkAt(j); k != nil && k.from == j && !r.taken(j) {
			if c := r.measureOf(k); c != nil {
				return c, k
			}
		}
	}
	if than == i+1 {
		if k := r.linkBefore(i, copulas); k != nil {
			if c := r.measureOf(k); c != nil {
				return c, k
			}
		}
		if hint := adjectiveHints[r.lower(i)]; hint != "" {
			if c := r.hinted(hint, numericColumn); c != nil {
				return c, nil
			}
		}
	}
	return nil, nil
}

// thanObject reads what the column is compared with.
func (r *reader) thanObject(i, than int, c *column, k *link, op string) bool {
	at := than + 1
	for wordIs(r.lower(at), "the", "that", "of", "a", "an", "one", "any") && r.linkAt(at) == nil {
		at++
	}
	if _, _, isNumber := numberAt(r.tokens, at); isNumber && !wordIs(r.lower(at-1), "one") {
		return false
	}
	if r.negatedAt(i) {
		op = flipped[op]
	}
	done := func(to int) {
		if k != nil {
			r.takeLink(k)
		}
		r.take(i, i+1)
		r.take(than, to)
	}
	figure := aggregates[r.lower(at)]
	if s, ok := superlatives[r.lower(at)]; ok && figure == "" && s.hint == "" {
		figure = "min"
		if s.desc {
			figure = "max"
		}
	}
	if figure != "" && figure != "sum" {
		after := r.linkFrom(at+1, articles)
		if after == nil || columnScore(after, c) > 0.5 {
			done(at + 1)
			if after != nil {
				r.takeLink(after)
			}
			r.q.conds = append(r.q.conds, cond{column: c, op: op, sub: figure, at: i})
			r.inner = i + 1
			r.note(c.name + " compared with its " + figure)
			return true
		}
		return false
	}
	// The row that has the most or least of something else.
	for j := at; j < len(r.tokens); j++ {
		s, ok := superlatives[r.lower(j)]
		if !ok || r.taken(j) {
			continue
		}
		o := r.linkFrom(j+1, articles)
		by := r.measureOf(o)
		if by == nil || by.table != c.table {
			return false
		}
		done(j + 1)
		r.takeLink(o)
		for n := at; n < j; n++ {
			if t := r.linkAt(n); t != nil && r.isTable(t) != nil {
				r.takeLink(t)
			}
		}
		direction := ""
		if s.desc {
			direction = " DESC"
		}
		r.q.conds = append(r.q.conds, cond{column: c, op: "sql", at: i, sql: func(ref string) string {
			return fmt.Sprintf("%s %s (SELECT %s FROM %s ORDER BY %s%s NULLS LAST LIMIT 1)", c.numeric(ref), op, c.numeric(ident(c.name)), ident(c.table.name), by.numeric(ident(by.name)), direction)
		}})
		r.note(c.name + " compared with that of the extreme " + by.name)
		return true
	}
	v := r.linkFrom(at, set("the a an of that in"))
	if v == nil || len(v.values) == 0 || !r.isValue(v) || r.tokens[v.from].isNumber {
		return false
	}
	m := r.valueOf(v, nil, nil)
	if m == nil || m.column.table != c.table {
		return false
	}
	done(than + 1)
	r.takeLink(v)
	texts := m.texts()
	r.q.conds = append(r.q.conds, cond{column: c, op: "sql", at: i, sql: func(ref string) string {
		where := inList(m.column, ident(m.column.name), texts, false)
		return fmt.Sprintf("%s %s (SELECT max(%s) FROM %s WHERE %s)", c.numeric(ref), op, c.numeric(ident(c.name)), ident(c.table.name), where)
	}})
	r.note(c.name + " compared with that of " + saysAll(texts))
	return true
}

// readSame reads "the same … as X".
func (r *reader) readSame() {
	for i := range r.tokens {
		if r.lower(i) != "same" || r.taken(i) {
			continue
		}
		k := r.linkFrom(i+1, articles)
		c := r.columnOf(k, nil)
		if c == nil {
			continue
		}
		for j := k.to; j < len(r.tokens) && j < k.to+6; j++ {
			if r.lower(j) != "as" && r.lower(j) != "with" {
				continue
			}
			v := r.linkFrom(j+1, set("the a an of that in"))
			if v == nil || len(v.values) == 0 || !r.isValue(v) {
				break
			}
			m := r.valueOf(v, nil, nil)
			if m == nil || m.column.table != c.table || m.column == c {
				break
			}
			r.take(i, j+1)
			r.takeLink(k)
			r.takeLink(v)
			texts := m.texts()
			r.q.conds = append(r.q.conds,
				cond{column: c, op: "sql", at: i, sql: func(ref string) string {
					return fmt.Sprintf("%s IN (SELECT %s FROM %s WHERE %s)", ref, ident(c.name), ident(c.table.name), inList(m.column, ident(m.column.name), texts, false))
				}},
				cond{column: m.column, op: "in", texts: texts, negated: true, at: v.from, exact: true})
			r.note("the same " + c.name + " as " + saysAll(texts))
			return
		}
	}
}
