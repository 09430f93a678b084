package sqlread

import (
	"errors"
	"fmt"
	"strings"
)

// errUnsupported says that the language of llm/reader/ir cannot express a query.
var errUnsupported = errors.New("not part of the language")

// failure is the panic value that ends parsing.
type failure struct{ error }

func fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%w: %s", errUnsupported, fmt.Sprintf(format, args...))})
}

// node is an expression of SQL.
type node struct {
	// kind is 'c' for a column, 's' for a text, 'n' for a number, '*', 'f' for a call, 'o'
	// for an operator, 'q' for a query and 'k' for CASE, with a condition and a value for
	// each WHEN and then the value of ELSE.
	kind byte
	// text is the name of a column or function, the operator or the literal; of qualifies a
	// column.
	text, of string
	args     []*node
	// quoted says that a name is in quotes, which may be a text of SQLite.
	quoted, distinct bool
	filter           *node
	sub              *statement
	// window is OVER: what it is partitioned and ordered by.
	window *window
}

type window struct {
	partition []*node
	order     []sorted
}

type sorted struct {
	by   *node
	desc bool
}

// statement is a SELECT.
type statement struct {
	distinct       bool
	items          []item
	from           []source
	where, having  *node
	qualify        *node
	group          []*node
	order          []sorted
	limit, offset  int
	set            string
	right          *statement
	hasLimit, star bool
}

type item struct {
	*node
	alias string
}

// source is a table or a query in FROM.
type source struct {
	table, alias string
	sub          *statement
	on           *node
	left         bool
}

type parser struct {
	tokens []token
	at     int
	// with has the queries of WITH.
	with map[string]*statement
}

func (p *parser) peek() token { return p.peekAt(0) }

func (p *parser) peekAt(n int) token {
	if p.at+n < len(p.tokens) {
		return p.tokens[p.at+n]
	}
	return token{}
}

func (p *parser) next() token {
	t := p.peek()
	p.at++
	return t
}

func (p *parser) is(texts ...string) bool {
	for i, text := range texts {
		if t := p.peekAt(i); t.text != text || t.kind != 'w' && t.kind != 'o' {
			return false
		}
	}
	return true
}

func (p *parser) take(texts ...string) bool {
	if !p.is(texts...) {
		return false
	}
	p.at += len(texts)
	return true
}

func (p *parser) need(text string) {
	if !p.take(text) {
		fail("%q where %q should stand", p.peek().text, text)
	}
}

func (p *parser) statement() *statement {
	if p.take("with") {
		for {
			name := p.next().text
			p.need("as")
			p.need("(")
			p.with[name] = p.statement()
			p.need(")")
			if !p.take(",") {
				break
			}
		}
	}
	if p.take("(") {
		s := p.statement()
		p.need(")")
		return p.sets(s)
	}
	p.need("select")
	s := &statement{distinct: p.take("distinct")}
	for {
		i := item{node: p.expr()}
		if p.take("as") || p.peek().kind == 'q' || p.peek().kind == 'w' && !clause[p.peek().text] {
			i.alias = strings.ToLower(p.next().text)
		}
		s.items = append(s.items, i)
		if !p.take(",") {
			break
		}
	}
	if p.take("from") {
		p.from(s)
	}
	if p.take("where") {
		s.where = p.expr()
	}
	if p.take("group", "by") {
		s.group = p.list()
	}
	if p.take("having") {
		s.having = p.expr()
	}
	if p.take("qualify") {
		s.qualify = p.expr()
	}
	if p.take("order", "by") {
		s.order = p.order()
	}
	if p.take("limit") {
		s.limit, s.hasLimit = p.rows(), true
	}
	if p.take("offset") {
		s.offset = p.rows()
	}
	return p.sets(s)
}

func (p *parser) sets(s *statement) *statement {
	for _, set := range []string{"union", "intersect", "except"} {
		if p.take(set) {
			p.take("all")
			s.set, s.right = set, p.statement()
		}
	}
	return s
}

// rows reads a number of rows.
func (p *parser) rows() int {
	n := 0
	if _, err := fmt.Sscanf(p.next().text, "%d", &n); err != nil || n < 0 {
		fail("a limit that is no number")
	}
	return n
}

var clause = map[string]bool{"from": true, "where": true, "group": true, "having": true, "order": true, "limit": true, "on": true, "join": true, "qualify": true, "offset": true,
	"inner": true, "left": true, "union": true, "intersect": true, "except": true, "using": true, "natural": true, "cross": true, "and": true, "or": true, "filter": true, "over": true}

func (p *parser) from(s *statement) {
	left := false
	for {
		one := source{left: left}
		if p.take("(") {
			one.sub = p.statement()
			p.need(")")
		} else if one.table = p.next().text; p.with[one.table] != nil {
			copied := *p.with[one.table]
			one.sub, one.alias = &copied, one.table
		}
		if p.take("as") || p.peek().kind == 'q' || p.peek().kind == 'w' && !clause[p.peek().text] {
			one.alias = strings.ToLower(p.next().text)
		}
		if p.take("on") {
			one.on = p.expr()
		} else if p.take("using") {
			p.need("(")
			name := p.next().text
			p.need(")")
			before := s.from[len(s.from)-1]
			one.on = operator("=", &node{kind: 'c', text: name, of: before.name()}, &node{kind: 'c', text: name, of: one.name()})
		}
		s.from = append(s.from, one)
		left = false
		switch {
		case p.take(","), p.take("join"), p.take("inner", "join"), p.take("cross", "join"):
		case p.take("left", "join"), p.take("left", "outer", "join"):
			left = true
		default:
			return
		}
	}
}

// name returns the name by which columns of a source are qualified.
func (s source) name() string {
	if s.alias != "" {
		return s.alias
	}
	return strings.ToLower(s.table)
}

func (p *parser) list() []*node {
	all := []*node{p.expr()}
	for p.take(",") {
		all = append(all, p.expr())
	}
	return all
}

func (p *parser) order() []sorted {
	var all []sorted
	for {
		s := sorted{by: p.expr()}
		s.desc = p.take("desc")
		p.take("asc")
		if p.take("nulls") {
			p.next()
		}
		all = append(all, s)
		if !p.take(",") {
			return all
		}
	}
}

func operator(op string, args ...*node) *node { return &node{kind: 'o', text: op, args: args} }

func (p *parser) expr() *node {
	left := p.and()
	for p.take("or") {
		left = operator("or", left, p.and())
	}
	return left
}

func (p *parser) and() *node {
	left := p.not()
	for p.take("and") {
		left = operator("and", left, p.not())
	}
	return left
}

func (p *parser) not() *node {
	if p.take("not") {
		return operator("not", p.not())
	}
	return p.comparison()
}

var comparisons = map[string]bool{"=": true, "!=": true, ">": true, "<": true, ">=": true, "<=": true}

func (p *parser) comparison() *node {
	left := p.sum()
	for {
		not := p.take("not")
		t := p.peek()
		var test *node
		switch {
		case t.kind == 'o' && comparisons[t.text] && !not:
			p.at++
			test = operator(t.text, left, p.sum())
		case p.take("between"):
			low := p.sum()
			p.need("and")
			test = operator("between", left, low, p.sum())
		case p.take("like"), p.take("ilike"):
			test = operator("like", left, p.sum())
		case p.take("is"):
			not = p.take("not")
			if p.take("distinct", "from") {
				test, not = operator("=", left, p.sum()), !not
				break
			}
			test = operator("is", left, p.primary())
		case p.take("in"):
			p.need("(")
			if p.is("select") || p.is("with") {
				test = operator("in", left, &node{kind: 'q', sub: p.statement()})
			} else {
				test = operator("in", append([]*node{left}, p.list()...)...)
			}
			p.need(")")
		default:
			return left
		}
		if not {
			test = operator("not", test)
		}
		left = test
	}
}

func (p *parser) sum() *node {
	left := p.product()
	for p.is("+") || p.is("-") || p.is("||") {
		left = operator(p.next().text, left, p.product())
	}
	return left
}

func (p *parser) product() *node {
	left := p.unary()
	for p.is("*") || p.is("/") || p.is("//") || p.is("%") {
		left = operator(p.next().text, left, p.unary())
	}
	return left
}

func (p *parser) unary() *node {
	if p.is("-") && p.peekAt(1).kind == 'n' {
		p.at++
		return &node{kind: 'n', text: "-" + p.next().text}
	}
	left := p.primary()
	for p.take("::") {
		left = p.cast(left)
	}
	return left
}

// cast reads a type, with arguments in parentheses.
func (p *parser) cast(of *node) *node {
	n := &node{kind: 'f', text: "cast", of: p.next().text, args: []*node{of}}
	if p.take("(") {
		p.list()
		p.need(")")
	}
	return n
}

func (p *parser) primary() *node {
	t := p.peek()
	switch {
	case p.take("("):
		var n *node
		if p.is("select") || p.is("with") {
			n = &node{kind: 'q', sub: p.statement()}
		} else {
			n = p.expr()
		}
		p.need(")")
		return n
	case p.take("*"):
		return &node{kind: '*'}
	case t.kind == 'n', t.kind == 's':
		p.at++
		return &node{kind: t.kind, text: t.text}
	case p.take("case"):
		return p.cases()
	case t.kind == 'w' && (t.text == "date" || t.text == "timestamp") && p.peekAt(1).kind == 's':
		p.at++
		return &node{kind: 'd', text: p.next().text}
	case t.kind == 'w' && p.peekAt(1).text == "(" && p.peekAt(1).kind == 'o':
		p.at += 2
		return p.call(t.text)
	case t.kind == 'w' && !clause[t.text], t.kind == 'q':
		p.at++
		n := &node{kind: 'c', text: t.text, quoted: t.kind == 'q'}
		if p.take(".") {
			n.of = strings.ToLower(t.text)
			if p.take("*") {
				return &node{kind: '*'}
			}
			n.text, n.quoted = p.next().text, false
		}
		return n
	}
	fail("%q where an expression should stand", t.text)
	return nil
}

func (p *parser) cases() *node {
	n := &node{kind: 'k'}
	var of *node
	if !p.is("when") {
		of = p.expr()
	}
	for p.take("when") {
		test := p.expr()
		if of != nil {
			test = operator("=", of, test)
		}
		p.need("then")
		n.args = append(n.args, test, p.expr())
	}
	if p.take("else") {
		n.args = append(n.args, p.expr())
	}
	p.need("end")
	return n
}

// call reads the arguments of a function, its FILTER and its OVER.
func (p *parser) call(name string) *node {
	n := &node{kind: 'f', text: name}
	switch {
	case name == "exists":
		n.sub = p.statement()
	case name == "cast" || name == "try_cast":
		of := p.expr()
		p.need("as")
		n = p.cast(of)
	case name == "extract":
		n.text = p.next().text
		p.need("from")
		n.args = p.list()
	case p.is(")"):
	default:
		n.distinct = p.take("distinct")
		n.args = p.list()
		if p.take("order", "by") {
			p.order()
		}
	}
	p.need(")")
	if p.take("filter", "(") {
		p.need("where")
		n.filter = p.expr()
		p.need(")")
	}
	if p.take("over") {
		p.need("(")
		n.window = &window{}
		if p.take("partition", "by") {
			n.window.partition = p.list()
		}
		if p.take("order", "by") {
			n.window.order = p.order()
		}
		p.need(")")
	}
	return n
}
