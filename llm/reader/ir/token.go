// Package ir is the language that questions are read into: small, typed, with
// joins left out, because the links between tables imply them. A query is a list of
// tokens, which the network writes under a [Grammar], and a tree, which prints as
// DuckDB's SQL and in plain words.
package ir

import (
	"fmt"
	"strings"
)

// Word is a keyword of the language.
type Word uint8

// Keywords are the words of the language. Their order is part of the format of
// trained weights: new ones go to the end.
var Keywords = []string{
	"<end>", "select", "distinct", "count", "sum", "avg", "min", "max", "*", "where", "and", "or",
	"=", "!=", ">", "<", ">=", "<=", "between", "like", "likepre", "likesuf", "notlike", "in", "notin", "isnull", "notnull",
	"group", "having", "order", "asc", "desc", "limit", "each", "union", "intersect", "except", "(", ")", "from", "on",
	"plus", "less", "times", "over", "+", "-", "/",
	"year", "quarter", "month", "week", "day", "monthof", "weekday", "hour", "decade", "days", "age",
	"rowid", "after", "before", "pct", "pctof", "share", "ratio", "diff", "growth", "vs", "true", "false",
	"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "today", "nth", "median",
}

// End ends a query.
const End Word = 0

var wordNumbers = func() map[string]Word {
	all := make(map[string]Word, len(Keywords))
	for i, w := range Keywords {
		all[w] = Word(i)
	}
	return all
}()

// MustWord gives the keyword that is written so. It panics where there is none: words are
// written in code alone.
func MustWord(text string) Word {
	w, ok := wordNumbers[text]
	if !ok {
		panic("no keyword " + text)
	}
	return w
}

func (w Word) String() string { return Keywords[w] }

// Class tells what a [Token] is.
type Class uint8

// The classes of tokens.
const (
	Keyword Class = iota
	TableRef
	ColumnRef
	ValueRef
)

// Token is a keyword, or the number of a table, column or value.
type Token struct {
	Class Class
	N     int
}

// KeywordToken is the token of a keyword.
func KeywordToken(text string) Token { return Token{Keyword, int(MustWord(text))} }

// Is reports whether a token is a keyword.
func (t Token) Is(text string) bool { return t.Class == Keyword && Keywords[t.N] == text }

func (t Token) String() string {
	switch t.Class {
	case TableRef:
		return fmt.Sprintf("t%d", t.N)
	case ColumnRef:
		return fmt.Sprintf("c%d", t.N)
	case ValueRef:
		return fmt.Sprintf("v%d", t.N)
	}
	return Keywords[t.N]
}

// Text writes tokens with blanks between them, for people and tests.
func Text(tokens []Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.String()
	}
	return strings.Join(words, " ")
}

// ParseText reads what Text writes.
func ParseText(text string) ([]Token, error) {
	var tokens []Token
	for _, field := range strings.Fields(text) {
		if w, ok := wordNumbers[field]; ok {
			tokens = append(tokens, Token{Keyword, int(w)})
			continue
		}
		var class Class
		switch field[0] {
		case 't':
			class = TableRef
		case 'c':
			class = ColumnRef
		case 'v':
			class = ValueRef
		}
		n := 0
		if _, err := fmt.Sscanf(field[1:], "%d", &n); err != nil || class == Keyword || n < 0 {
			return nil, fmt.Errorf("no token %q", field)
		}
		tokens = append(tokens, Token{class, n})
	}
	return tokens, nil
}
