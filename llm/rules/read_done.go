package rules

import (
	"slices"
	"strings"
)

// readDone reads a verb that a date tells the time of: "which employees left",
// "books that are not returned yet". Where the date may be missing, it tells
// whether that was done at all.
func (r *reader) readDone() {
	if r.solo() {
		return
	}
	for _, k := range r.links {
		c := r.doneOn(k)
		if c == nil {
			continue
		}
		r.when = c
		if c.filled >= c.table.rows || c.filled == 0 || phrase(r.tokens, 0, "when|what") > 0 || !r.saidOf(c.table, k) {
			continue
		}
		if r.q.main == nil && l(k) > 1 && r.names(k, c.table) {
			r.q.main = c.table
			if r.find("how many") > 0 {
				r.q.items = append(r.q.items, item{agg: "count", table: c.table})
				r.take(0, 2)
			}
		}
		not := r.negatedAt(k.to - 1)
		test := " IS NOT NULL"
		if not {
			test = " IS NULL"
		}
		r.takeLink(k)
		r.takeWords("yet", "already", "still")
		r.q.conds = append(r.q.conds, cond{column: c, op: "sql", at: k.from, end: k.to, sql: func(ref string) string { return ref + test }})
		r.mayBeNone = true
		r.note(c.name + strings.ToLower(test))
		return
	}
}

// readNew reads "new customers" where spans of time or years are asked for: those
// who came then, by the one date that tells it.
func (r *reader) readNew() {
	for i := range r.tokens {
		k := r.linkFrom(i+1, nil)
		if r.solo() || r.lower(i) != "new" || r.linkAt(i) != nil || k == nil || k.from != i+1 || r.isTable(k) == nil {
			continue
		}
		var dates []*column
		for _, c := range r.isTable(k).columns {
			if c.kind == kindDate && !slices.Contains(c.words, "birth") && !slices.Contains(c.words, "born") && c.filled == c.table.rows {
				dates = append(dates, c)
			}
		}
		years, _ := r.yearsSaid()
		if len(dates) != 1 || len(years) == 0 && r.find("per|each|every|by day|week|month|quarter|year") < 0 {
			return
		}
		r.take(i, i+1)
		r.when = dates[0]
		r.takeWords("get", "got", "gain", "gained", "win", "won")
		return
	}
}

// doneOn is the date that a link tells by its verb: "joined" is what joined_on is
// about. It is nil where the link is no such verb.
func (r *reader) doneOn(k *link) *column {
	if !r.free(k) || l(k) > 3 || r.isTable(k) != nil || r.isValueOnly(k) {
		return nil
	}
	c := r.columnOf(k, func(c *column) bool { return c.kind == kindDate && c.typed })
	if c == nil || columnScore(k, c) < 0.6 {
		return nil
	}
	for i, t := range r.tokens[k.from:k.to] {
		whose := i == 0 && l(k) > 1 && slices.Contains(c.table.words, t.lemma)
		if !whose && !slices.Contains(c.words, t.lower) && !slices.Contains(c.words, t.lemma) {
			return nil
		}
	}
	if n := len(c.words); n < 2 || !wordIs(c.words[n-1], "on", "at", "date", "time") {
		return nil
	}
	return c
}

// saidOf reports whether a verb is said of the rows of a table, or of things that
// it has rows of.
func (r *reader) saidOf(t *table, k *link) bool {
	return l(k) > 1 && r.names(k, t) || slices.ContainsFunc(r.spoken, func(m mention) bool {
		return m.link.from < k.from && (m.table == t || r.refersTo(t, m.table))
	})
}
