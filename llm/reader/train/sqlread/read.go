package sqlread

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// errUnsupported says that the language of llm/reader/ir cannot express a query.
var errUnsupported = errors.New("not part of the language")

// Read parses a query. Its values are literals: texts, numbers, and periods such as
// "2024-03" or "last month".
func Read(sql string, cat *catalog.Catalog) (q *ir.Query, err error) {
	tokens, err := lex(sql)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, cat: cat}
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(failure)
			if !ok {
				panic(r)
			}
			q, err = nil, failed.error
		}
	}()
	q = p.query()
	if p.at < len(p.tokens) {
		p.fail("rest from %q", p.peek().text)
	}
	return q, nil
}

// failure is the panic value that ends parsing.
type failure struct{ error }

type parser struct {
	tokens []token
	at     int
	cat    *catalog.Catalog
	scope  *scope
}

// scope has the tables of one SELECT by their aliases.
type scope struct {
	tables  []int
	names   map[string]int
	aliases map[string]ir.Expr
	on      [][2]int
}

func (p *parser) fail(format string, args ...any) {
	panic(failure{fmt.Errorf("%w: %s", errUnsupported, fmt.Sprintf(format, args...))})
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

func (p *parser) is(text string) bool {
	t := p.peek()
	return t.text == text && (t.kind == 'w' || t.kind == 'o')
}

func (p *parser) take(texts ...string) bool {
	for i, text := range texts {
		t := p.peekAt(i)
		if t.text != text || t.kind != 'w' && t.kind != 'o' {
			return false
		}
	}
	p.at += len(texts)
	return true
}

func (p *parser) need(texts ...string) {
	if !p.take(texts...) {
		p.fail("%q where %q should stand", p.peek().text, texts[0])
	}
}

func (p *parser) query() *ir.Query {
	if p.is("(") && p.peekAt(1).text == "select" {
		p.fail("a query in parentheses")
	}
	q := p.selection()
	for _, set := range []string{"union", "intersect", "except"} {
		if p.take(set) {
			p.take("all")
			q.Set, q.Right = set, p.query()
		}
	}
	return q
}

// selection reads a SELECT, the FROM first, for the aliases.
func (p *parser) selection() *ir.Query {
	p.need("select")
	items := p.at
	p.skipTo("from")
	outer := p.scope
	p.scope = p.from()
	after := p.at
	q := &ir.Query{Via: -1}
	p.at = items
	q.Distinct = p.take("distinct")
	for {
		e := p.expr()
		if p.take("as") || p.peek().kind == 'q' {
			p.scope.aliases[strings.ToLower(p.next().text)] = e
		}
		q.Items = append(q.Items, e)
		if !p.take(",") {
			break
		}
	}
	p.need("from")
	p.at = after
	if p.take("where") {
		q.Where = p.conds()
	}
	if p.take("group", "by") {
		for {
			q.Group = append(q.Group, p.keyOrAlias(q))
			if !p.take(",") {
				break
			}
		}
	}
	if p.take("having") {
		q.Having = p.conds()
	}
	if p.take("order", "by") {
		p.order(q)
	}
	if p.take("limit") {
		q.Limit = p.rows()
		if p.take("offset") {
			q.Nth = p.rows() + 1
		}
	}
	p.tables(q)
	p.scope = outer
	return q
}

// rows reads a number of rows.
func (p *parser) rows() int {
	n, err := strconv.Atoi(p.next().text)
	if err != nil || n < 0 {
		p.fail("a limit that is no number")
	}
	return n
}

// skipTo skips to a word outside of parentheses.
func (p *parser) skipTo(word string) {
	depth := 0
	for ; p.at < len(p.tokens); p.at++ {
		switch t := p.tokens[p.at]; {
		case t.kind == 'o' && t.text == "(":
			depth++
		case t.kind == 'o' && t.text == ")":
			depth--
		case depth == 0 && t.kind == 'w' && t.text == word:
			return
		}
	}
	p.fail("no %s", word)
}

func (p *parser) order(q *ir.Query) {
	for {
		s := ir.Sort{By: p.keyOrAlias(q)}
		if p.take("desc") {
			s.Desc = true
		} else {
			p.take("asc")
		}
		if p.take("nulls") {
			p.next()
		}
		q.Order = append(q.Order, s)
		if !p.take(",") {
			return
		}
	}
}

// keyOrAlias reads an expression, the alias of an item, or its number.
func (p *parser) keyOrAlias(q *ir.Query) ir.Expr {
	t := p.peek()
	if t.kind == 'n' {
		n, err := strconv.Atoi(t.text)
		if err != nil || n < 1 || n > len(q.Items) {
			p.fail("no item %s", t.text)
		}
		p.at++
		return q.Items[n-1]
	}
	if e, ok := p.scope.aliases[strings.ToLower(t.text)]; ok && p.peekAt(1).text != "." && p.peekAt(1).text != "(" {
		p.at++
		return e
	}
	return p.expr()
}

func (p *parser) from() *scope {
	p.need("from")
	s := &scope{names: map[string]int{}, aliases: map[string]ir.Expr{}}
	outer := p.scope
	p.scope = s
	defer func() { p.scope = outer }()
	for {
		if p.is("(") {
			p.fail("a query in FROM")
		}
		t := p.table(p.next().text)
		if slices.Contains(s.tables, t) {
			p.fail("a table twice")
		}
		s.tables = append(s.tables, t)
		s.names[strings.ToLower(p.cat.Tables[t].Name)] = t
		if p.take("as") {
			s.names[p.next().text] = t
		} else if a := p.peek(); a.kind == 'w' && !clause[a.text] {
			s.names[p.next().text] = t
		}
		if p.take("on") {
			for {
				left := p.column()
				p.need("=")
				s.on = append(s.on, [2]int{left, p.column()})
				if !p.take("and") {
					break
				}
			}
		}
		switch {
		case p.take(","), p.take("join"), p.take("inner", "join"):
		default:
			return s
		}
	}
}

var clause = map[string]bool{"where": true, "group": true, "having": true, "order": true, "limit": true, "on": true, "join": true,
	"inner": true, "left": true, "union": true, "intersect": true, "except": true, "using": true, "natural": true, "cross": true}

func (p *parser) table(name string) int {
	for i := range p.cat.Tables {
		if strings.EqualFold(p.cat.Tables[i].Name, name) {
			return i
		}
	}
	p.fail("no table %s", name)
	return -1
}

// column reads the name of a column.
func (p *parser) column() int {
	first := p.next()
	if first.kind != 'w' && first.kind != 'q' {
		p.fail("%q where a column should stand", first.text)
	}
	if p.take(".") {
		t, ok := p.scope.names[strings.ToLower(first.text)]
		if !ok {
			p.fail("no table %s", first.text)
		}
		name := p.next().text
		if c := p.columnOf(t, name); c >= 0 {
			return c
		}
		p.fail("no column %s", name)
	}
	for _, t := range p.scope.tables {
		if c := p.columnOf(t, first.text); c >= 0 {
			return c
		}
	}
	p.fail("no column %s", first.text)
	return -1
}

func (p *parser) columnOf(table int, name string) int {
	for _, c := range p.cat.Tables[table].Columns {
		if strings.EqualFold(p.cat.Columns[c].Name, name) {
			return c
		}
	}
	return -1
}

// isColumn reports whether a name without a dot is a column of the scope.
func (p *parser) isColumn(name string) bool {
	for _, t := range p.scope.tables {
		if p.columnOf(t, name) >= 0 {
			return true
		}
	}
	return false
}
