// Package ir is the query language of the network: small, typed, and without joins, which
// follow from the links between tables. A query is a list of tokens, which the network
// generates under a grammar ([State]), and a tree, which is printed as DuckDB SQL ([SQL])
// and described in English ([Describe]). It runs no query.
package ir

import (
	"fmt"
	"strings"
)

// Word is a keyword of the language.
type Word uint8

// Keywords are the keywords of the language. Their order is part of the format of trained
// weights: append new ones at the end.
var Keywords = []string{
	"<end>", "select", "distinct", "count", "sum", "avg", "min", "max", "*", "where", "and", "or",
	"=", "!=", ">", "<", ">=", "<=", "between", "like", "likepre", "likesuf", "notlike", "in", "notin", "isnull", "notnull",
	"group", "having", "order", "asc", "desc", "limit", "each", "union", "intersect", "except", "(", ")", "from", "on",
	"plus", "less", "times", "over", "+", "-", "/",
	"year", "quarter", "month", "week", "day", "monthof", "weekday", "hour", "decade", "days", "age",
	"rowid", "after", "before", "pct", "pctof", "share", "ratio", "diff", "growth", "vs", "true", "false",
	"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8", "k9", "k10", "today", "nth", "median",
	"if", "%", "of", "gap",
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

// MustWord returns the keyword with this text. It panics if there is none; the text must be
// a constant.
func MustWord(text string) Word {
	w, ok := wordNumbers[text]
	if !ok {
		panic("no keyword " + text)
	}
	return w
}

// Class is the class of a [Token].
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

// KeywordToken returns the token of a keyword; see [MustWord].
func KeywordToken(text string) Token { return Token{Keyword, int(MustWord(text))} }

// Is reports whether a token is this keyword.
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

// Text formats tokens with blanks between them.
func Text(tokens []Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.String()
	}
	return strings.Join(words, " ")
}

// ParseText parses the output of [Text].
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
