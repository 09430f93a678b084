package ir

import (
	"fmt"
	"slices"
	"strings"
)

// rules are the productions of the LL(1) grammar. A name with a rule is a nonterminal; any
// other name is a keyword, or one of the classes: table, col (any column), num (a column of
// numbers), date, val (a value to compare the last column with) and lim (a small integer).
const rules = `
query  = select dist item items from via where group having order limit sets
sets   = union query | intersect query | except query |
dist   = distinct |
items  = item items |
item   = * | expr
expr   = col arith | figure | ( query ) outer | part date | days date date | age date | rowid
figure = agg outer | pct cond conds | pctof total cond conds | share total | two total cond conds vs cond conds
part   = year | quarter | month | week | day | monthof | weekday | hour | decade
two    = ratio | diff | growth
agg    = total if
if     = if cond conds |
total  = count counted | sum amount | avg amount | median amount | min some | max some
counted = * | distinct col | col | ( query )
amount = num arith | days date date | age date | ( query )
some   = col arith | days date date | age date | ( query )
arith  = plus num arith | less num arith | times num arith | over num arith | of num arith | gap num arith |
outer  = + term outer | - term outer | / term outer | % term outer |
term   = agg | ( query )
from   = from table tables |
tables = table tables |
via    = on col |
where  = where cond conds |
conds  = and cond conds | or cond conds |
cond   = col arith test | part date test | days date date test | age date test | after col val | before col val
test   = = rhs | != rhs | > rhs | < rhs | >= rhs | <= rhs | between limit2 limit2 | like val | likepre val | likesuf val | notlike val
       | isnull | notnull | in ( query ) | notin ( query )
limit2 = val | small
rhs    = val | small | ( query ) | col | true | false | today
small  = k0 | k1 | k2 | k3 | k4 | k5 | k6 | k7 | k8 | k9 | k10
group  = group key keys |
keys   = key keys |
key    = col | part date
having = having figure ftest figures |
figures = and figure ftest figures | or figure ftest figures |
ftest  = = frhs | != frhs | > frhs | < frhs | >= frhs | <= frhs | between limit2 limit2
frhs   = val | small | ( query ) | total ifone
ifone  = if cond |
order  = order sort sorts |
sorts  = sort sorts |
sort   = expr dir
dir    = asc | desc
limit  = limit most nth each |
nth    = nth most |
most   = lim | small
each   = each key |
`

// symbol is a keyword, a class or a nonterminal of the grammar. Keywords come
// first, with their own numbers.
type symbol uint16

// The classes, after the keywords.
const (
	symTable symbol = iota + 256
	symColumn
	symNumber
	symDate
	symValue
	symLimit
	symRules
)

var classNames = map[string]symbol{
	"table": symTable, "col": symColumn, "num": symNumber, "date": symDate, "val": symValue, "lim": symLimit,
}

// production is one alternative of a nonterminal.
type production []symbol

// grammar is the table of an LL(1) parser.
type grammar struct {
	start symbol
	names []string
	// choose has, for each nonterminal, the production for a first terminal.
	choose []map[symbol]production
	// empty marks the nonterminals that may be empty.
	empty []bool
	// first has the FIRST set of each nonterminal.
	first [][]symbol
}

var defaultGrammar = mustGrammar(rules)

func mustGrammar(text string) *grammar {
	g, err := newGrammar(text)
	if err != nil {
		panic(err)
	}
	return g
}

func newGrammar(text string) (*grammar, error) {
	g := &grammar{start: symRules}
	alternatives, err := g.read(text)
	if err != nil {
		return nil, err
	}
	n := len(g.names)
	g.empty, g.first, g.choose = make([]bool, n), make([][]symbol, n), make([]map[symbol]production, n)
	for changed := true; changed; {
		changed = false
		for i, all := range alternatives {
			for _, p := range all {
				changed = g.addFirst(i, p) || changed
			}
		}
	}
	for i, all := range alternatives {
		g.choose[i] = map[symbol]production{}
		for _, p := range all {
			for _, s := range g.firstOf(p) {
				if _, twice := g.choose[i][s]; twice {
					return nil, fmt.Errorf("%s: two ways to begin with symbol %d", g.names[i], s)
				}
				g.choose[i][s] = p
			}
		}
	}
	return g, nil
}

// read parses the alternatives of each nonterminal.
func (g *grammar) read(text string) ([][]production, error) {
	numbers := map[string]symbol{}
	var bodies []string
	for _, line := range strings.Split(text, "\n") {
		name, body, ok := strings.Cut(line, " = ")
		switch {
		case strings.HasPrefix(line, " "):
			bodies[len(bodies)-1] += " " + line
		case ok:
			name = strings.TrimSpace(name)
			numbers[name] = symRules + symbol(len(g.names))
			g.names = append(g.names, name)
			bodies = append(bodies, body)
		}
	}
	all := make([][]production, len(bodies))
	for i, body := range bodies {
		for _, alternative := range strings.Split(body, "|") {
			p := production{}
			for n, field := range strings.Fields(alternative) {
				s, err := g.symbol(field, numbers, n == 0)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", g.names[i], err)
				}
				p = append(p, s)
			}
			all[i] = append(all[i], p)
		}
	}
	return all, nil
}

// symbol returns the symbol of a name. A clause has the name of its first keyword, which
// comes first in its own rule.
func (g *grammar) symbol(field string, rules map[string]symbol, first bool) (symbol, error) {
	if s, ok := classNames[field]; ok {
		return s, nil
	}
	w, keyword := wordNumbers[field]
	s, rule := rules[field]
	switch {
	case keyword && (first || !rule):
		return symbol(w), nil
	case rule:
		return s, nil
	}
	return 0, fmt.Errorf("no symbol %q", field)
}

func (g *grammar) addFirst(i int, p production) (changed bool) {
	for _, s := range g.firstOf(p) {
		if !slices.Contains(g.first[i], s) {
			g.first[i] = append(g.first[i], s)
			changed = true
		}
	}
	if !g.empty[i] && g.allEmpty(p) {
		g.empty[i], changed = true, true
	}
	return changed
}

func (g *grammar) firstOf(p production) []symbol {
	var all []symbol
	for _, s := range p {
		if s < symRules {
			return append(all, s)
		}
		all = append(all, g.first[s-symRules]...)
		if !g.empty[s-symRules] {
			break
		}
	}
	return all
}

func (g *grammar) allEmpty(p production) bool {
	return !slices.ContainsFunc(p, func(s symbol) bool { return s < symRules || !g.empty[s-symRules] })
}

// State is the state of the parser after a prefix of a query. [Start] returns the first;
// the zero value is invalid.
type State struct {
	// stack has the expected symbols, the next one last. It is never changed in place.
	stack []symbol
	// column is the column that a value would be compared with, -1 for none; part is the
	// part of its date, End for none, and partOpen says that the column comes next.
	column   int
	part     Word
	partOpen bool
	done     bool
}

// Start is the state before the first token.
func Start() State { return State{stack: []symbol{defaultGrammar.start}, column: -1} }

// Done reports whether the query is complete.
func (s State) Done() bool { return s.done }

// Column returns the column that a value would be compared with; -1 for none.
func (s State) Column() int { return s.column }

// Allowed is the set of tokens that the grammar allows next.
type Allowed struct {
	// Keywords has a bit for each.
	Keywords [2]uint64
	// Table, Column, Number, Date, Value and Limit are the allowed classes: at most one of
	// the three of columns and one of the two of values.
	Table, Column, Number, Date, Value, Limit bool
}

// Has reports whether a keyword is allowed.
func (a Allowed) Has(w Word) bool { return a.Keywords[w/64]&(1<<(w%64)) != 0 }

func (a *Allowed) add(s symbol) {
	switch s {
	case symTable:
		a.Table = true
	case symColumn:
		a.Column = true
	case symNumber:
		a.Number = true
	case symDate:
		a.Date = true
	case symValue:
		a.Value = true
	case symLimit:
		a.Limit = true
	default:
		a.Keywords[s/64] |= 1 << (s % 64)
	}
}

// Allowed returns the tokens that the grammar allows next.
func (s State) Allowed() Allowed {
	var a Allowed
	if s.done {
		return a
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		top := s.stack[i]
		if top < symRules {
			a.add(top)
			return a
		}
		for _, first := range defaultGrammar.first[top-symRules] {
			a.add(first)
		}
		if !defaultGrammar.empty[top-symRules] {
			return a
		}
	}
	a.add(symbol(End))
	return a
}

// Next returns the state after a token; false if the grammar does not allow it.
func (s State) Next(t Token) (State, bool) {
	if s.done {
		return s, false
	}
	stack := slices.Clone(s.stack)
	for len(stack) > 0 {
		top := stack[len(stack)-1]
		if top < symRules {
			if !matches(top, t) {
				return s, false
			}
			return s.after(t, stack[:len(stack)-1]), true
		}
		stack = stack[:len(stack)-1]
		p, ok := productionFor(top, t)
		if !ok {
			if !defaultGrammar.empty[top-symRules] {
				return s, false
			}
			continue
		}
		for _, part := range slices.Backward(p) {
			stack = append(stack, part)
		}
	}
	if t != (Token{Keyword, int(End)}) {
		return s, false
	}
	return State{done: true, column: -1}, true
}

func (s State) after(t Token, stack []symbol) State {
	next := State{stack: stack, column: s.column, part: s.part}
	switch {
	case t.Class == ColumnRef:
		next.column = t.N
		if !s.partOpen {
			next.part = End
		}
	case t.Class == Keyword && isPart[t.N]:
		next.part, next.partOpen = Word(t.N), true
	case t.Is("count") || t.Is("limit") || t.Is("select"):
		next.column, next.part = -1, End
	}
	return next
}

// isPart marks the keywords for parts of dates.
var isPart = func() (all [128]bool) {
	for _, w := range []string{"year", "quarter", "month", "week", "day", "monthof", "weekday", "hour", "decade"} {
		all[MustWord(w)] = true
	}
	return all
}()

// productionFor returns the production of a nonterminal for a first token.
func productionFor(nonterminal symbol, t Token) (production, bool) {
	choices := defaultGrammar.choose[nonterminal-symRules]
	switch t.Class {
	case Keyword:
		p, ok := choices[symbol(t.N)]
		return p, ok
	case TableRef:
		p, ok := choices[symTable]
		return p, ok
	case ColumnRef:
		for _, class := range []symbol{symColumn, symNumber, symDate} {
			if p, ok := choices[class]; ok {
				return p, true
			}
		}
	case ValueRef:
		for _, class := range []symbol{symValue, symLimit} {
			if p, ok := choices[class]; ok {
				return p, true
			}
		}
	}
	return nil, false
}

func matches(terminal symbol, t Token) bool {
	switch t.Class {
	case TableRef:
		return terminal == symTable
	case ColumnRef:
		return terminal == symColumn || terminal == symNumber || terminal == symDate
	case ValueRef:
		return terminal == symValue || terminal == symLimit
	}
	return terminal == symbol(t.N)
}

// Valid reports whether tokens, without the end token, are a complete query.
func Valid(tokens []Token) bool {
	s := Start()
	for _, t := range append(slices.Clip(tokens), Token{Keyword, int(End)}) {
		var ok bool
		if s, ok = s.Next(t); !ok {
			return false
		}
	}
	return s.Done()
}
