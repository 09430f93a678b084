package sqlread

import (
	"slices"
	"strconv"
	"strings"
)

var aggregates = map[string]bool{"count": true, "sum": true, "avg": true, "median": true, "min": true, "max": true}

// wrappers are functions that leave the meaning of their first argument: what they change,
// the printer of the language does itself.
var wrappers = map[string]bool{"round": true, "lower": true, "upper": true, "trim": true, "coalesce": true, "ifnull": true, "nullif": true, "replace": true, "regexp_replace": true,
	"strptime": true, "try_strptime": true, "any_value": true, "first": true, "date": true, "regexp_extract": true, "translate": true}

// simplify returns an expression in one form for those that mean the same: conditional
// aggregates as FILTER, without conversions, and decades and parts of dates as calls.
func simplify(n *node) *node {
	if n == nil {
		return nil
	}
	copied := *n
	copied.args = nil
	for _, a := range n.args {
		copied.args = append(copied.args, simplify(a))
	}
	n = &copied
	n.filter = simplify(n.filter)
	switch {
	case n.kind == 'f' && n.text == "cast" && (n.of == "date"):
		return &node{kind: 'f', text: "asdate", args: n.args}
	case n.kind == 'f' && n.text == "cast", n.kind == 'f' && wrappers[n.text] && len(n.args) > 0 && n.args[0].kind != 's':
		return n.args[0]
	case n.kind == 'f' && (n.text == "count_if" || n.text == "countif") && len(n.args) == 1:
		return &node{kind: 'f', text: "count", args: []*node{{kind: '*'}}, filter: both(n.filter, n.args[0])}
	case n.kind == 'f' && aggregates[n.text] && len(n.args) == 1 && n.window == nil:
		return conditional(n)
	case n.kind == 'f' && (n.text == "strftime" || n.text == "date_part" || n.text == "datepart") && len(n.args) == 2:
		return datePart(n)
	case n.kind == 'f' && n.text == "floor" && len(n.args) == 1 && n.args[0].isOp("/"):
		return operator("//", n.args[0].args...)
	case n.isOp("*") && n.args[0].isOp("//") && n.args[1].isNumber("10") && n.args[0].args[1].isNumber("10"):
		return &node{kind: 'f', text: "decade", args: n.args[0].args[:1]}
	case n.isOp("-") && n.args[1].isOp("%") && n.args[1].args[1].isNumber("10") && same(n.args[0], n.args[1].args[0]):
		return &node{kind: 'f', text: "decade", args: n.args[:1]}
	}
	return n
}

func (n *node) isOp(op string) bool { return n.kind == 'o' && n.text == op }

func (n *node) isNumber(text string) bool {
	return n.kind == 'n' && value(n) == value(&node{text: text})
}

func value(n *node) float64 {
	f, _ := strconv.ParseFloat(n.text, 64)
	return f
}

// both returns a condition that two hold, of which either may be nil.
func both(a, b *node) *node {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return operator("and", a, b)
}

// conditional returns an aggregate of CASE, or of a condition, with a FILTER.
func conditional(n *node) *node {
	arg := n.args[0]
	test := func(cond *node, of *node, distinct bool) *node {
		return &node{kind: 'f', text: n.text, distinct: distinct, args: []*node{of}, filter: both(n.filter, cond)}
	}
	rows := func(filter *node) *node {
		return &node{kind: 'f', text: "count", args: []*node{{kind: '*'}}, filter: filter}
	}
	isTest := arg.kind == 'o' && (comparisons[arg.text] || slices.Contains([]string{"and", "or", "not", "like", "in", "is", "between"}, arg.text))
	one, zero := false, false
	if arg.kind == 'k' && (len(arg.args) == 2 || len(arg.args) == 3) {
		then := arg.args[1]
		one = then.kind == 'n' && value(then) == 1
		zero = len(arg.args) == 3 && arg.args[2].kind == 'n' && value(arg.args[2]) == 0
		isNull := len(arg.args) == 2 || arg.args[2].kind == 'c' && arg.args[2].text == "null"
		switch {
		case n.text == "count" && isNull && !n.distinct && (then.kind == 'n' || then.kind == 's'), n.text == "sum" && one && (zero || isNull):
			return rows(both(n.filter, arg.args[0]))
		case n.text == "avg" && one && zero:
			return operator("/", rows(both(n.filter, arg.args[0])), rows(n.filter))
		case isNull, n.text == "sum" && zero:
			return test(arg.args[0], then, n.distinct)
		}
		return n
	}
	switch {
	case isTest && n.text == "sum":
		return rows(both(n.filter, arg))
	case isTest && n.text == "avg":
		return operator("/", rows(both(n.filter, arg)), rows(n.filter))
	case n.text == "count" && arg.kind == 'n':
		return rows(n.filter)
	}
	return n
}

// datePart returns strftime and date_part as the function of the part.
func datePart(n *node) *node {
	of, format := n.args[0], n.args[1]
	if of.kind == 's' {
		of, format = format, of
	}
	name, ok := map[string]string{"%Y": "year", "%m": "month", "%B": "month", "%b": "month", "%w": "dayofweek", "%u": "isodow", "%A": "dayname", "%a": "dayname", "%H": "hour",
		"%Y-%m": "truncmonth", "%Y-%m-%d": "truncday", "year": "year", "month": "month", "quarter": "quarter", "hour": "hour", "dow": "dayofweek", "isodow": "isodow"}[format.text]
	if !ok {
		fail("a date as %s", format.text)
	}
	return &node{kind: 'f', text: name, args: []*node{of}}
}

// same compares expressions.
func same(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.kind == b.kind && strings.EqualFold(a.text, b.text) && a.distinct == b.distinct && slices.EqualFunc(a.args, b.args, same) && same(a.filter, b.filter) && a.sub == b.sub
}

// factors splits a product into what is multiplied and divided by, and a number.
func factors(n *node) (over, under []*node, number float64) {
	switch {
	case n.kind == 'n':
		return nil, nil, value(n)
	case n.isOp("*"):
		a, b, x := factors(n.args[0])
		c, d, y := factors(n.args[1])
		return append(a, c...), append(b, d...), x * y
	case n.isOp("/"):
		a, b, x := factors(n.args[0])
		c, d, y := factors(n.args[1])
		return append(a, d...), append(b, c...), x / y
	}
	return []*node{n}, nil, 1
}

// visit calls f with an expression and all within it but for queries.
func (n *node) visit(f func(*node)) {
	if n == nil {
		return
	}
	f(n)
	for _, a := range n.args {
		a.visit(f)
	}
	n.filter.visit(f)
}

// replace returns an expression with other ones for those that f returns.
func (n *node) replace(f func(*node) *node) *node {
	if n == nil {
		return nil
	}
	if other := f(n); other != nil {
		return other
	}
	copied := *n
	copied.args = nil
	for _, a := range n.args {
		copied.args = append(copied.args, a.replace(f))
	}
	copied.filter = n.filter.replace(f)
	return &copied
}

func (n *node) hasAggregate() bool {
	found := false
	n.visit(func(m *node) {
		found = found || m.kind == 'f' && (aggregates[m.text] || m.text == "count_if" || m.text == "countif" || m.text == "arg_max" || m.text == "arg_min") && m.window == nil
	})
	return found
}

// conjuncts splits a condition at AND.
func conjuncts(n *node) []*node {
	switch {
	case n == nil:
		return nil
	case n.isOp("and"):
		return append(conjuncts(n.args[0]), conjuncts(n.args[1])...)
	}
	return []*node{n}
}

func conjunction(all []*node) *node {
	var n *node
	for _, c := range all {
		n = both(n, c)
	}
	return n
}
