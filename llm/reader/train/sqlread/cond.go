package sqlread

import (
	"math"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// unit is a condition, or several on one column of which any must hold.
type unit []ir.Cond

// maxUnits limits what alternatives expand to.
const maxUnits = 12

// conds translates conditions: alternatives of conditions that must all hold.
func (r *reader) conds(n *node) []ir.Cond {
	if n == nil {
		return nil
	}
	var all []ir.Cond
	for i, group := range r.alternatives(simplify(n), false) {
		for j, u := range group {
			u[0].Or = i > 0 && j == 0
			all = append(all, u...)
		}
	}
	return all
}

// alternatives translates a condition, or its opposite.
func (r *reader) alternatives(n *node, not bool) [][]unit {
	op := n.text
	if n.kind == 'o' && not && (op == "and" || op == "or") {
		op = map[string]string{"and": "or", "or": "and"}[op]
	}
	switch {
	case n.isOp("not"):
		return r.alternatives(n.args[0], !not)
	case n.kind == 'o' && op == "and":
		a, b := r.alternatives(n.args[0], not), r.alternatives(n.args[1], not)
		var all [][]unit
		for _, x := range a {
			for _, y := range b {
				var both []unit
				for _, u := range append(x[:len(x):len(x)], y...) {
					both = append(both, append(unit{}, u...))
				}
				all = append(all, both)
			}
		}
		if len(all) > maxUnits {
			fail("too many alternatives")
		}
		return all
	case n.kind == 'o' && op == "or":
		a, b := r.alternatives(n.args[0], not), r.alternatives(n.args[1], not)
		if len(a) == 1 && len(b) == 1 && len(a[0]) == 1 && len(b[0]) == 1 && a[0][0][0].Left.Kind == b[0][0][0].Left.Kind && a[0][0][0].Left.Column == b[0][0][0].Left.Column && a[0][0][0].Left.Column >= 0 {
			b[0][0][0].Or = true
			return [][]unit{{append(a[0][0], b[0][0]...)}}
		}
		return append(a, b...)
	}
	return r.test(n, not)
}

// periodOps are macros of training queries that compare a date with a named period.
var periodOps = map[string]string{"during": "=", "before": "<", "after": ">", "since": ">=", "until": "<="}

var opposites = map[string]string{"=": "!=", "!=": "=", ">": "<=", "<=": ">", "<": ">=", ">=": "<", "like": "notlike", "likepre": "notlike", "likesuf": "notlike", "isnull": "notnull", "notnull": "isnull", "in": "notin"}

// mirrored are the operators with the sides exchanged.
var mirrored = map[string]string{"=": "=", "!=": "!=", ">": "<", "<": ">", ">=": "<=", "<=": ">="}

// test translates one test.
func (r *reader) test(n *node, not bool) [][]unit {
	one := func(c ir.Cond) [][]unit {
		if not {
			if c.Op = opposites[c.Op]; c.Op == "" {
				fail("NOT of a test")
			}
		}
		return [][]unit{{{c}}}
	}
	if n.kind == 'f' {
		return one(r.function(n))
	}
	if n.kind == 'c' {
		c := r.isSet(r.column(n))
		if not {
			c.Values = []ir.Value{{Kind: ir.BoolValue, Text: "false"}}
			if r.cat.Columns[c.Left.Column].Kind == catalog.Number {
				c.Values = []ir.Value{{Kind: ir.NumberValue, Text: "0"}}
			}
		}
		return [][]unit{{{c}}}
	}
	if n.kind != 'o' || len(n.args) < 2 {
		fail("a condition with %s", n.text)
	}
	left, right := n.args[0], n.args[1]
	op := n.text
	if _, literal := r.value(left); literal && mirrored[op] != "" {
		left, right, op = right, left, mirrored[op]
	} else if literal && op == "in" && right.kind != 'q' {
		// A value in one of several columns.
		var any *node
		for _, a := range n.args[1:] {
			test := operator("=", a, left)
			if any == nil {
				any = test
			} else {
				any = operator("or", any, test)
			}
		}
		return r.alternatives(any, not)
	}
	if c, ok := r.outerColumn(left, op, right); ok {
		return [][]unit{c}
	}
	if factor, of, ok := multiple(right); ok && left.kind == 'c' && comparisons[op] {
		// A multiple of a column is a ratio, or a percentage.
		ratio := operator("/", left, of)
		if factor < 1 {
			factor, ratio = math.Round(factor*1e4)/100, operator("*", &node{kind: 'n', text: "100"}, ratio)
		}
		return r.test(operator(op, ratio, &node{kind: 'n', text: strconv.FormatFloat(factor, 'f', -1, 64)}), not)
	}
	if left.kind == 'f' && len(left.args) > 0 && op == "=" && (left.text == "left" || left.text == "right" || left.text == "substr" || left.text == "substring") {
		like := map[string]string{"left": "likepre", "right": "likesuf", "substr": "likepre", "substring": "likepre"}[left.text]
		v, ok := r.value(right)
		if !ok || len(left.args) == 3 && !left.args[1].isNumber("1") {
			fail("function %s", left.text)
		}
		return one(ir.Cond{Left: r.expr(left.args[0]), Op: like, Values: []ir.Value{v}, Column: -1})
	}
	c := ir.Cond{Left: r.expr(left), Op: op, Column: -1}
	switch op {
	case "between":
		low, ok := r.value(right)
		high, ok2 := r.value(n.args[2])
		if !ok || !ok2 {
			fail("BETWEEN without values")
		}
		if not {
			above := c
			c.Op, c.Values, above.Op, above.Or, above.Values = "<", []ir.Value{low}, ">", true, []ir.Value{high}
			return [][]unit{{{c, above}}}
		}
		c.Values = []ir.Value{low, high}
		return [][]unit{{{c}}}
	case "like":
		v, ok := r.value(right)
		if !ok {
			fail("a pattern")
		}
		if inner := strings.Trim(v.Text, "%"); strings.Contains(inner, "%") && !not {
			// The parts of a pattern, in any order.
			var all []unit
			for _, part := range strings.Split(inner, "%") {
				c.Op, c.Values = "like", []ir.Value{{Text: strings.TrimSpace(part)}}
				all = append(all, unit{c})
			}
			return [][]unit{all}
		}
		return one(like(c, v))
	case "is":
		switch right.text {
		case "null":
			if c.Left.Kind == "column" && c.Left.Op != "" && not {
				// A calculation has a value if its columns have.
				var all []unit
				left.visit(func(n *node) {
					if n.kind == 'c' {
						all = append(all, r.missing(ir.Cond{Left: r.expr(n), Column: -1}, true)...)
					}
				})
				return [][]unit{all}
			}
			return [][]unit{r.missing(c, not)}
		case "true", "false":
			c.Op, c.Values = "=", []ir.Value{{Kind: ir.BoolValue, Text: right.text}}
			return one(c)
		}
		fail("IS %s", right.text)
	case "in":
		return [][]unit{r.in(c, n.args[1:], not)}
	}
	if !comparisons[op] {
		fail("a condition with %s", op)
	}
	v, literal := r.value(right)
	switch {
	case literal && (op == "=" || op == "!=") && c.Left.Kind == "column" && v.Kind == ir.TextValue && catalog.IsAbsent(v.Text):
		return [][]unit{r.missing(c, not != (op == "!="))}
	case literal:
		c.Values = []ir.Value{v}
	case right.kind == 'q':
		c.Sub = r.query(right.sub)
	default:
		switch e := r.expr(right); {
		case e.Kind == "column" && e.Op == "":
			c.Column = e.Column
		case e.Kind == "agg" && e.Outer == "" && len(e.Conds) < 2 && e.Sub == nil:
			c.Right = &e
		case c.Left.Kind == "column" && c.Left.Op == "" && c.Left.Column >= 0 && e.Kind == "column":
			// The calculation is on the left.
			c.Left, c.Column, c.Op = e, c.Left.Column, mirrored[op]
		default:
			fail("a comparison with %s", e.Kind)
		}
	}
	return one(c)
}

// multiple splits a multiple of a column.
func multiple(n *node) (factor float64, of *node, ok bool) {
	over, under, factor := factors(n)
	if len(over) != 1 || len(under) > 0 || over[0].kind != 'c' || factor == 1 || factor <= 0 {
		return 0, nil, false
	}
	return factor, over[0], true
}

// missing translates a test for an absent value. A row of a LEFT JOIN without one is a row
// that no other refers to.
func (r *reader) missing(c ir.Cond, not bool) []unit {
	c.Op = "isnull"
	if not {
		c.Op = "notnull"
	}
	if c.Left.Kind != "column" || c.Left.Op != "" {
		fail("a calculation that is NULL")
	}
	table := r.cat.Columns[c.Left.Column].Table
	if pair, ok := r.scope.left[table]; ok && !not {
		delete(r.scope.left, table)
		var tables []int
		for _, t := range r.scope.tables {
			if t != table {
				tables = append(tables, t)
			}
		}
		r.scope.tables = tables
		var on [][2]int
		for _, p := range r.scope.on {
			if r.cat.Columns[p[0]].Table != table && r.cat.Columns[p[1]].Table != table {
				on = append(on, p)
			}
		}
		r.scope.on = on
		column := func(n int) ir.Expr { return ir.Expr{Kind: "column", Column: n, Other: -1} }
		c = ir.Cond{Left: column(pair[0]), Op: "notin", Sub: &ir.Query{Items: []ir.Expr{column(pair[1])}, Via: -1}, Column: -1}
	}
	return []unit{{c}}
}

// outerColumn notes that a column equals one of the SELECT outside.
func (r *reader) outerColumn(left *node, op string, right *node) ([]unit, bool) {
	if r.scope.outer == nil || op != "=" || left.kind != 'c' || right.kind != 'c' {
		return nil, false
	}
	if r.find(left, r.scope) < 0 {
		left, right = right, left
	}
	own, outer := r.find(left, r.scope), r.find(right, r.scope.outer)
	if own < 0 || outer < 0 || r.find(right, r.scope) >= 0 {
		return nil, false
	}
	r.scope.correlated = append(r.scope.correlated, [2]int{own, outer})
	return []unit{}, true
}

// function translates a test that is a function.
func (r *reader) function(n *node) ir.Cond {
	if op, ok := periodOps[n.text]; ok && len(n.args) == 2 {
		return ir.Cond{Left: r.expr(n.args[0]), Op: op, Values: []ir.Value{{Kind: ir.PeriodValue, Text: n.args[1].text}}, Column: -1}
	}
	likes := map[string]string{"contains": "like", "starts_with": "likepre", "prefix": "likepre", "ends_with": "likesuf", "suffix": "likesuf", "regexp_matches": "like"}
	if op, ok := likes[n.text]; ok && len(n.args) >= 2 {
		if v, ok := r.value(n.args[1]); ok && !strings.ContainsAny(v.Text, `\^$.*+?|[](){}`) {
			return ir.Cond{Left: r.expr(n.args[0]), Op: op, Values: []ir.Value{v}, Column: -1}
		}
	}
	if n.text == "list_contains" && len(n.args) == 2 && n.args[0].kind == 'f' && strings.Contains(n.args[0].text, "split") && len(n.args[0].args) > 0 {
		if v, ok := r.value(n.args[1]); ok {
			return ir.Cond{Left: r.expr(n.args[0].args[0]), Op: "like", Values: []ir.Value{v}, Column: -1}
		}
	}
	if n.text == "exists" {
		return r.exists(n.sub)
	}
	fail("function %s", n.text)
	return ir.Cond{}
}

// exists translates EXISTS to IN.
func (r *reader) exists(s *statement) ir.Cond {
	copied := *s
	copied.items = []item{{node: &node{kind: '*'}}}
	if len(s.group) > 0 || s.having != nil || len(s.from) == 0 || s.set != "" {
		fail("EXISTS")
	}
	r.open(&copied)
	defer func() { r.scope = r.scope.outer }()
	q := &ir.Query{Via: -1, Where: r.conds(s.where)}
	if len(r.scope.correlated) != 1 {
		fail("EXISTS")
	}
	pair := r.scope.correlated[0]
	q.Items = []ir.Expr{{Kind: "column", Column: pair[0], Other: -1}}
	r.tables(q)
	return ir.Cond{Left: ir.Expr{Kind: "column", Column: pair[1], Other: -1}, Op: "in", Sub: q, Column: -1}
}

// value returns the value of a literal.
func (r *reader) value(n *node) (ir.Value, bool) {
	switch {
	case n.kind == 's':
		return ir.Value{Text: n.text}, true
	case n.kind == 'n':
		return ir.Value{Kind: ir.NumberValue, Text: strings.TrimSuffix(n.text, ".0")}, true
	case n.kind == 'd':
		return ir.Value{Kind: ir.PeriodValue, Text: n.text}, true
	case n.kind == 'f' && n.text == "asdate" && n.args[0].kind == 's':
		return ir.Value{Kind: ir.PeriodValue, Text: n.args[0].text}, true
	case n.kind == 'c' && !n.quoted && n.of == "" && (n.text == "true" || n.text == "false"):
		return ir.Value{Kind: ir.BoolValue, Text: n.text}, true
	case n.kind == 'c' && n.quoted && n.of == "" && r.find(n, r.scope) < 0:
		return ir.Value{Text: n.text}, true
	}
	return ir.Value{}, false
}

// like translates a pattern.
func like(c ir.Cond, v ir.Value) ir.Cond {
	before, after := strings.HasPrefix(v.Text, "%"), strings.HasSuffix(v.Text, "%")
	v.Text = strings.Trim(v.Text, "%")
	switch {
	case before && after:
		c.Op = "like"
	case after:
		c.Op = "likepre"
	case before:
		c.Op = "likesuf"
	default:
		c.Op = "="
	}
	c.Values = []ir.Value{v}
	return c
}

// in translates a list, as alternatives, or a subquery.
func (r *reader) in(c ir.Cond, list []*node, not bool) []unit {
	if list[0].kind == 'q' && len(list) == 1 {
		c.Op, c.Sub = "in", r.query(list[0].sub)
		if not {
			c.Op = "notin"
		}
		return []unit{{c}}
	}
	var all []unit
	for _, n := range list {
		one := c
		one.Op = "="
		if v, ok := r.value(n); ok {
			one.Values = []ir.Value{v}
		} else if n.kind == 'q' {
			one.Sub = r.query(n.sub)
		} else {
			fail("IN without values")
		}
		if not {
			one.Op = "!="
			all = append(all, unit{one})
			continue
		}
		if len(all) == 0 {
			all = []unit{{}}
		}
		one.Or = len(all[0]) > 0
		all[0] = append(all[0], one)
	}
	return all
}
