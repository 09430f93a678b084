package rules

import (
	"slices"
	"strings"
)

// readShares reads "what share of orders was returned" and "the return rate": how
// many in a hundred meet a condition.
func (r *reader) readShares() {
	if r.solo() {
		return
	}
	for i := range r.tokens {
		if !r.taken(i) && (r.readShareOf(i) || r.readRate(i) || r.readEach(i)) {
			return
		}
	}
}

// readShareOf reads "what share of …": of rows, or of what they are worth. What is
// said after the verb tells the part; what stands before it, and dates, the whole.
func (r *reader) readShareOf(i int) bool {
	end := phrase(r.tokens, i, "share|percentage|percent|proportion|fraction|% of the|all|our|my?")
	if end < 0 {
		return false
	}
	k := r.linkFrom(end, nil)
	if k == nil || r.linkAt(i) != nil && !weakLink(r.linkAt(i)) {
		return false
	}
	said := 0
	if next := r.linkAfter(k); next != nil && r.isTable(next) != nil && r.isValueOnly(k) {
		said, k = k.from, next // "the share of returned orders"
	}
	whole := item{agg: "share", at: i}
	switch t := r.isTable(k); {
	case t != nil:
		whole.table = t
		r.q.main = t
	case r.isMeasure(k):
		whole.column = r.measureOf(k)
		r.q.main = whole.column.table
	default:
		return false
	}
	r.take(i, end)
	r.takeLink(k)
	verb := r.verbAfter(k.to, "is|are|was|were|has|have|had|do|does|did|comes|come|came|gets|get|got|goes|go|went|costs|cost")
	if verb < 0 {
		verb = k.to - 1
	} else {
		r.take(verb, verb+1)
	}
	r.part = verb + 1
	if said > 0 {
		r.part = said
	}
	r.takeThings(verb)
	r.q.items = append(r.q.items, whole)
	r.chosen = true
	r.note("in percent of all " + r.q.main.name)
	return true
}

// readRate reads "the return rate of each category": how many in a hundred have
// the value that the word stands for.
func (r *reader) readRate(i int) bool {
	if i == 0 || !wordIs(r.lower(i), "rate", "rates", "quota") || r.linkAt(i) != nil && !weakLink(r.linkAt(i)) {
		return false
	}
	c, value := r.stateCalled(r.lower(i - 1))
	if c == nil {
		return false
	}
	share := item{agg: "share", table: c.table, at: i - 1, of: []cond{{column: c, op: "in", texts: []string{value}, at: i - 1}}}
	for j := i - 2; j >= 0 && j >= i-3; j-- {
		if s, ok := superlatives[r.lower(j)]; ok && !r.taken(j) {
			things := r.thingsNear(j, i+1)
			if things == nil {
				return false
			}
			limit := r.rankingLimit(things, j, i+1)
			r.groupThings(things)
			r.q.orders = append(r.q.orders, order{item: share, desc: s.desc})
			r.q.limit = limit
			r.take(j, j+1)
			break
		}
	}
	if r.q.main == nil {
		r.q.main = c.table
	}
	if len(r.q.orders) == 0 || r.q.limit > 1 {
		r.q.items = append(r.q.items, share)
	}
	r.takeAll(i-1, i+1)
	r.chosen = true
	r.note("in percent of all " + c.table.name + ", those whose " + c.name + " is " + value)
	return true
}

// stateCalled finds the one value of a column of few values that a noun is made
// of: return of returned, cancellation of cancelled.
func (r *reader) stateCalled(noun string) (found *column, value string) {
	const stem, ending, few = 5, 5, 30
	for _, t := range r.tables {
		for _, c := range t.columns {
			if c.kind != kindText || !c.complete || len(c.values) > few {
				continue
			}
			for _, v := range c.values {
				n := commonPrefix(noun, strings.ToLower(v))
				if n < stem || len(noun)-n > ending || len(v)-n > ending {
					continue
				}
				if found != nil {
					return nil, ""
				}
				found, value = c, v
			}
		}
	}
	return found, value
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// settleShare moves the conditions on the part into the share. Where there are
// none, or rows of the whole may meet them several times, it is no share.
func (r *reader) settleShare() {
	if r.part == 0 {
		return
	}
	share := slices.IndexFunc(r.q.items, func(i item) bool { return i.agg == "share" })
	var rest []cond
	for _, c := range r.q.conds {
		if c.at < r.part || c.column.kind == kindDate {
			rest = append(rest, c)
			continue
		}
		if r.q.main != c.column.table && r.joins.manyOf(r.q.main, c.column.table) {
			r.doubt(0.9)
		}
		r.q.items[share].of = append(r.q.items[share].of, c)
	}
	r.q.conds = rest
	if len(r.q.items[share].of) == 0 {
		r.doubt(0.9)
		r.q.items[share] = item{agg: "count", table: r.q.main}
	}
}
