package sqlread

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Read parses a query. Its values are literals: texts, numbers, and periods such as
// "2024-03" or "last month".
func Read(sql string, cat *catalog.Catalog) (q *ir.Query, err error) {
	tokens, err := lex(sql)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			q, err = nil, failed.error
		}
	}()
	p := &parser{tokens: tokens, with: map[string]*statement{}}
	s := p.statement()
	if p.at < len(p.tokens) {
		fail("rest from %q", p.peek().text)
	}
	r := &reader{cat: cat}
	return r.query(s), nil
}

// reader translates statements to the language.
type reader struct {
	cat   *catalog.Catalog
	scope *scope
}

// scope has the tables of one SELECT by their names.
type scope struct {
	outer   *scope
	tables  []int
	names   map[string]int
	aliases map[string]*node
	on      [][2]int
	// left has the columns that join the tables of a LEFT JOIN: its own one second.
	left map[int][2]int
	// correlated has the pairs of columns of this SELECT and the outer one that are equal.
	correlated [][2]int
	grouped    bool
	where      []ir.Cond
}

func (r *reader) query(s *statement) *ir.Query {
	s = sideBySide(flatten(s))
	if len(s.from) == 0 && len(s.items) == 1 && s.items[0].kind == 'q' {
		return r.query(s.items[0].sub)
	}
	r.open(s)
	q := &ir.Query{Via: -1, Distinct: s.distinct, Limit: s.limit}
	if s.hasLimit && s.limit == 0 {
		fail("a limit that is no number")
	}
	if s.offset > 0 {
		q.Nth = s.offset + 1
	}
	q.Where = r.conds(s.where)
	r.scope.where = q.Where
	r.items(q, s)
	if !s.star {
		for _, g := range s.group {
			q.Group = append(q.Group, r.key(g, q, s))
		}
	}
	q.Having = r.conds(s.having)
	for i := range q.Having {
		// A column of the group has one value.
		if c := &q.Having[i]; c.Column >= 0 {
			c.Right, c.Column = &ir.Expr{Kind: "agg", Func: "max", Column: c.Column, Other: -1}, -1
		}
	}
	for _, o := range s.order {
		q.Order = append(q.Order, ir.Sort{By: r.key(o.by, q, s), Desc: o.desc})
	}
	r.qualify(q, s.qualify)
	r.merge(q)
	for i := range q.Items {
		q.Items[i] = r.canonical(q.Items[i])
	}
	for i := range q.Order {
		by := &q.Order[i].By
		if by.Outer == "/" && by.Second.Second == nil {
			// The order of fractions is that of percentages.
			percent := *by
			percent.Outer = "%"
			if percent = r.canonical(percent); percent.Kind != "agg" && !slices.ContainsFunc(q.Items, func(e ir.Expr) bool { return e.Outer == "/" }) {
				*by = percent
			}
		}
		*by = r.canonical(*by)
	}
	for i := range q.Having {
		q.Having[i].Left = r.canonical(q.Having[i].Left)
	}
	r.tables(q)
	if len(r.scope.correlated) > 0 {
		fail("a query that depends on the row outside")
	}
	r.scope = r.scope.outer
	if s.set != "" {
		q.Set, q.Right = s.set, r.query(s.right)
	}
	return q
}

// open begins the scope of a statement.
func (r *reader) open(s *statement) {
	sc := &scope{outer: r.scope, names: map[string]int{}, aliases: map[string]*node{}, left: map[int][2]int{}, grouped: len(s.group) > 0}
	r.scope = sc
	for _, f := range s.from {
		t := slices.IndexFunc(r.cat.Tables, func(t catalog.Table) bool { return strings.EqualFold(t.Name, f.table) })
		switch {
		case t < 0:
			fail("no table %s", f.table)
		case slices.Contains(sc.tables, t):
			fail("a table twice")
		}
		sc.tables = append(sc.tables, t)
		sc.names[strings.ToLower(f.table)] = t
		sc.names[f.name()] = t
		for _, c := range conjuncts(f.on) {
			if !c.isOp("=") || c.args[0].kind != 'c' || c.args[1].kind != 'c' {
				fail("a join that is no link")
			}
			a, b := r.column(c.args[0]), r.column(c.args[1])
			sc.on = append(sc.on, [2]int{a, b})
			if r.cat.Columns[a].Table == t {
				a, b = b, a
			}
			if f.left {
				sc.left[t] = [2]int{a, b}
			}
		}
	}
	for _, i := range s.items {
		if i.alias != "" {
			sc.aliases[i.alias] = i.node
		}
	}
}

// items translates what is selected. The row with the largest or smallest of something, and
// the last part of a date, are orders with a limit.
func (r *reader) items(q *ir.Query, s *statement) {
	for _, i := range s.items {
		n := simplify(i.node)
		switch {
		case n.kind == 'f' && (n.text == "arg_max" || n.text == "arg_min") && len(n.args) == 2 && n.filter == nil && len(q.Order) == 0:
			q.Items = append(q.Items, r.expr(n.args[0]))
			q.Order, q.Limit = []ir.Sort{{By: r.expr(n.args[1]), Desc: n.text == "arg_max"}}, 1
			if len(s.group) > 1 || len(s.order) > 0 {
				fail("function %s", n.text)
			}
			if len(s.group) == 1 {
				key := r.key(s.group[0], q, s)
				q.Each, s.star = &key, true
			}
		case n.kind == 'f' && (n.text == "max" || n.text == "min") && len(n.args) == 1 && len(s.items) == 1 && len(s.group) == 0 && n.filter == nil && n.sub == nil && n.args[0].kind == 'f' && r.isPart(n.args[0]):
			e := r.expr(n.args[0])
			q.Items = append(q.Items, e)
			q.Order, q.Limit = []ir.Sort{{By: e, Desc: n.text == "max"}}, 1
		default:
			q.Items = append(q.Items, r.expr(n))
		}
	}
}

// key translates an expression, the alias of an item, or its number.
func (r *reader) key(n *node, q *ir.Query, s *statement) ir.Expr {
	if n.kind == 'n' {
		at, err := strconv.Atoi(n.text)
		if err != nil || at < 1 || at > len(q.Items) {
			fail("no item %s", n.text)
		}
		return q.Items[at-1]
	}
	if n.kind == 'c' && n.of == "" {
		for i, it := range s.items {
			if it.alias != "" && strings.EqualFold(it.alias, n.text) && i < len(q.Items) {
				return q.Items[i]
			}
		}
	}
	return r.expr(simplify(n.replace(func(m *node) *node {
		if m != n && m.kind == 'c' && m.of == "" {
			return r.scope.aliases[strings.ToLower(m.text)]
		}
		return nil
	})))
}

// qualify translates a condition on row numbers: the first ones of each group.
func (r *reader) qualify(q *ir.Query, n *node) {
	if n == nil {
		return
	}
	if n.kind != 'o' || n.text != "=" && n.text != "<=" || n.args[0].window == nil || n.args[1].kind != 'n' || len(n.args[0].window.partition) > 1 || len(q.Order) > 0 {
		fail("a window")
	}
	number := int(value(n.args[1]))
	q.Limit = number
	if n.text == "=" && number > 1 {
		q.Limit, q.Nth = 1, number
	}
	for _, k := range n.args[0].window.partition {
		key := r.expr(simplify(k))
		q.Each = &key
	}
	for _, o := range n.args[0].window.order {
		q.Order = append(q.Order, ir.Sort{By: r.expr(simplify(o.by)), Desc: o.desc})
	}
}

// merge turns values of queries of the same table into aggregates of one query, with the
// conditions that they share.
func (r *reader) merge(q *ir.Query) {
	var terms []*ir.Expr
	for i := range q.Items {
		for at := &q.Items[i]; at != nil; at = at.Second {
			terms = append(terms, at)
		}
	}
	if len(r.scope.tables) > 0 || len(terms) < 2 {
		return
	}
	tables := func(sub *ir.Query) []int {
		all, _, err := ir.Tables(sub, r.cat)
		if err != nil {
			return nil
		}
		slices.Sort(all)
		return all
	}
	var common []ir.Cond
	for i, t := range terms {
		if t.Kind != "query" {
			return
		}
		sub := t.Sub
		if len(sub.Items) != 1 || len(sub.Group)+len(sub.Having)+len(sub.Order)+sub.Limit > 0 || sub.Set != "" || sub.Distinct || sub.Via != terms[0].Sub.Via ||
			slices.ContainsFunc(sub.Where, func(c ir.Cond) bool { return c.Or }) || !slices.Equal(tables(sub), tables(terms[0].Sub)) {
			return
		}
		if e := sub.Items[0]; e.Kind != "column" && (e.Kind != "agg" || e.Outer != "" || e.Sub != nil || len(e.Conds) > 0) {
			return
		}
		if i == 0 {
			common = slices.Clone(sub.Where)
		}
		common = slices.DeleteFunc(common, func(c ir.Cond) bool { return !hasCond(sub.Where, c) })
	}
	for _, t := range terms {
		sub, e := t.Sub, t.Sub.Items[0]
		if e.Kind == "column" {
			e.Kind, e.Func = "agg", "max"
		}
		if len(sub.From) > 0 {
			q.From = sub.From
		}
		e.Conds = slices.DeleteFunc(slices.Clone(sub.Where), func(c ir.Cond) bool { return hasCond(common, c) })
		e.Outer, e.Second = t.Outer, t.Second
		q.Via = sub.Via
		*t = e
	}
	q.Where = common
}

func hasCond(all []ir.Cond, c ir.Cond) bool {
	return slices.ContainsFunc(all, func(other ir.Cond) bool { return reflect.DeepEqual(other, c) })
}

// canonical returns a calculation with aggregates as one of the language's comparisons where
// there is one.
func (r *reader) canonical(e ir.Expr) ir.Expr {
	if e.Kind != "agg" || e.Sub != nil || e.Second == nil {
		return e
	}
	b := *e.Second
	first, second := e, b
	first.Conds, first.Outer, first.Second = nil, "", nil
	second.Conds, second.Outer, second.Second = nil, "", nil
	if !reflect.DeepEqual(first, second) {
		return r.flagShare(e)
	}
	result := first
	switch {
	case b.Second != nil:
		base := *b.Second
		if e.Outer == "-" && b.Outer == "%" && base.Second == nil && len(e.Conds) > 0 && len(b.Conds) > 0 && sameTerm(base, b) {
			result.Kind, result.Conds, result.Versus = "growth", b.Conds, e.Conds
			return result
		}
		return e
	case e.Outer == "%" && len(e.Conds) > 0 && len(b.Conds) == 0 && e.Star:
		return ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: e.Conds}
	case e.Outer == "%" && len(e.Conds) > 0 && len(b.Conds) == 0:
		result.Kind, result.Conds = "pctof", e.Conds
		return result
	case len(e.Conds) > 0 && len(b.Conds) > 0 && (e.Outer == "-" || e.Outer == "/"):
		result.Kind, result.Conds, result.Versus = map[string]string{"-": "diff", "/": "ratio"}[e.Outer], e.Conds, b.Conds
		return result
	}
	return e
}

func sameTerm(a, b ir.Expr) bool {
	a.Outer, a.Second, b.Outer, b.Second = "", nil, "", nil
	return reflect.DeepEqual(a, b)
}

// flagShare returns the percentage of rows whose flag is set, or whose column has a value,
// for a sum or count of it as a percentage of all rows.
func (r *reader) flagShare(e ir.Expr) ir.Expr {
	b := *e.Second
	if e.Outer != "%" || !b.Star || len(b.Conds)+len(e.Conds) > 0 || b.Second != nil || e.Op != "" || e.Inner != "" || e.Distinct || e.Column < 0 {
		return e
	}
	left := ir.Expr{Kind: "column", Column: e.Column, Other: -1}
	switch {
	case e.Func == "count":
		return ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: []ir.Cond{{Left: left, Op: "notnull", Column: -1}}}
	case e.Func == "sum" && r.cat.Columns[e.Column].IsBoolean():
		return ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: []ir.Cond{r.isSet(e.Column)}}
	}
	return e
}

// isSet returns the condition that a flag is set.
func (r *reader) isSet(column int) ir.Cond {
	v := ir.Value{Kind: ir.BoolValue, Text: "true"}
	if r.cat.Columns[column].Kind == catalog.Number {
		v = ir.Value{Kind: ir.NumberValue, Text: "1"}
	}
	return ir.Cond{Left: ir.Expr{Kind: "column", Column: column, Other: -1}, Op: "=", Values: []ir.Value{v}, Column: -1}
}

// column returns the number of a column.
func (r *reader) column(n *node) int {
	c := r.find(n, r.scope)
	if c < 0 {
		fail("no column %s", n.text)
	}
	return c
}

// find returns the column of a name in a scope; -1 for none.
func (r *reader) find(n *node, s *scope) int {
	if n.kind != 'c' || s == nil {
		return -1
	}
	for _, t := range s.tables {
		if n.of != "" && s.names[n.of] != t {
			continue
		}
		if _, ok := s.names[n.of]; n.of != "" && !ok {
			return -1
		}
		for _, c := range r.cat.Tables[t].Columns {
			if strings.EqualFold(r.cat.Columns[c].Name, n.text) {
				return c
			}
		}
	}
	return -1
}
