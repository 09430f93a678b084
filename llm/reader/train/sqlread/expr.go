package sqlread

import (
	"strings"

	"parley/llm/reader/ir"
)

var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "median": true, "min": true, "max": true}

// parts has the functions that give parts of dates.
var parts = map[string]string{"year": "year", "quarter": "quarter", "month": "monthof", "hour": "hour", "dayname": "weekday", "monthname": "monthof",
	"dayofweek": "weekday", "isodow": "weekday"}

var columnOps = map[string]string{"+": "plus", "-": "less", "*": "times", "/": "over"}

// expr reads an expression.
func (p *parser) expr() ir.Expr {
	if p.take("*") {
		return ir.Expr{Kind: "*", Column: -1, Other: -1}
	}
	if e, ok := p.percentage(); ok {
		return e
	}
	if p.take("1.0", "*") || p.peek().kind == 'n' && p.peek().text == "1.0" {
		p.at++
		p.take("*")
	}
	if p.is("(") {
		p.at++
		e := p.expr()
		p.need(")")
		return e
	}
	t := p.peek()
	if t.kind == 'w' && p.peekAt(1).text == "(" {
		return p.call()
	}
	if p.peekAt(1).text == "." && p.peekAt(2).text == "*" {
		p.at += 3
		return ir.Expr{Kind: "*", Column: -1, Other: -1}
	}
	e := ir.Expr{Kind: "column", Column: p.column(), Other: -1}
	p.columnOp(&e)
	return e
}

// columnOp reads an operator and a second column.
func (p *parser) columnOp(e *ir.Expr) {
	if op, ok := columnOps[p.peek().text]; ok && p.peek().kind == 'o' {
		p.at++
		if p.peek().kind == 'n' || p.is("(") {
			p.fail("arithmetic with a number")
		}
		e.Op, e.Other = op, p.column()
	}
}

// call reads a function.
func (p *parser) call() ir.Expr {
	name := p.next().text
	p.need("(")
	switch {
	case aggregates[name]:
		return p.outer(p.aggregate(name))
	case name == "date_trunc":
		unit := p.next().text
		p.need(",")
		c := p.column()
		p.need(")")
		if p.take("::") {
			p.next()
		}
		return ir.Expr{Kind: "part", Func: unit, Column: c, Other: -1}
	case name == "date_diff" || name == "datediff":
		e := p.days()
		p.need(")")
		return e
	case name == "round":
		e := p.expr()
		if p.take(",") {
			p.next()
		}
		p.need(")")
		return e
	case name == "lower" || name == "trim":
		e := ir.Expr{Kind: "column", Column: p.column(), Other: -1}
		p.need(")")
		return e
	}
	part, ok := parts[name]
	if !ok {
		p.fail("function %s", name)
	}
	c := p.column()
	p.need(")")
	return ir.Expr{Kind: "part", Func: part, Column: c, Other: -1}
}

// days reads the rest of date_diff('day', a, b).
func (p *parser) days() ir.Expr {
	if unit := p.next().text; unit != "day" {
		p.fail("a difference in %s", unit)
	}
	p.need(",")
	a := p.column()
	p.need(",")
	return ir.Expr{Kind: "days", Column: a, Other: p.column()}
}

// aggregate reads the arguments of an aggregate and the closing parenthesis.
func (p *parser) aggregate(name string) ir.Expr {
	e := ir.Expr{Kind: "agg", Func: name, Column: -1, Other: -1}
	switch {
	case p.take("*"):
		e.Star = true
	case p.peek().text == "date_diff" || p.peek().text == "datediff":
		p.at++
		p.need("(")
		d := p.days()
		p.need(")")
		e.Inner, e.Column, e.Other = "days", d.Column, d.Other
	default:
		e.Distinct = p.take("distinct")
		paren := p.take("(")
		e.Column = p.column()
		p.columnOp(&e)
		if paren {
			p.need(")")
		}
	}
	p.need(")")
	return e
}

// outer reads an operator and a second aggregate.
func (p *parser) outer(e ir.Expr) ir.Expr {
	sign := p.peek().text
	if p.peek().kind != 'o' || sign != "+" && sign != "-" && sign != "/" {
		return e
	}
	next := p.peekAt(1)
	if next.text == "nullif" {
		p.fail("nullif")
	}
	if !aggregates[next.text] {
		p.fail("arithmetic of an aggregate and %s", next.text)
	}
	p.at += 2
	p.need("(")
	second := p.aggregate(next.text)
	e.Outer, e.Second = sign, &second
	return e
}

// percentage reads 100.0 * agg FILTER (WHERE cond) / agg, and
// 100.0 * agg / sum(agg) OVER ().
func (p *parser) percentage() (ir.Expr, bool) {
	t := p.peek()
	if t.kind != 'n' || t.text != "100.0" && t.text != "100" || p.peekAt(1).text != "*" {
		return ir.Expr{}, false
	}
	p.at += 2
	name := p.next().text
	if !aggregates[name] {
		p.fail("a percentage of %s", name)
	}
	p.need("(")
	e := p.aggregate(name)
	if p.take("filter", "(", "where") {
		conds := p.conds()
		p.need(")")
		p.need("/")
		if len(conds) != 1 {
			p.fail("a percentage with several conditions")
		}
		second := p.next().text
		p.need("(")
		if other := p.aggregate(second); other.Func != e.Func || other.Column != e.Column {
			p.fail("a percentage of something else")
		}
		e.Kind, e.Conds = "pctof", conds
		if e.Star {
			e = ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: conds}
		}
		return e, true
	}
	p.need("/")
	p.need("sum")
	p.need("(")
	inner := p.next().text
	p.need("(")
	p.aggregate(inner)
	p.need(")")
	p.need("over", "(", ")")
	e.Kind = "share"
	return e, true
}

// conds reads conditions. Parentheses are allowed around alternatives on one column,
// and around everything.
func (p *parser) conds() []ir.Cond {
	all := p.condGroup()
	for {
		or := p.is("or")
		if !or && !p.is("and") {
			return all
		}
		p.at++
		next := p.condGroup()
		next[0].Or = or
		all = append(all, next...)
	}
}

// condGroup reads a condition, or several in parentheses.
func (p *parser) condGroup() []ir.Cond {
	if !p.is("(") {
		return p.cond()
	}
	p.at++
	all := p.conds()
	p.need(")")
	for _, c := range all[1:] {
		if c.Or && (c.Left.Column != all[0].Left.Column || c.Left.Kind != all[0].Left.Kind) && (p.is("and") || p.is("or")) {
			p.fail("alternatives on different columns in parentheses")
		}
	}
	return all
}

var comparisons = map[string]bool{"=": true, "!=": true, ">": true, "<": true, ">=": true, "<=": true}

// periodOps are macros of training queries that compare a date with a named period.
var periodOps = map[string]string{"during": "=", "before": "<", "after": ">", "since": ">=", "until": "<="}

func (p *parser) cond() []ir.Cond {
	if op, ok := periodOps[p.peek().text]; ok && p.peekAt(1).text == "(" {
		p.at += 2
		c := ir.Cond{Left: ir.Expr{Kind: "column", Column: p.column(), Other: -1}, Op: op, Column: -1}
		p.need(",")
		c.Values = []ir.Value{{Kind: ir.PeriodValue, Text: p.next().text}}
		p.need(")")
		return []ir.Cond{c}
	}
	not := p.take("not")
	c := ir.Cond{Left: p.expr(), Column: -1}
	if c.Left.Kind == "column" && not {
		return []ir.Cond{{Left: c.Left, Op: "=", Values: []ir.Value{{Kind: ir.BoolValue, Text: "false"}}, Column: -1}}
	}
	not = p.take("not") || not
	op := p.next().text
	switch {
	case op == "between":
		c.Op, c.Values = op, []ir.Value{p.value(), {}}
		p.need("and")
		c.Values[1] = p.value()
	case op == "like" || op == "ilike":
		p.like(&c, not)
		return []ir.Cond{c}
	case op == "is":
		not = p.take("not") || not
		p.need("null")
		c.Op = "isnull"
		if not {
			c.Op = "notnull"
		}
		return []ir.Cond{c}
	case op == "in":
		return p.in(c, not)
	case comparisons[op]:
		c.Op = op
		p.right(&c)
	default:
		p.at--
		if c.Left.Kind != "column" {
			p.fail("a condition with %s", op)
		}
		c.Op, c.Values = "=", []ir.Value{{Kind: ir.BoolValue, Text: "true"}}
	}
	if not {
		p.fail("NOT %s", op)
	}
	return []ir.Cond{c}
}

// right reads the right side of a comparison.
func (p *parser) right(c *ir.Cond) {
	switch t := p.peek(); {
	case p.is("("):
		p.at++
		c.Sub = p.query()
		p.need(")")
	case t.kind == 'w' && (t.text == "true" || t.text == "false"):
		p.at++
		c.Values = []ir.Value{{Kind: ir.BoolValue, Text: t.text}}
	case t.kind == 'w' && t.text == "date":
		p.fail("a date without a period")
	case t.kind == 'w', t.kind == 'q' && p.isColumn(t.text):
		c.Column = p.column()
	default:
		c.Values = []ir.Value{p.value()}
	}
}

func (p *parser) value() ir.Value {
	t := p.next()
	switch {
	case t.kind == 's' || t.kind == 'q':
		return ir.Value{Text: t.text}
	case t.kind == 'n':
		return ir.Value{Kind: ir.NumberValue, Text: strings.TrimSuffix(t.text, ".0")}
	case t.text == "-" && p.peek().kind == 'n':
		return ir.Value{Kind: ir.NumberValue, Text: "-" + p.next().text}
	}
	p.fail("%q where a value should stand", t.text)
	return ir.Value{}
}

func (p *parser) like(c *ir.Cond, not bool) {
	v := p.value()
	before, after := strings.HasPrefix(v.Text, "%"), strings.HasSuffix(v.Text, "%")
	v.Text = strings.Trim(v.Text, "%")
	switch {
	case not && before == after:
		c.Op = "notlike"
	case not:
		p.fail("NOT LIKE with one end")
	case before && after:
		c.Op = "like"
	case after:
		c.Op = "likepre"
	case before:
		c.Op = "likesuf"
	default:
		c.Op = "="
	}
	if strings.ContainsAny(v.Text, "%_") {
		p.fail("a pattern")
	}
	c.Values = []ir.Value{v}
}

// in reads a list, as alternatives, or a subquery.
func (p *parser) in(c ir.Cond, not bool) []ir.Cond {
	p.need("(")
	if p.is("select") {
		c.Op, c.Sub = "in", p.query()
		if not {
			c.Op = "notin"
		}
		p.need(")")
		return []ir.Cond{c}
	}
	var all []ir.Cond
	for {
		one := c
		one.Op, one.Or, one.Values = "=", len(all) > 0, []ir.Value{p.value()}
		if not {
			one.Op, one.Or = "!=", false
		}
		all = append(all, one)
		if !p.take(",") {
			p.need(")")
			return all
		}
	}
}
