package rules

import "slices"

// happening is a table whose rows each say that something happened to things of
// other tables: orders, loans, visits. It has a date, and refers to the things.
type happening struct {
	table *table
	// money is what each was worth, quantity of how many pieces it was; nil where
	// no column tells.
	money, quantity *column
}

// Words of the columns of happenings, likeliest first.
var (
	moneyWords    = []string{"revenue", "turnover", "sale", "amount", "total", "payment", "paid", "spent", "gross", "price", "cost", "fee"}
	quantityWords = []string{"quantity", "unit", "piece", "copy"}
)

// happeningOf is the table of what happened to the rows of a table, or the table
// itself; nil when there is none, or several and none is named. Without a table
// it is that of all there are.
func (r *reader) happeningOf(t *table) *happening {
	var found []*happening
	for _, e := range r.tables {
		h := r.asHappening(e)
		if h == nil || t != nil && t != e && !r.refersTo(e, t) {
			continue
		}
		if t == e || slices.ContainsFunc(r.spoken, func(m mention) bool { return m.table == e }) {
			return h
		}
		found = append(found, h)
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

func (r *reader) asHappening(t *table) *happening {
	if r.solo() || !slices.ContainsFunc(t.columns, func(c *column) bool { return c.kind == kindDate }) ||
		!slices.ContainsFunc(r.joins.edges, func(e edge) bool { return e.many.table == t }) {
		return nil
	}
	h := &happening{table: t, quantity: r.figureCalled(t, quantityWords)}
	h.money = r.figureCalled(t, moneyWords)
	if h.money == h.quantity || h.quantity != nil && h.money != nil && wordIs(h.money.words[len(h.money.words)-1], "price", "cost", "fee") {
		h.money = nil // the price of one piece
	}
	return h
}

// figureCalled is the column of figures of a table whose name has one of some
// words, else whose description starts with one.
func (r *reader) figureCalled(t *table, words []string) *column {
	figure := func(c *column) bool { return c.kind == kindNumber && !r.joins.refs[c] && !isKeyName(c) }
	for _, w := range words {
		for _, c := range t.columns {
			if figure(c) && slices.Contains(c.words, w) {
				return c
			}
		}
	}
	for _, w := range words {
		for _, c := range t.columns {
			if figure(c) && slices.Contains(first(c.hints, 2), w) {
				return c
			}
		}
	}
	return nil
}

// refersTo reports whether rows of a table refer to rows of another.
func (r *reader) refersTo(many, one *table) bool { return r.reference(many, one) != nil }

// reference is the column by which a table refers to another; nil when it does
// not.
func (r *reader) reference(many, one *table) *column {
	for _, e := range r.joins.edges {
		if e.many.table == many && e.one.table == one {
			return e.many
		}
	}
	return nil
}

// pieces is how much happened: pieces, or times where no column tells those.
func (h *happening) pieces(at int) item {
	if h.quantity == nil {
		return item{agg: "count", table: h.table, at: at}
	}
	return item{agg: "sum", column: h.quantity, at: at}
}

// worth is what it was worth, else how often it happened.
func (h *happening) worth(at int) item {
	if h.money == nil {
		return item{agg: "count", table: h.table, at: at}
	}
	return item{agg: "sum", column: h.money, at: at}
}

// amount is what each happening tells of how much it was, where one column does;
// nil where none or several do.
func (r *reader) amount(h *happening) *column {
	if h.money != nil || h.quantity != nil {
		return h.money
	}
	var only *column
	for _, c := range h.table.columns {
		if c.kind != kindNumber || r.joins.refs[c] || isKeyName(c) || c.years() {
			continue
		}
		if only != nil {
			return nil
		}
		only = c
	}
	return only
}

// amountSaid is the amount of what a link names in the singular, as in "the total
// harvest"; nil where it names no happening so.
func (r *reader) amountSaid(k *link) *column {
	if k == nil || r.solo() || r.isTable(k) == nil || l(k) != 1 || r.tokens[k.from].lemma != r.tokens[k.from].lower {
		return nil
	}
	h := r.asHappening(r.isTable(k))
	if h == nil || h.money != nil || h.quantity != nil {
		return nil
	}
	return r.amount(h)
}

// times is how often it happened.
func (h *happening) times(at int) item { return item{agg: "count", table: h.table, at: at} }
