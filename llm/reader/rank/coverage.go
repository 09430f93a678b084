package rank

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// coverage counts which words of a question a query reflects.
type coverage struct {
	// unread are the tokens that nothing in the query reflects, and extra those that only
	// resemble what other words name already.
	unread, extra []int
	// weak counts words that only resemble names in the query; names those that name something
	// else, and values the values that the query leaves out.
	weak, names, values int
	// guessed says that nothing in the query stands for what should be computed, and uncounted
	// the same of what should be counted.
	guessed, uncounted bool
}

// Relations between a word and an item: those that name it, similar words, and weaker ones.
const (
	namingRelations  = 1<<link.ExactTable | 1<<link.PartTable | 1<<link.ExactColumn | 1<<link.PartColumn | 1<<link.WordOfValue
	similarRelations = 1<<link.Similar | 1<<link.Prefix
	weakRelations    = 1<<link.FairlySimilar | 1<<link.Described
)

// maxCountTokens is the maximum length of a query that counts all rows of a table.
const maxCountTokens = 5

// computeCoverage compares the words of a question with a query.
func computeCoverage(q *Question, tokens []ir.Token) coverage {
	var c coverage
	used := usedItems(q, tokens)
	q.unmarkMisplaced(used, tokens)
	keywords := keywordsOf(tokens)
	words := normalizeCues(q.Tokens)
	left := make([]bool, len(q.Input.Values))
	// Suppliers are not customers, and diabetics not smokers.
	strict := len(tokens) <= maxCountTokens && keywords["count"] || q.testsUnnamedBoolean(tokens)
	unknown := q.unknownMeasure(tokens, used)
	c.guessed = len(unknown) > 0 || q.countsOtherUnit(tokens) || q.averagesUnnamed(tokens, keywords) || q.groupsLists(tokens)
	for i, t := range words {
		if q.isIgnored(i, t) || periodDone(t.Lower, keywords) {
			continue
		}
		asks := operationOf(t.Lower)
		how := q.matchWord(i, used, left, keywords)
		if (strict || slices.Contains(unknown, i)) && (how == matchSimilar || how == matchWeak) {
			how = matchNone
		}
		switch {
		case how == matchNone && (fillerWords[t.Lower] || q.isUnitOfQuery(t.Lower, tokens)):
			continue
		case how == matchNone && isSuperlative(t.Lower, keywords):
			how = matchWeak
		}
		switch {
		case how == matchNamed, asks != "" && operationMet(asks, keywords):
		case asks != "", how == matchNone, how == matchElsewhere:
			c.unread = append(c.unread, i)
			if how == matchElsewhere {
				c.names++
			}
		case how == matchWeak:
			c.weak++
		}
		if (how == matchSimilar || how == matchWeak) && asks == "" && q.onlyResembles(i, used, tokens) {
			c.extra = append(c.extra, i)
		}
	}
	if counted := q.unknownCount(tokens, keywords, c.unread); len(counted) > 0 {
		c.guessed = c.guessed || q.isUnrelated(counted, namingRelations|similarRelations|weakRelations)
		// A single table has what can be counted.
		c.uncounted = len(q.Catalog.Tables) > 1 && q.isUnrelated(counted, namingRelations|similarRelations)
	}
	for _, out := range left {
		if out {
			c.values++
		}
	}
	return c
}

func operationMet(name string, keywords map[string]bool) bool {
	for i := range operations {
		if operations[i].name == name {
			return operations[i].doneBy(keywords)
		}
	}
	return false
}

// groupsLists reports whether a query groups by a column whose cells hold several values: the groups are not the values.
func (q *Question) groupsLists(tokens []ir.Token) bool {
	at := slices.IndexFunc(tokens, func(t ir.Token) bool { return t.Is("group") })
	return at >= 0 && at+1 < len(tokens) && tokens[at+1].Class == ir.ColumnRef && q.Catalog.Columns[tokens[at+1].N].Separator != ""
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

// unmarkMisplaced unmarks values that no cell has and that are compared with a column that
// the question does not name: nothing says that they belong there.
func (q *Question) unmarkMisplaced(used []bool, tokens []ir.Token) {
	column := -1
	for _, t := range tokens {
		switch t.Class {
		case ir.ColumnRef:
			column = t.N
		case ir.ValueRef:
			v := &q.Input.Values[t.N]
			if item := q.Input.ItemOf(t); item >= 0 && v.Kind == ir.TextValue && len(v.Cells) == 0 && column >= 0 && !q.isNamed(column, tokens) {
				used[item] = false
			}
		}
	}
}

// isIgnored reports whether a token, number i, has no meaning for the query.
func (q *Question) isIgnored(i int, t link.Token) bool {
	r, _ := utf8.DecodeRuneInString(t.Text)
	// A sign apart from the word before it computes something; "and/or" does not.
	if !unicode.IsLetter(r) && !unicode.IsDigit(r) && t.Text != "%" && !(t.SpaceBefore && operationOf(t.Text) == "arithmetic") {
		return true
	}
	return catalog.StopWords[t.Lower] && operationOf(t.Lower) != "negation" || phrasingWords[t.Lower] || genericNouns[t.Lower] && !q.hasRelation(i, 1<<link.ExactTable|1<<link.ExactColumn)
}

// hasRelation reports whether a word has one of the relations to any item.
func (q *Question) hasRelation(word int, relations uint64) bool {
	n := len(q.Input.Items)
	return slices.ContainsFunc(q.Input.Relations[word*n:(word+1)*n], func(bits uint64) bool { return bits&relations != 0 })
}

// How well a query reflects a word.
const (
	matchNone = iota
	matchElsewhere
	matchWeak
	matchSimilar
	matchNamed
)

// matchWord returns how well a query reflects a word, and marks values that the query
// leaves out. A word that names something outside the query is not reflected by similar
// items in it.
func (q *Question) matchWord(word int, used, left []bool, keywords map[string]bool) int {
	in := q.Input
	row := in.Relations[word*len(in.Items) : (word+1)*len(in.Items)]
	first := in.Question + in.Tables + len(in.Columns)
	similar, weakly, elsewhere := false, false, false
	var out []int
	if k := ordinalKeyword(q.Tokens[word].Lower); keywords[k] {
		return matchNamed
	}
	for item := in.Question; item < first+len(in.Values); item++ {
		switch bits := row[item]; {
		case used[item] && bits&namingRelations != 0:
			return matchNamed
		case item >= first && bits&namingRelations != 0 && in.Values[item-first].How == link.NumberText && keywords["k"+in.Values[item-first].Text]:
			return matchNamed // small numbers are words of the language too
		case used[item] && q.isBooleanItem(item):
			similar = similar || bits&(1<<link.Prefix) != 0
		case used[item]:
			similar = similar || bits&similarRelations != 0
			weakly = weakly || bits&weakRelations != 0
		case bits&namingRelations != 0 && item < first:
			elsewhere = true
		case bits&namingRelations != 0 && isCertain(in.Values[item-first]):
			elsewhere = true
			out = append(out, item-first)
		}
	}
	for _, v := range out {
		left[v] = true
	}
	switch {
	case elsewhere:
		return matchElsewhere
	case similar:
		return matchSimilar
	case weakly:
		return matchWeak
	}
	return matchNone
}

// onlyResembles reports whether other words name everything in a query that a word
// resembles: "won" resembles games, but says more than "games" does.
func (q *Question) onlyResembles(word int, used []bool, tokens []ir.Token) bool {
	for item := q.Input.Question; item < len(used); item++ {
		if used[item] && q.relations(word, item)&(similarRelations|weakRelations) != 0 && !q.isNamedItem(item) && !q.hasValueOf(item, tokens) {
			return false
		}
	}
	return true
}

// hasValueOf reports whether a query has a value that is in the column of an item.
func (q *Question) hasValueOf(item int, tokens []ir.Token) bool {
	column, ok := q.Input.Token(item)
	return ok && column.Class == ir.ColumnRef && slices.ContainsFunc(tokens, func(t ir.Token) bool {
		return t.Class == ir.ValueRef && len(q.Input.Values[t.N].Cells[column.N]) > 0
	})
}

// isNamedItem reports whether a word names an item.
func (q *Question) isNamedItem(item int) bool {
	for word := range q.Input.Question {
		if q.relations(word, item)&namingRelations != 0 {
			return true
		}
	}
	return false
}

// isUnitOfQuery reports whether a word is the unit of a column in the query: litres.
func (q *Question) isUnitOfQuery(word string, tokens []ir.Token) bool {
	unit := catalog.Unit(word)
	return unit != "" && slices.ContainsFunc(tokens, func(t ir.Token) bool { return t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].Unit == unit })
}

// testsUnnamedBoolean reports whether a query tests a boolean column that no word names.
func (q *Question) testsUnnamedBoolean(tokens []ir.Token) bool {
	return slices.ContainsFunc(tokens, func(t ir.Token) bool {
		return t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].IsBoolean() && !q.isNamed(t.N, tokens)
	})
}

// isBooleanItem reports whether an item is a boolean column. Similar words do not name such
// a column.
func (q *Question) isBooleanItem(item int) bool {
	t, ok := q.Input.Token(item)
	return ok && t.Class == ir.ColumnRef && q.Catalog.Columns[t.N].IsBoolean()
}

// isCertain reports whether a match is strong.
func isCertain(v link.ValueMatch) bool {
	switch v.How {
	case link.Quoted, link.WholeCell, link.NumberText, link.Period:
		return true
	}
	return false
}
