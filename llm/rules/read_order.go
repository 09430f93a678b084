package rules

import (
	"regexp"
	"slices"
	"strings"
)

// readNeighbours reads "the one after …" and "who came before …": rows by where
// another stands.
func (r *reader) readNeighbours() {
	for i := range r.tokens {
		if r.taken(i) {
			continue
		}
		dir, end := 0, -1
		for _, p := range []struct {
			pattern string
			dir     int
		}{
			{"next to|after|following?", 1}, {"after|following|succeeding|succeeded|follows|followed|below|beneath", 1},
			{"previous to", -1}, {"prior to", -1}, {"before|preceding|preceded|precedes|above", -1},
		} {
			if e := phrase(r.tokens, i, p.pattern); e > end {
				dir, end = p.dir, e
			}
		}
		if end < 0 || r.linkAt(i) != nil && r.linkAt(i).from < i {
			continue
		}
		if r.lower(i) == "followed" && r.lower(i+1) == "by" {
			dir, end = -1, i+2
		}
		k := r.linkFrom(end, set("the a an of film movie song album episode title game match year called named"))
		if k != nil && len(k.values) == 0 && len(k.columns) > 0 && r.lower(k.to) == "of" {
			k = r.linkFrom(k.to+1, articles) // "the town of Rome"
		}
		if k == nil || len(k.values) == 0 || !r.isValue(k) || r.tokens[k.from].isNumber {
			continue
		}
		m := r.valueOf(k, nil, nil)
		if m == nil || m.column.kind == kindDate && m.column.typed {
			continue
		}
		start := i
		for start > 0 && wordIs(r.lower(start-1), "next", "immediately", "right", "directly", "just", "came", "comes", "come", "listed", "previous", "the", "is", "was", "first") {
			if r.linkAt(start-1) == nil {
				r.take(start-1, start)
			}
			start--
		}
		r.take(i, end)
		r.takeLink(k)
		anchor := cond{column: m.column, op: "in", texts: m.texts(), at: k.from}
		r.q.position = &position{offset: dir, anchor: anchor}
		r.note("the row after or before " + strings.Join(first(anchor.texts, 2), ", "))
		return
	}
}

// texts are the values of a match.
func (m *valueMatch) texts() []string {
	texts := slices.Clone(m.literal)
	for _, ref := range m.refs {
		texts = append(texts, ref.text())
	}
	return texts
}

// readEnds reads "the first …", "the last …", "listed first".
func (r *reader) readEnds() {
	if r.q.position != nil {
		return
	}
	for i := range r.tokens {
		w := r.lower(i)
		n, last := 1, false
		switch {
		case r.taken(i) || r.linkAt(i) != nil && l(r.linkAt(i)) > 1:
			continue
		case wordIs(w, "first", "initial", "last", "final"):
			last = wordIs(w, "last", "final")
		case wordIs(w, "top", "bottom") && (phrase(r.tokens, i+1, "of the list|table|chart") > 0 || wordIs(r.lower(i+1), "listed")):
			last = w == "bottom"
		case ordinals[w] > 1 && wordIs(r.lower(i+1), "listed", "last", "on", "in", "one"):
			n = ordinals[w]
		case phrase(r.tokens, i, "most recent|recently") > 0, w == "latest" && r.hinted("date", measurable) == nil:
			last = true
		case w == "earliest" && r.hinted("date", measurable) == nil:
		default:
			continue
		}
		// "first place", "last name" and the like are not about order.
		if wordIs(r.lower(i+1), "place", "name", "names", "round", "half", "time", "team", "lady", "class", "division", "league") && r.linkAt(i) == nil && r.lower(i+1) != "time" {
			continue
		}
		if k := r.linkAt(i); k != nil && r.isValue(k) && r.tokens[i].quote != 0 {
			continue
		}
		if w == "most" {
			r.take(i, i+2)
		}
		r.take(i, i+1)
		for j := i + 1; j < len(r.tokens); j++ {
			if wordIs(r.lower(j), "listed", "list", "table", "chart") && r.linkAt(j) == nil {
				r.take(j, j+1)
			}
		}
		r.q.position = &position{end: "first", n: n}
		if last {
			r.q.position.end = "last"
		}
		r.note("the " + r.q.position.end + " row")
		return
	}
}

// settlePosition decides what a position orders by: the rows as they stand, or a
// date.
func (r *reader) settlePosition() {
	p := r.q.position
	if p == nil || p.offset != 0 {
		return
	}
	listed := r.find("listed") > 0 || r.find("list|table|chart") > 0
	if listed {
		return
	}
	// "the last year" is the greatest; "founded first" goes by when that was; else
	// the rows go by their date.
	for _, i := range r.q.items {
		if i.agg == "" && i.column != nil && (i.column.kind == kindDate || i.column.years()) {
			p.by = i.column
			return
		}
	}
	for _, c := range r.q.main.columns {
		if (c.kind == kindDate || c.years()) && slices.ContainsFunc(r.tokens, func(t token) bool {
			return !t.mark && !stopWords[t.lower] && slices.ContainsFunc(c.words, func(w string) bool { return !fillers[w] && alike(t.lemma, w) >= 0.7 })
		}) {
			p.by = c
			return
		}
	}
	for _, c := range r.q.main.columns {
		if c.kind == kindDate && c.typed || c.years() {
			p.by = c
			return
		}
	}
}

// years reports whether a column holds years, or texts that start with one: a
// season.
func (c *column) years() bool {
	if len(c.values) == 0 || c.kind != kindNumber && c.kind != kindText {
		return false
	}
	years := 0
	for _, v := range sample(c.values) {
		if len(v) >= 4 && yearText.MatchString(v) {
			years++
		}
	}
	return years*10 >= len(sample(c.values))*8
}

var yearText = regexp.MustCompile(`^(1[0-9]|20)[0-9]{2}([^0-9]|$)`)
