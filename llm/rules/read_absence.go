package rules

import (
	"slices"
	"strings"
)

// readAbsence reads "without any …" and "that do not have any …".
func (r *reader) readAbsence() {
	if len(r.tables) < 2 {
		return
	}
	for i := range r.tokens {
		if r.taken(i) {
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
				if wordIs(r.lower(j), "any", "a", "an", "single") && r.linkAt(j) == nil {
					end = j + 1
					break
				}
			}
		}
		if wordIs(r.lower(i), "except", "excluding") {
			for j := i + 1; j < len(r.tokens); j++ {
				if k := r.linkAt(j); k != nil && r.isTable(k) != nil && r.otherTable(r.isTable(k), k) {
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
			// "any prize in the shows": rows of the table said next.
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
