package sqlread

import (
	"reflect"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// parts has the functions that give parts of dates.
var parts = map[string]string{"year": "year", "quarter": "quarter", "month": "monthof", "hour": "hour", "dayname": "weekday", "monthname": "monthof",
	"dayofweek": "weekday", "weekday": "weekday", "isodow": "weekday", "decade": "decade", "truncmonth": "month", "truncday": "day", "week": "week", "weekofyear": "week"}

func (r *reader) isPart(n *node) bool {
	return parts[n.text] != "" || n.text == "date_trunc"
}

var columnOps = map[string]string{"+": "plus", "-": "less", "*": "times", "/": "over", "%": "of"}

// expr translates a simplified expression.
func (r *reader) expr(n *node) ir.Expr {
	switch n.kind {
	case '*':
		return ir.Expr{Kind: "*", Column: -1, Other: -1}
	case 'c':
		return ir.Expr{Kind: "column", Column: r.column(n), Other: -1}
	case 'q':
		return ir.Expr{Kind: "query", Column: -1, Other: -1, Sub: r.query(n.sub)}
	case 'f':
		return r.call(n)
	case 'k':
		fail("CASE")
	case 's', 'n', 'd':
		fail("a constant")
	}
	switch n.text {
	case "*", "/":
		return r.product(n)
	case "+", "-":
		if n.args[0].kind == 'n' || n.args[1].kind == 'n' {
			fail("arithmetic with a number")
		}
		a, b := r.expr(n.args[0]), r.expr(n.args[1])
		if n.text == "-" && r.isDate(a) && r.isDate(b) {
			return ir.Expr{Kind: "days", Column: b.Column, Other: a.Column}
		}
		return r.calculate(a, n.text, b)
	}
	fail("operator %s", n.text)
	return ir.Expr{}
}

func (r *reader) isDate(e ir.Expr) bool {
	return e.Kind == "column" && e.Op == "" && r.cat.Columns[e.Column].Kind == catalog.Date
}

// product translates products, quotients and percentages.
func (r *reader) product(n *node) ir.Expr {
	over, under, number := factors(n)
	percent := number > 99.999 && number < 100.001
	if !percent && number != 1 || len(over) == 0 {
		fail("arithmetic with a number")
	}
	first := r.expr(over[0])
	if percent && len(over) == 1 && len(under) == 0 && first.Func == "avg" && first.Column >= 0 && first.Op == "" && first.Second == nil && len(first.Conds) == 0 && r.cat.Columns[first.Column].IsBoolean() {
		return ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: []ir.Cond{r.isSet(first.Column)}}
	}
	if percent && len(under) == 0 {
		fail("a fraction as a percentage")
	}
	for _, o := range over[1:] {
		first = r.calculate(first, "*", r.expr(o))
	}
	for i, u := range under {
		op := "/"
		if percent && i == len(under)-1 {
			op = "%"
		}
		if r.isTotal(u, first) && op == "%" {
			first.Kind = "share"
			return first
		}
		first = r.calculate(first, op, r.expr(u))
	}
	return first
}

// isTotal reports whether an expression is the total of an aggregate over all groups.
func (r *reader) isTotal(n *node, of ir.Expr) bool {
	if of.Kind != "agg" || of.Outer != "" || of.Sub != nil || len(of.Conds) > 0 {
		return false
	}
	if n.window != nil {
		if n.text != "sum" || len(n.window.partition) > 0 || len(n.args) != 1 || !reflect.DeepEqual(r.expr(n.args[0]), of) {
			fail("a window")
		}
		return true
	}
	if n.kind != 'q' || !r.scope.grouped {
		return false
	}
	sub := r.query(n.sub)
	return len(sub.Items) == 1 && reflect.DeepEqual(sub.Items[0], of) && len(sub.Where) == len(r.scope.where) && (len(sub.Where) == 0 || reflect.DeepEqual(sub.Where, r.scope.where)) && len(sub.Group) == 0
}

// calculate joins two expressions with an operator.
func (r *reader) calculate(a ir.Expr, op string, b ir.Expr) ir.Expr {
	figure := func(e ir.Expr) bool { return e.Kind == "agg" || e.Kind == "query" }
	switch {
	case a.Kind == "column" && b.Kind == "column":
		word := columnOps[op]
		if b.Op != "" && a.Op == "" && (op == "+" || op == "*") {
			a, b = b, a
		}
		switch {
		case b.Op != "":
			fail("a calculation in parentheses")
		case a.Op == "":
			a.Op, a.Other = word, b.Column
		default:
			a.Then = append(a.Then[:len(a.Then):len(a.Then)], ir.Operand{Op: word, Column: b.Column})
		}
		return a
	case figure(a) && figure(b) && op != "*":
		if b.Outer != "" && op != "+" {
			fail("a calculation in parentheses")
		}
		return append1(a, op, b)
	}
	fail("a calculation with %s and %s", a.Kind, b.Kind)
	return a
}

// append1 appends an operand to a chain of aggregates.
func append1(a ir.Expr, op string, b ir.Expr) ir.Expr {
	if a.Second != nil {
		second := append1(*a.Second, op, b)
		a.Second = &second
		return a
	}
	a.Outer, a.Second = op, &b
	return a
}

// call translates a function.
func (r *reader) call(n *node) ir.Expr {
	switch {
	case n.window != nil:
		fail("a window")
	case aggregates[n.text]:
		return r.aggregate(n)
	case n.text == "abs" && len(n.args) == 1:
		e := r.expr(n.args[0])
		if e.Kind == "column" && e.Op == "less" && len(e.Then) == 0 {
			e.Op = "gap"
			return e
		}
	case n.text == "asdate":
		e := r.expr(n.args[0])
		if e.Kind == "column" && e.Op == "" && r.cat.Columns[e.Column].HasTime {
			return ir.Expr{Kind: "part", Func: "day", Column: e.Column, Other: -1}
		}
		return e
	case n.text == "date_trunc" && len(n.args) == 2 && n.args[0].kind == 's':
		if _, ok := map[string]bool{"year": true, "quarter": true, "month": true, "week": true, "day": true}[n.args[0].text]; ok {
			return ir.Expr{Kind: "part", Func: n.args[0].text, Column: r.column(n.args[1]), Other: -1}
		}
	case (n.text == "date_diff" || n.text == "datediff" || n.text == "date_sub") && len(n.args) == 3 && n.args[1].kind == 'c' && n.args[2].kind == 'c' && n.args[0].text != "year" && n.args[0].text != "month":
		return ir.Expr{Kind: "days", Column: r.column(n.args[1]), Other: r.column(n.args[2])}
	case (n.text == "date_diff" || n.text == "datediff" || n.text == "date_sub") && len(n.args) == 3 && n.args[0].text == "year" && n.args[1].kind == 'c' && r.find(n.args[2], r.scope) < 0:
		return ir.Expr{Kind: "age", Column: r.column(n.args[1]), Other: -1}
	case (n.text == "date_diff" || n.text == "datediff") && len(n.args) == 3 && n.args[0].text == "day":
		return r.calculate(r.expr(n.args[2]), "-", r.expr(n.args[1]))
	case n.text == "decade" && len(n.args) == 1:
		of := n.args[0]
		if of.kind == 'f' && of.text == "year" && len(of.args) == 1 {
			of = of.args[0]
		}
		return ir.Expr{Kind: "part", Func: "decade", Column: r.column(of), Other: -1}
	}
	if part := parts[n.text]; part != "" && len(n.args) == 1 {
		return ir.Expr{Kind: "part", Func: part, Column: r.column(n.args[0]), Other: -1}
	}
	fail("function %s", n.text)
	return ir.Expr{}
}

// aggregate translates an aggregate and its filter.
func (r *reader) aggregate(n *node) ir.Expr {
	e := ir.Expr{Kind: "agg", Func: n.text, Column: -1, Other: -1}
	if n.sub != nil {
		e.Inner, e.Sub = "query", r.query(n.sub)
		return e
	}
	if len(n.args) != 1 {
		fail("function %s", n.text)
	}
	switch of := r.expr(n.args[0]); of.Kind {
	case "*":
		e.Star = true
	case "column":
		e.Column, e.Op, e.Other, e.Then, e.Distinct = of.Column, of.Op, of.Other, of.Then, n.distinct
		if e.Op != "" && (e.Distinct || e.Func == "count") {
			fail("a count of a calculation")
		}
	case "days", "age":
		e.Inner, e.Column, e.Other = of.Kind, of.Column, of.Other
	default:
		fail("%s of %s", n.text, of.Kind)
	}
	e.Conds = r.conds(n.filter)
	return e
}
