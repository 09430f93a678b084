package ir

import (
	"fmt"

	"parley/llm/reader/catalog"
)

// Query is a query as a tree. Columns and tables are numbers in a catalog.
type Query struct {
	Distinct bool
	Items    []Expr
	From     []int
	// Via is the column to join on if there are several; -1 for none.
	Via    int
	Where  []Cond
	Group  []Expr
	Having []Cond
	Order  []Sort
	// Limit is the maximum number of rows, 0 for all; Nth is the number of the first row,
	// from 1, and 0 means 1; Each is the key for which both apply separately.
	Limit, Nth int
	Each       *Expr
	// Set is the set operation "union", "intersect" or "except" with Right; "" for none.
	Set   string
	Right *Query
}

// Expr is an expression.
type Expr struct {
	// Kind is "column", "agg", "part", "days", "age", "rowid", "*", "pct", "pctof",
	// "share", "ratio", "diff", "growth" or "query".
	Kind string
	// Func is the function of an "agg" and the part of the date of a "part".
	Func     string
	Distinct bool
	// Star is set for count(*).
	Star bool
	// Column is the first column, -1 for none; Other the second one of Op, or of
	// "days".
	Column, Other int
	// Op joins two columns: "plus", "less", "times", "over", "of" (as a percentage of) or
	// "gap" (the absolute difference). Then continues it, from left to right.
	Op   string
	Then []Operand
	// Inner is the argument of a function that is not a column: "days", "age" or "query".
	Inner string
	// Sub is the query of the kind "query", which gives one value, and that of Inner, whose
	// rows are aggregated.
	Sub *Query
	// Unit is the unit that was asked for of a duration between times: see SetDurationUnit.
	Unit string
	// Outer joins an aggregate or query with Second, from left to right: "+", "-", "/" or
	// "%", the percentage.
	Outer  string
	Second *Expr
	// Conds select the rows of "agg", "pct" and "pctof", and of the first side of "ratio",
	// "diff" and "growth"; Versus those of the second side.
	Conds, Versus []Cond
}

// Operand continues arithmetic with a column.
type Operand struct {
	Op     string
	Column int
}

// operands returns the columns of arithmetic after the first one.
func (e Expr) operands() []Operand {
	if e.Op == "" {
		return nil
	}
	return append([]Operand{{e.Op, e.Other}}, e.Then...)
}

// Cond is a condition.
type Cond struct {
	// Or says that OR joins it to the condition before.
	Or   bool
	Left Expr
	// Op is a comparison, "between", one of the likes, "isnull", "notnull", "in",
	// "notin", "after" or "before".
	Op string
	// Values are the values to compare with: two for "between".
	Values []Value
	// Column is the column to compare with; -1 for none. Right is the aggregate to compare
	// with, in Having only.
	Column int
	Sub    *Query
	Right  *Expr
}

// Sort is an order of rows.
type Sort struct {
	By   Expr
	Desc bool
}

// ValueKind is the kind of a value.
type ValueKind uint8

// The kinds of values.
const (
	TextValue ValueKind = iota
	NumberValue
	// PeriodValue is a span of time, from From up to and without To.
	PeriodValue
	MonthValue
	WeekdayValue
	BoolValue
	// TodayValue is the current day.
	TodayValue
	// QuarterValue is a quarter of any year.
	QuarterValue
)

// Value is a value in a question, to compare with.
type Value struct {
	Kind ValueKind
	// Text is the text in the question, the digits of a number, or the number of a month,
	// weekday or quarter, from 1.
	Text string
	// Cells are the texts of matching cells, by column.
	Cells map[int][]string
	// Exact says that the value is quoted or a whole cell.
	Exact bool
	// From and To bound a period, as ISO dates.
	From, To string
	// Unit is that of a number, as in [catalog.Convert]; "" for none.
	Unit string
}

// Number returns the number in the unit of the expression that it is compared with.
func (v Value) Number(left Expr, cat *catalog.Catalog) string {
	if text, ok := catalog.Convert(v.Text, v.Unit, left.unit(cat)); ok {
		return text
	}
	return v.Text
}

// unit returns the unit of an expression; "" if unknown.
func (e Expr) unit(cat *catalog.Catalog) string {
	switch {
	case e.Op != "" || e.Outer != "" || e.Func == "count" || e.Kind == "part":
		return ""
	case e.Kind == "days" || e.Inner == "days":
		return e.durationUnit(cat)
	case e.Kind == "age" || e.Inner == "age":
		return "year"
	case e.Column >= 0:
		return cat.Columns[e.Column].Unit
	}
	return ""
}

// parser parses tokens that are valid by the grammar.
type parser struct {
	tokens []Token
	values []Value
	at     int
	err    error
}

// Parse parses tokens. Value tokens are indexes into values.
func Parse(tokens []Token, values []Value) (*Query, error) {
	if !Valid(tokens) {
		return nil, fmt.Errorf("not a query: %s", Text(tokens))
	}
	p := &parser{tokens: tokens, values: values}
	q := p.query()
	return q, p.err
}

func (p *parser) peek() Token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return Token{Keyword, int(End)}
}

func (p *parser) next() Token {
	t := p.peek()
	p.at++
	return t
}

// word reads a keyword.
func (p *parser) word() string { return Keywords[p.next().N] }

// take reads a keyword if it comes next.
func (p *parser) take(word string) bool {
	if p.peek().Is(word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) query() *Query {
	p.next()
	q := &Query{Via: -1, Distinct: p.take("distinct")}
	for p.startsExpr() {
		q.Items = append(q.Items, p.expr())
	}
	if p.take("from") {
		for p.peek().Class == TableRef {
			q.From = append(q.From, p.next().N)
		}
	}
	if p.take("on") {
		q.Via = p.next().N
	}
	q.Where = p.conds("where")
	if p.take("group") {
		for p.startsExpr() {
			q.Group = append(q.Group, p.key())
		}
	}
	q.Having = p.conds("having")
	if p.take("order") {
		for p.startsExpr() {
			by := p.expr()
			q.Order = append(q.Order, Sort{by, p.word() == "desc"})
		}
	}
	if p.take("limit") {
		q.Limit = p.limit()
		if p.take("nth") {
			q.Nth = p.limit()
		}
		if p.take("each") {
			key := p.key()
			q.Each = &key
		}
	}
	for _, set := range []string{"union", "intersect", "except"} {
		if p.take(set) {
			q.Set, q.Right = set, p.query()
		}
	}
	return q
}

var exprStarts = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range []string{"*", "count", "sum", "avg", "median", "min", "max", "year", "quarter", "month", "week", "day", "monthof",
		"weekday", "hour", "decade", "days", "age", "rowid", "pct", "pctof", "share", "ratio", "diff", "growth", "("} {
		all[w] = true
	}
	return all
}()

func (p *parser) startsExpr() bool {
	t := p.peek()
	return t.Class == ColumnRef || t.Class == Keyword && exprStarts[Keywords[t.N]]
}

func (p *parser) key() Expr {
	if p.peek().Class == ColumnRef {
		return Expr{Kind: "column", Column: p.next().N, Other: -1}
	}
	part := p.word()
	return Expr{Kind: "part", Func: part, Column: p.next().N, Other: -1}
}

func (p *parser) expr() Expr {
	t := p.peek()
	if t.Class == ColumnRef {
		e := Expr{Kind: "column", Column: p.next().N, Other: -1}
		p.arith(&e)
		return e
	}
	switch w := p.word(); w {
	case "*", "rowid":
		return Expr{Kind: w, Column: -1, Other: -1}
	case "days":
		return Expr{Kind: w, Column: p.next().N, Other: p.next().N}
	case "age":
		return Expr{Kind: w, Column: p.next().N, Other: -1}
	case "pct":
		return Expr{Kind: w, Column: -1, Other: -1, Conds: p.allConds()}
	case "pctof":
		e := p.total()
		e.Kind, e.Conds = w, p.allConds()
		return e
	case "share":
		e := p.total()
		e.Kind = w
		return e
	case "ratio", "diff", "growth":
		e := p.total()
		e.Kind, e.Conds = w, p.allConds()
		p.next()
		e.Versus = p.allConds()
		return e
	case "count", "sum", "avg", "median", "min", "max", "(":
		p.at--
		return p.figures()
	default:
		return Expr{Kind: "part", Func: w, Column: p.next().N, Other: -1}
	}
}

// figures reads an aggregate or a query, or several with operators between them.
func (p *parser) figures() Expr {
	e := Expr{Kind: "query", Column: -1, Other: -1}
	if p.peek().Is("(") {
		e.Sub = p.sub()
	} else {
		e = p.total()
		if p.take("if") {
			e.Conds = p.allConds()
		}
	}
	for _, sign := range []string{"+", "-", "/", "%"} {
		if p.take(sign) {
			second := p.figures()
			e.Outer, e.Second = sign, &second
			break
		}
	}
	return e
}

// total reads an aggregate without conditions.
func (p *parser) total() Expr {
	e := Expr{Kind: "agg", Func: p.word(), Column: -1, Other: -1}
	switch {
	case p.take("*"):
		e.Star = true
	case p.peek().Is("("):
		e.Inner, e.Sub = "query", p.sub()
	case p.take("days"):
		e.Inner, e.Column, e.Other = "days", p.next().N, p.next().N
	case p.take("age"):
		e.Inner, e.Column = "age", p.next().N
	default:
		e.Distinct = p.take("distinct")
		e.Column = p.next().N
		p.arith(&e)
	}
	return e
}

func (p *parser) arith(e *Expr) {
	for {
		t := p.peek()
		if t.Class != Keyword || !isArith[Keywords[t.N]] {
			return
		}
		op := Operand{p.word(), p.next().N}
		if e.Op == "" {
			e.Op, e.Other = op.Op, op.Column
		} else {
			e.Then = append(e.Then, op)
		}
	}
}

var isArith = map[string]bool{"plus": true, "less": true, "times": true, "over": true, "of": true, "gap": true}

func (p *parser) conds(section string) []Cond {
	if !p.take(section) {
		return nil
	}
	return p.allConds()
}

// allConds reads conditions with AND and OR between them.
func (p *parser) allConds() []Cond {
	all := []Cond{p.cond()}
	for {
		or := p.peek().Is("or")
		if !or && !p.peek().Is("and") {
			return all
		}
		p.next()
		c := p.cond()
		c.Or = or
		all = append(all, c)
	}
}

func (p *parser) cond() Cond {
	if p.peek().Is("after") || p.peek().Is("before") {
		op := p.word()
		left := Expr{Kind: "column", Column: p.next().N, Other: -1}
		return Cond{Left: left, Op: op, Values: []Value{p.value()}, Column: -1}
	}
	c := Cond{Left: p.expr(), Column: -1}
	c.Op = p.word()
	switch c.Op {
	case "isnull", "notnull":
	case "between":
		c.Values = []Value{p.value(), p.value()}
	case "in", "notin":
		c.Sub = p.sub()
	default:
		switch {
		case p.peek().Is("("):
			c.Sub = p.sub()
		case p.peek().Class == ColumnRef:
			c.Column = p.next().N
		case p.startsExpr():
			right := p.total()
			if p.take("if") {
				right.Conds = []Cond{p.cond()}
			}
			c.Right = &right
		default:
			c.Values = []Value{p.value()}
		}
	}
	return c
}

func (p *parser) sub() *Query {
	p.next()
	q := p.query()
	p.next()
	return q
}

func (p *parser) value() Value {
	t := p.next()
	if t.Class == ValueRef {
		if t.N >= len(p.values) {
			p.err = fmt.Errorf("no value %d", t.N)
			return Value{}
		}
		return p.values[t.N]
	}
	switch w := Keywords[t.N]; w {
	case "true", "false":
		return Value{Kind: BoolValue, Text: w}
	case "today":
		return Value{Kind: TodayValue, Text: w}
	default:
		return Value{Kind: NumberValue, Text: w[1:]}
	}
}

func (p *parser) limit() int {
	v := p.value()
	n := 0
	if _, err := fmt.Sscanf(v.Text, "%d", &n); err != nil || n <= 0 {
		p.err = fmt.Errorf("no limit: %q", v.Text)
	}
	return n
}
