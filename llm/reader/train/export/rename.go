package main

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/train/dataset"
)

// names has the names of columns by kind, and of tables, in all training data.
type names struct {
	columns map[catalog.Kind][][]string
	tables  [][]string
}

func collectNames(sources []source) names {
	n := names{columns: map[catalog.Kind][][]string{}}
	seen := map[string]bool{}
	fresh := func(words []string) bool {
		key := strings.Join(words, " ")
		if seen[key] || len(words) > 3 || len(key) < 4 || catalog.StopWords[key] {
			return false
		}
		seen[key] = true
		return true
	}
	for i := range sources {
		s := &sources[i]
		if dataset.Part(s.name) != dataset.Train || strings.HasPrefix(s.name, "wtq/") {
			continue
		}
		for k := range s.cat.Columns {
			if c := &s.cat.Columns[k]; fresh(c.Words) {
				n.columns[c.Kind] = append(n.columns[c.Kind], c.Words)
			}
		}
		for k := range s.cat.Tables {
			if t := &s.cat.Tables[k]; fresh(t.Words) {
				n.tables = append(n.tables, t.Words)
			}
		}
	}
	return n
}

// operationNames are names of columns of numbers that are also words for operations.
var operationNames = [][]string{{"amount"}, {"total"}, {"number"}, {"count"}, {"quantity"}, {"total", "amount"}, {"average"}, {"sum"}, {"share"}, {"rate"}}

// withOtherNames replaces names of tables and columns in a question and in the catalog, so
// that the network learns to compare names instead of memorizing them.
func (n names) withOtherNames(one item, cat *catalog.Catalog, rng *rand.Rand) (item, *catalog.Catalog, bool) {
	tokens, err := ir.Tokens(one.query, func(*ir.Cond, int) (ir.Token, bool) { return ir.Token{Class: ir.ValueRef}, true })
	if err != nil {
		return one, cat, false
	}
	text := strings.ToLower(one.question)
	tables, columns := map[int][]string{}, map[int][]string{}
	used := map[string]bool{}
	swap := func(words []string, pool [][]string) ([]string, bool) {
		name := strings.Join(words, " ")
		if len(name) < 4 || catalog.StopWords[name] || rng.Float64() < 0.35 || len(pool) == 0 {
			return nil, false
		}
		at := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `(s|es)?\b`).FindStringSubmatchIndex(text)
		fresh := pool[rng.IntN(len(pool))]
		said := strings.Join(fresh, " ")
		if at == nil || used[said] || strings.Contains(text, said) {
			return nil, false
		}
		used[said] = true
		if at[2] >= 0 && !strings.HasSuffix(said, "s") {
			said += "s"
		}
		text = text[:at[0]] + said + text[at[1]:]
		return fresh, true
	}
	seen := map[ir.Token]bool{}
	for _, t := range tokens {
		if t.Class != ir.ColumnRef || seen[t] {
			continue
		}
		seen[t] = true
		c := &cat.Columns[t.N]
		pool := n.columns[c.Kind]
		if c.Kind == catalog.Number && rng.Float64() < 0.3 {
			pool = operationNames
		}
		if fresh, ok := swap(c.Words, pool); ok {
			// The same name elsewhere is the same word.
			for i := range cat.Columns {
				if slices.Equal(cat.Columns[i].Words, c.Words) {
					columns[i] = fresh
				}
			}
		}
	}
	for i := range cat.Tables {
		if fresh, ok := swap(cat.Tables[i].Words, n.tables); ok {
			tables[i] = fresh
		}
	}
	if len(tables)+len(columns) == 0 {
		return one, cat, false
	}
	one.question = text
	return one, cat.WithNames(maps.Clone(tables), columns), true
}

// withDescription returns the catalog with a meaningless name for a column of the query,
// whose words are only in its description.
func (n names) withDescription(one item, cat *catalog.Catalog, rng *rand.Rand) (*catalog.Catalog, bool) {
	tokens, err := ir.Tokens(one.query, func(*ir.Cond, int) (ir.Token, bool) { return ir.Token{Class: ir.ValueRef}, true })
	if err != nil {
		return nil, false
	}
	columns := slices.DeleteFunc(tokens, func(t ir.Token) bool { return t.Class != ir.ColumnRef || cat.IsReference(t.N) })
	if len(columns) == 0 {
		return nil, false
	}
	column := columns[rng.IntN(len(columns))].N
	short := ""
	for _, w := range cat.Columns[column].Words {
		short += string([]rune(w)[:1])
	}
	short += string(rune('a' + rng.IntN(26)))
	more := n.tables[rng.IntN(len(n.tables))]
	return cat.WithDescription(column, []string{short}, more), true
}
