package rules

import (
	"fmt"
	"slices"
)

// pair is two values of one column that are set against each other.
type pair struct {
	column *column
	a, b   cond
	ka, kb *link
}

// findPair finds two values joined by "and", "or", "than" or "to".
func (r *reader) findPair(words ...string) *pair {
	var values []*link
	for _, k := range r.links {
		if r.free(k) && len(k.values) > 0 && (r.isValue(k) || r.tokens[k.from].isNumber) {
			values = append(values, k)
		}
	}
	for n := 0; n+1 < len(values); n++ {
		a, b := values[n], values[n+1]
		joined := false
		for j := a.to; j < b.from; j++ {
			joined = joined || wordIs(r.lower(j), words...)
		}
		if !joined {
			continue
		}
		for _, m := range a.values {
			for _, o := range b.values {
				if m.column == o.column && (m.exact || len(m.refs) == 1) && (o.exact || len(o.refs) == 1) && m.refs != nil && o.refs != nil && m.refs[0] != o.refs[0] {
					return &pair{m.column, cond{column: m.column, op: "in", texts: m.texts(), at: a.from}, cond{column: o.column, op: "in", texts: o.texts(), at: b.from}, a, b}
				}
			}
		}
	}
	return nil
}

// readPairs reads differences between two rows, and which of two is more.
func (r *reader) readPairs() {
	if r.readDifference() || r.readSpan() {
		return
	}
	r.readChoice()
}

// measureNear finds the column of figures that the question speaks of.
func (r *reader) measureNear(p *pair) *column {
	for _, k := range r.links {
		if !r.free(k) || p != nil && (k == p.ka || k == p.kb) {
			continue
		}
		if c := r.measureOf(k); c != nil && (p == nil || c != p.column) {
			r.takeLink(k)
			return c
		}
	}
	for _, t := range r.tokens {
		hint := adjectiveHints[t.lower]
		if s, ok := superlatives[t.lower]; ok && s.hint != "" {
			hint = s.hint
		}
		if hint != "" {
			if c := r.hinted(hint, measurable); c != nil && (p == nil || c != p.column) {
				return c
			}
		}
	}
	return nil
}

var adjectiveHints = map[string]string{
	"older": "age", "younger": "age", "old": "age", "longer": "length", "shorter": "length", "long": "length", "taller": "height", "tall": "height",
	"heavier": "weight", "lighter": "weight", "faster": "speed", "slower": "speed", "earlier": "date", "later": "date", "first": "date",
	"before": "date", "after": "date", "bigger": "size", "larger": "size", "smaller": "size", "newer": "date", "wider": "width", "deeper": "depth",
	"earn": "money", "earns": "money", "earned": "money", "paid": "money", "weigh": "weight", "weighs": "weight", "cost": "price", "costs": "price",
	"expensive": "price", "cheaper": "price", "populated": "population", "years": "year", "last": "date",
}

// readDifference reads "the difference between A and B" and "how many more … did
// A have than B".
func (r *reader) readDifference() bool {
	said := r.find("difference|differ|gap") > 0
	more := -1
	if !said {
		if more = r.find("how many|much more|fewer|less|longer|taller|older|greater|higher|larger|bigger|additional"); more < 0 || r.find("than") < 0 {
			return false
		}
	}
	p := r.findPair("and", "than", "to", "or")
	if p == nil {
		if said {
			return r.readSpread()
		}
		return false
	}
	c := r.measureNear(p)
	if c == nil {
		return false
	}
	r.takePair(p)
	r.takeWords("difference", "differ", "gap", "more", "fewer", "less", "longer", "taller", "older", "greater", "higher", "larger", "bigger", "additional", "than", "how", "many", "much", "years", "days", "points")
	value := func(x cond) string {
		b := &builder{joins: r.joins, alias: map[*table]string{c.table: "x"}}
		where, _ := b.cond(x, &query{main: c.table})
		return fmt.Sprintf("(SELECT max(%s) FROM %s AS x WHERE %s)", b.comparable(c, b.ref(c)), ident(c.table.name), where)
	}
	r.raw = fmt.Sprintf("SELECT abs(%s - %s) AS %s", value(p.a), value(p.b), ident("difference"))
	r.q.main = c.table
	r.q.items = []item{{column: c}}
	r.note("the difference in " + c.name)
	return true
}

// startWords and endWords are what columns are called that say from when to when.
var (
	startWords = set("from start started begin began took opened open appointed joined entered commenced introduced elected established founded laid built")
	endWords   = set("to until till end ended left closed close retired finished departed dissolved died demolished lost term")
)

// readSpan reads "how long did … last", of a row that says from when to when.
func (r *reader) readSpan() bool {
	if r.find("how long") < 0 || !r.solo() {
		return false
	}
	var from, to *column
	for _, c := range r.tables[0].columns {
		if c.kind != kindDate && !c.years() {
			continue
		}
		switch {
		case from == nil && slices.ContainsFunc(c.words, func(w string) bool { return startWords[w] }):
			from = c
		case to == nil && slices.ContainsFunc(c.words, func(w string) bool { return endWords[w] }):
			to = c
		}
	}
	var v *link
	for _, k := range r.links {
		if r.free(k) && len(k.values) > 0 && r.isValue(k) {
			v = k
			break
		}
	}
	if from == nil || to == nil || v == nil {
		return false
	}
	m := r.valueOf(v, nil, nil)
	if m == nil || m.column == from || m.column == to {
		return false
	}
	r.takeLink(v)
	r.takeWords("how", "long", "years", "year", "last", "lasted")
	b := &builder{joins: r.joins, alias: map[*table]string{from.table: "x"}}
	where, _ := b.cond(cond{column: m.column, op: "in", texts: m.texts()}, &query{main: from.table})
	r.raw = fmt.Sprintf("SELECT max(%s - %s) AS %s FROM %s AS x WHERE %s", b.comparable(to, b.ref(to)), b.comparable(from, b.ref(from)), ident("years"), ident(from.table.name), where)
	r.q.main = from.table
	r.q.items = []item{{column: to}}
	r.note("the years from " + from.name + " to " + to.name)
	r.doubt(0.1)
	return true
}

// readSpread reads "the difference between the highest and the lowest …".
func (r *reader) readSpread() bool {
	greatest, least := -1, -1
	for i := range r.tokens {
		if s, ok := superlatives[r.lower(i)]; ok && s.desc {
			greatest = i
		} else if ok {
			least = i
		}
	}
	if greatest < 0 || least < 0 {
		return false
	}
	c := r.measureNear(nil)
	if c == nil {
		return false
	}
	r.take(greatest, greatest+1)
	r.take(least, least+1)
	r.takeWords("difference", "gap", "between")
	b := &builder{joins: r.joins, alias: map[*table]string{c.table: "x"}}
	figure := c.numeric(b.ref(c))
	r.raw = fmt.Sprintf("SELECT max(%s) - min(%s) AS %s FROM %s AS x", figure, figure, ident("difference"), ident(c.table.name))
	r.q.main = c.table
	r.q.items = []item{{column: c}}
	r.note("the spread of " + c.name)
	return true
}

func (r *reader) takePair(p *pair) {
	r.takeLink(p.ka)
	r.takeLink(p.kb)
}

func (r *reader) takeWords(words ...string) {
	for i := range r.tokens {
		if slices.Contains(words, r.lower(i)) && r.linkAt(i) == nil {
			r.take(i, i+1)
		}
	}
}

var lessWords = set("less fewer lower smaller shorter younger lighter earlier cheaper least fewest lowest smallest shortest youngest first before worse slower earliest sooner")
var moreWords = set(`more higher greater larger longer taller older bigger heavier later most highest largest greatest longest oldest best better after last
	latest faster newer wider deeper tallest biggest heaviest`)

// readChoice reads "which is higher, A or B".
func (r *reader) readChoice() {
	p := r.findPair("or")
	if p == nil {
		return
	}
	dir := 0
	for i, t := range r.tokens {
		switch {
		case lessWords[t.lower]:
			dir = -1
		case moreWords[t.lower]:
			dir = 1
		default:
			continue
		}
		r.take(i, i+1)
		break
	}
	if dir == 0 {
		if wordIs(r.lower(0), "was", "is", "did", "does", "do", "were", "are", "has", "have") && r.otherValue(p) {
			// "was Rex a poodle or a beagle": which of them it was.
			r.takePair(p)
			p.a.texts = append(p.a.texts, p.b.texts...)
			r.q.conds = append(r.q.conds, p.a)
			r.q.items = []item{{column: p.column}}
			r.q.main = p.column.table
			r.chosen = true
			r.note("one of two values of " + p.column.name)
		}
		return
	}
	c := r.measureNear(p)
	r.takePair(p)
	p.a.texts = append(p.a.texts, p.b.texts...)
	r.q.conds = append(r.q.conds, p.a)
	r.q.items = []item{{column: p.column, at: 0}}
	r.q.main = p.column.table
	if c == nil {
		// Which occurs more often, or stands first.
		if r.find("first|last|before|after|earlier|later") > 0 {
			r.q.position = &position{end: "first"}
			if dir > 0 {
				r.q.position.end = "last"
			}
		} else {
			r.q.orders = append(r.q.orders, order{item: item{agg: "count"}, desc: dir > 0})
			r.q.limit = 1
		}
		r.doubt(0.1)
	} else {
		r.q.orders = append(r.q.orders, order{item: item{column: c}, desc: dir > 0 != backwards(c, r)})
		r.q.limit = 1
	}
	r.chosen = true
	r.note("one of two, by " + columnLabel(c))
}

// otherValue reports whether something else than a pair is named or dated, which
// decides between the two.
func (r *reader) otherValue(p *pair) bool {
	for i := range r.tokens {
		if _, _, ok := dateAt(r.tokens, i); ok {
			return true
		}
	}
	return slices.ContainsFunc(r.links, func(k *link) bool {
		return k != p.ka && k != p.kb && r.free(k) && (len(k.values) > 0 && r.isValue(k) || r.tokens[k.from].isNumber && len(k.values) > 0)
	})
}

func columnLabel(c *column) string {
	if c == nil {
		return "their rows"
	}
	return c.name
}

// backwards reports whether less is better in a column: ranks and times.
func backwards(c *column, r *reader) bool {
	if !slices.ContainsFunc(c.words, func(w string) bool { return wordIs(w, "rank", "position", "pos", "place", "ranking", "finish", "peak") }) {
		return false
	}
	for _, t := range r.tokens {
		if wordIs(t.lower, "best", "better", "highest", "higher", "top", "worst", "lowest", "lower", "worse") {
			return true
		}
	}
	return false
}
