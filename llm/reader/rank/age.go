package rank

import (
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// ageWords are words for how old somebody is.
var ageWords = catalog.WordSet("age ages aged old older younger")

// aboutBirth are the words that mean a date or year of birth.
var aboutBirth = strings.Fields("age ages aged old older younger oldest youngest born birth")

// maxAge is the highest number that is compared with the year of a birth as an age.
const maxAge = 130

// withAge replaces dates and years of birth in a query by ages where the question asks for ages,
// and where a year is compared with an age. The network takes one for the other.
func (q *Question) withAge(tokens []ir.Token) []ir.Token {
	tokens = q.compareAges(tokens)
	var all []ir.Token
	section := "select"
	for i, t := range tokens {
		if t.Class == ir.Keyword && slices.Contains([]string{"select", "where", "group", "having", "order"}, ir.Keywords[t.N]) {
			section = ir.Keywords[t.N]
		}
		if t.Class == ir.ColumnRef && section != "group" && q.isBirth(t.N) && q.meansAge(tokens, i) {
			all = append(all, ir.KeywordToken("age"))
		}
		all = append(all, t)
	}
	return q.sortByBirth(all)
}

// isBirth reports whether a column is a date or year of birth, and its table has no ages.
func (q *Question) isBirth(column int) bool {
	c := &q.Catalog.Columns[column]
	return c.IsBirth() && !slices.ContainsFunc(q.Catalog.Tables[c.Table].Columns, func(n int) bool {
		return slices.Contains(q.Catalog.Columns[n].Words, "age")
	})
}

// meansAge reports whether the date or year of birth at a token of a query stands for the age.
func (q *Question) meansAge(tokens []ir.Token, at int) bool {
	before, after := tokens[at-1], ir.KeywordToken("select")
	if at+1 < len(tokens) {
		after = tokens[at+1]
	}
	isKeyword := func(t ir.Token, words ...string) bool { return slices.ContainsFunc(words, t.Is) }
	switch {
	case before.Class == ir.Keyword && !isKeyword(before, "select", "where", "and", "or", "order", "avg", "median", "min", "max"):
		return false
	case slices.ContainsFunc(tokens, func(t ir.Token) bool { return t.Is("(") }) && q.asks("older", "younger"):
		return at+2 >= len(tokens) || tokens[at+2].Class != ir.ValueRef || q.isAge(tokens[at+2])
	case isKeyword(after, ">", "<", ">=", "<=", "=", "!=", "between"):
		return at+2 < len(tokens) && q.isAge(tokens[at+2])
	case isKeyword(after, "asc", "desc"), isKeyword(before, "min", "max"):
		return q.asks("age", "ages")
	}
	return q.asks("age", "ages", "aged", "old") && !q.asks("birth", "born")
}

// isAge reports whether a value of a query can be an age, in years.
func (q *Question) isAge(t ir.Token) bool {
	if t.Class != ir.ValueRef || q.Input.Values[t.N].Kind != ir.NumberValue {
		return false
	}
	v := &q.Input.Values[t.N]
	n, err := strconv.ParseFloat(v.Text, 64)
	return err == nil && n <= maxAge && (v.Unit == "" || v.Unit == "year")
}

// comparesBirth reports whether a query compares a year of birth with what is neither a year nor
// an age: 30 seconds of "in their 30s".
func comparesBirth(query *ir.Query, cat *catalog.Catalog) bool {
	return slices.ContainsFunc(query.Where, func(c ir.Cond) bool {
		if c.Left.Kind != "column" || c.Left.Op != "" || len(c.Values) == 0 || c.Values[0].Kind != ir.NumberValue || !cat.Columns[c.Left.Column].IsBirth() {
			return false
		}
		n, err := strconv.ParseFloat(c.Values[0].Text, 64)
		return err == nil && n <= maxAge
	})
}

// asks reports whether a question has one of some words.
func (q *Question) asks(words ...string) bool {
	return slices.ContainsFunc(q.Tokens, func(t link.Token) bool { return slices.Contains(words, t.Lower) })
}

// compareAges replaces what a query compares with the number of "older than 60" by the age, if
// one of its tables has a date or year of birth.
func (q *Question) compareAges(tokens []ir.Token) []ir.Token {
	birth := q.birthOf(tokens)
	for i, t := range q.Tokens {
		if birth < 0 || t.Lower != "older" && t.Lower != "younger" || i+2 >= len(q.Tokens) || q.Tokens[i+1].Lower != "than" {
			continue
		}
		op := ">"
		if t.Lower == "younger" {
			op = "<"
		}
		at := slices.IndexFunc(tokens, func(t ir.Token) bool {
			return q.isAge(t) && q.Input.Values[t.N].Start == i+2
		})
		start := at - 1
		for start >= 0 && !slices.ContainsFunc([]string{"where", "and", "or", "pct"}, tokens[start].Is) {
			start--
		}
		if at >= 0 && start >= 0 {
			tokens = slices.Replace(slices.Clone(tokens), start+1, at, ir.KeywordToken("age"), ir.Token{Class: ir.ColumnRef, N: birth}, ir.KeywordToken(op))
		}
	}
	return tokens
}

// birthOf returns the only date or year of birth in the tables of a query; -1 for none.
func (q *Question) birthOf(tokens []ir.Token) int {
	birth := -1
	for _, t := range tokens {
		table := t.N
		switch t.Class {
		case ir.ColumnRef:
			table = q.Catalog.Columns[t.N].Table
		case ir.TableRef:
		default:
			continue
		}
		for _, c := range q.Catalog.Tables[table].Columns {
			if !q.isBirth(c) {
				continue
			}
			if birth >= 0 && birth != c {
				return -1
			}
			birth = c
		}
	}
	return birth
}

// sortByBirth sorts by a date or year of birth so that the oldest or the youngest is the first.
func (q *Question) sortByBirth(tokens []ir.Token) []ir.Token {
	oldest := q.asks("oldest")
	if oldest == q.asks("youngest") {
		return tokens
	}
	tokens = slices.Clone(tokens)
	for i, t := range tokens {
		if t.Class != ir.ColumnRef || !q.isBirth(t.N) || i == 0 {
			continue
		}
		isAge := tokens[i-1].Is("age")
		set := func(at int, low, high string) {
			if at > 0 && at < len(tokens) && (tokens[at].Is(low) || tokens[at].Is(high)) {
				tokens[at] = ir.KeywordToken(low)
				if oldest == isAge {
					tokens[at] = ir.KeywordToken(high)
				}
			}
		}
		set(i+1, "asc", "desc")
		if isAge {
			i--
		}
		set(i-1, "min", "max")
	}
	return tokens
}

// cutsDecade reports whether a query has the number in a decade as a value: 1990 of 1990s.
func (q *Question) cutsDecade(tokens []ir.Token) bool {
	return slices.ContainsFunc(tokens, func(t ir.Token) bool {
		return t.Class == ir.ValueRef && q.Input.Values[t.N].Kind == ir.NumberValue && slices.ContainsFunc(q.Input.Values, func(v link.ValueMatch) bool {
			return v.Kind == ir.PeriodValue && strings.HasSuffix(v.Text, "0s") && v.Start <= q.Input.Values[t.N].Start && q.Input.Values[t.N].End <= v.End
		})
	})
}
