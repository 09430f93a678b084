package ir

import "fmt"

// writer converts a tree to tokens.
type writer struct {
	tokens []Token
	value  func(c *Cond, n int) (Token, bool)
	err    error
}

// Tokens converts a query to tokens. value returns the token of the nth value of a
// condition; small numbers and booleans need none. For a number of rows the condition is
// nil and n the number.
func Tokens(q *Query, value func(c *Cond, n int) (Token, bool)) ([]Token, error) {
	w := &writer{value: value}
	w.query(q)
	if w.err == nil && !Valid(w.tokens) {
		w.err = fmt.Errorf("not a query: %s", Text(w.tokens))
	}
	return w.tokens, w.err
}

func (w *writer) word(text string) { w.tokens = append(w.tokens, KeywordToken(text)) }

func (w *writer) ref(class Class, n int) { w.tokens = append(w.tokens, Token{class, n}) }

func (w *writer) query(q *Query) {
	w.word("select")
	if q.Distinct {
		w.word("distinct")
	}
	for _, e := range q.Items {
		w.expr(e)
	}
	if len(q.From) > 0 {
		w.word("from")
		for _, t := range q.From {
			w.ref(TableRef, t)
		}
	}
	if q.Via >= 0 {
		w.word("on")
		w.ref(ColumnRef, q.Via)
	}
	w.conds("where", q.Where)
	if len(q.Group) > 0 {
		w.word("group")
		for _, e := range q.Group {
			w.expr(e)
		}
	}
	w.conds("having", q.Having)
	if len(q.Order) > 0 {
		w.word("order")
		for _, s := range q.Order {
			w.expr(s.By)
			if s.Desc {
				w.word("desc")
			} else {
				w.word("asc")
			}
		}
	}
	if q.Limit > 0 {
		w.word("limit")
		w.limit(q.Limit)
		if q.Nth > 0 {
			w.word("nth")
			w.limit(q.Nth)
		}
		if q.Each != nil {
			w.word("each")
			w.expr(*q.Each)
		}
	}
	if q.Set != "" {
		w.word(q.Set)
		w.query(q.Right)
	}
}

func (w *writer) expr(e Expr) {
	switch e.Kind {
	case "*", "rowid":
		w.word(e.Kind)
	case "column":
		w.arith(e)
	case "part":
		w.word(e.Func)
		w.ref(ColumnRef, e.Column)
	case "days", "age":
		w.duration(e.Kind, e)
	case "agg":
		w.total(e)
		w.conds("if", e.Conds)
		w.outer(e)
	case "query":
		w.sub(e.Sub)
		w.outer(e)
	case "pct":
		w.conds("pct", e.Conds)
	case "share":
		w.word("share")
		w.total(e)
	case "pctof":
		w.word("pctof")
		w.total(e)
		w.conds("", e.Conds)
	default:
		w.word(e.Kind)
		w.total(e)
		w.conds("", e.Conds)
		w.conds("vs", e.Versus)
	}
}

func (w *writer) outer(e Expr) {
	if e.Outer != "" {
		w.word(e.Outer)
		w.expr(*e.Second)
	}
}

func (w *writer) sub(q *Query) {
	w.word("(")
	w.query(q)
	w.word(")")
}

// total writes an aggregate without conditions.
func (w *writer) total(e Expr) {
	w.word(e.Func)
	switch {
	case e.Star:
		w.word("*")
	case e.Sub != nil:
		w.sub(e.Sub)
	case e.Inner != "":
		w.duration(e.Inner, e)
	default:
		if e.Distinct {
			w.word("distinct")
		}
		w.arith(e)
	}
}

func (w *writer) arith(e Expr) {
	w.ref(ColumnRef, e.Column)
	for _, o := range e.operands() {
		w.word(o.Op)
		w.ref(ColumnRef, o.Column)
	}
}

func (w *writer) duration(kind string, e Expr) {
	w.word(kind)
	w.ref(ColumnRef, e.Column)
	if kind == "days" {
		w.ref(ColumnRef, e.Other)
	}
}

func (w *writer) conds(section string, conds []Cond) {
	for i := range conds {
		switch {
		case i == 0 && section == "":
		case i == 0:
			w.word(section)
		case conds[i].Or:
			w.word("or")
		default:
			w.word("and")
		}
		w.cond(&conds[i])
	}
}

func (w *writer) cond(c *Cond) {
	if c.Op == "after" || c.Op == "before" {
		w.word(c.Op)
		w.ref(ColumnRef, c.Left.Column)
		w.literal(c, c.Values[0], 0)
		return
	}
	w.expr(c.Left)
	w.word(c.Op)
	switch {
	case c.Sub != nil:
		w.sub(c.Sub)
	case c.Right != nil:
		w.expr(*c.Right)
	case c.Column >= 0:
		w.ref(ColumnRef, c.Column)
	default:
		for i, v := range c.Values {
			w.literal(c, v, i)
		}
	}
}

// limit writes a number of rows.
func (w *writer) limit(n int) {
	w.literal(nil, Value{Kind: NumberValue, Text: fmt.Sprint(n)}, n)
}

// literal writes a value: its token, or else a keyword for a small number.
func (w *writer) literal(c *Cond, v Value, n int) {
	if v.Kind == BoolValue || v.Kind == TodayValue {
		w.word(v.Text)
		return
	}
	if t, ok := w.value(c, n); ok {
		w.tokens = append(w.tokens, t)
		return
	}
	if _, ok := wordNumbers["k"+v.Text]; ok && v.Kind == NumberValue {
		w.word("k" + v.Text)
		return
	}
	if w.err == nil {
		w.err = fmt.Errorf("the question does not name %q", v.Text)
	}
}
