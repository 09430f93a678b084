package rank

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// coverage says what of a question a query reflects.
type coverage struct {
	// unread are the tokens of words that nothing of the query has to do with.
	unread []int
	// similar and weak count words that only resemble names in the query, more or less;
	// names those that name something else, and values the values that the query leaves
	// out.
	similar, weak, names, values int
	// unmet counts operations that words ask for and the query does not do; unasked
	// those that it does and no word asks for. negation says that a "not" is among the
	// unmet.
	unmet, unasked int
	negation       bool
}

// Relations by which a word belongs to an item: those that name it, and weaker ones.
const (
	naming     = 1<<link.ExactTable | 1<<link.PartTable | 1<<link.ExactColumn | 1<<link.PartColumn | 1<<link.WordOfValue
	resembling = 1<<link.Similar | 1<<link.Prefix
	hinted     = 1<<link.FairlySimilar | 1<<link.Described
)

// plainCount is how many tokens a query has at most that counts all rows of a table.
const plainCount = 5

// cover compares a question with a query.
func cover(q *Question, tokens []ir.Token) coverage {
	var c coverage
	used := usedItems(q, tokens)
	keywords := keywordsOf(tokens)
	words := cues(q.Tokens)
	for i := range operations {
		o := &operations[i]
		asked, done := o.asked(words), o.done(keywords)
		if o.name == "nth" && asked && !done {
			asked = q.ordinalUnread(o, used, keywords)
		}
		switch {
		case asked && !done:
			c.unmet++
			c.negation = c.negation || o.name == "negation"
		case done && !asked && (o.name == "average" || o.name == "median" || o.name == "share" || o.name == "distinct" || o.name == "extreme"):
			c.unasked++
		case done && !asked && o.name == "nth" && !namesPlace(q.Tokens):
			c.names++ // the first is asked for, whatever unmet operations weigh
		}
	}
	left := make([]bool, len(q.Input.Values))
	// Suppliers are not customers, and diabetics not smokers.
	strict := len(tokens) <= plainCount && keywords["count"] && len(q.Catalog.Tables) > 1 || q.unnamedFlag(tokens)
	for i, t := range words {
		if q.silent(t) || periodDone(t.Lower, keywords) {
			continue
		}
		asks := asksFor(t.Lower)
		how := q.read(i, used, left, keywords)
		if strict && (how == readSimilar || how == readWeakly) {
			how = notRead
		}
		switch {
		case how == notRead && (fillers[t.Lower] || q.measuredIn(t.Lower, tokens)):
			continue
		case how == notRead && superlative(t.Lower, keywords):
			how = readWeakly
		}
		switch {
		case how == read, asks != "" && met(asks, keywords):
		case asks != "", how == notRead, how == readElsewhere:
			c.unread = append(c.unread, i)
			if how == readElsewhere {
				c.names++
			}
		case how == readSimilar:
			c.similar++
		case how == readWeakly:
			c.weak++
		}
	}
	for _, out := range left {
		if out {
			c.values++
		}
	}
	return c
}

// ordinalUnread reports whether a question has an ordinal that no value of the query
// stands for.
func (q *Question) ordinalUnread(o *operation, used []bool, keywords map[string]bool) bool {
	left := make([]bool, len(q.Input.Values))
	for i, t := range q.Tokens {
		if o.words[t.Lower] && q.read(i, used, left, keywords) != read {
			return true
		}
	}
	return false
}

func met(name string, keywords map[string]bool) bool {
	for i := range operations {
		if operations[i].name == name {
			return operations[i].done(keywords)
		}
	}
	return false
}

// usedItems marks the items of the input that a query uses, with the tables of its
// columns.
func usedItems(q *Question, tokens []ir.Token) []bool {
	used := make([]bool, len(q.Input.Items))
	mark := func(t ir.Token) {
		if item := q.Input.ItemOf(t); item >= 0 {
			used[item] = true
		}
	}
	for _, t := range tokens {
		switch t.Class {
		case ir.TableRef, ir.ValueRef:
			mark(t)
		case ir.ColumnRef:
			mark(t)
			mark(ir.Token{Class: ir.TableRef, N: q.Catalog.Columns[t.N].Table})
			for _, l := range q.Catalog.Links {
				if l.From == t.N {
					mark(ir.Token{Class: ir.TableRef, N: q.Catalog.Columns[l.To].Table})
				}
			}
		}
	}
	return used
}

// silent reports whether a token says nothing of what is asked for.
func (q *Question) silent(t link.Token) bool {
	r, _ := utf8.DecodeRuneInString(t.Text)
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && t.Text != "%" {
		return true
	}
	return catalog.StopWords[t.Lower] && asksFor(t.Lower) != "negation" || quiet[t.Lower]
}

// How a word is reflected in a query.
const (
	notRead = iota
	readElsewhere
	readWeakly
	readSimilar
	read
)

// read says how a word is reflected, and notes values that are left out. A word that
// names something that the query leaves out is not reflected by what it only resembles.
func (q *Question) read(word int, used, left []bool, keywords map[string]bool) int {
	in := q.Input
	row := in.Relations[word*len(in.Items) : (word+1)*len(in.Items)]
	first := in.Question + in.Tables + len(in.Columns)
	similar, weakly, elsewhere := false, false, false
	var out []int
	if k := ordinalKeyword(q.Tokens[word].Lower); keywords[k] {
		return read
	}
	for item := in.Question; item < first+len(in.Values); item++ {
		switch bits := row[item]; {
		case used[item] && bits&naming != 0:
			return read
		case item >= first && bits&naming != 0 && in.Values[item-first].How == link.NumberText && keywords["k"+in.Values[item-first].Text]:
			return read // small numbers are words of the language too
		case used[item] && q.flag(item):
			similar = similar || bits&(1<<link.Prefix) != 0
		case used[item]:
			similar = similar || bits&resembling != 0
			weakly = weakly || bits&hinted != 0
		case bits&naming != 0 && item < first:
			elsewhere = true
		case bits&naming != 0 && certain(in.Values[item-first]):
			elsewhere = true
			out = append(out, item-first)
		}
	}
	for _, v := range out {
		left[v] = true
	}
	switch {
	case elsewhere:
		return readElsewhere
	case similar:
		return readSimilar
	case weakly:
		return readWeakly
	}
	return notRead
}

// measuredIn reports whether a word is the unit of a column of a query: litres.
func (q *Question) measuredIn(word string, tokens []ir.Token) bool {
	unit := catalog.Unit(word)
	return unit != "" && slices.ContainsFunc(tokens, func(t ir.Token) bool { return t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].Unit == unit })
}

// unnamedFlag reports whether a query tests a flag that no word names.
func (q *Question) unnamedFlag(tokens []ir.Token) bool {
	return slices.ContainsFunc(tokens, func(t ir.Token) bool {
		return t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].IsBoolean() && !q.named(t.N, tokens)
	})
}

// flag reports whether an item is a column that says yes or no: its word stands for
// nothing else, however similar.
func (q *Question) flag(item int) bool {
	t, ok := q.Input.Token(item)
	return ok && t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].IsBoolean()
}

// certain reports whether a value was surely meant as one.
func certain(v link.Found) bool {
	switch v.How {
	case link.Quoted, link.WholeCell, link.NumberText, link.Period:
		return true
	}
	return false
}
