package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/train/dataset"
)

// withOtherValues returns an example with other values of the same columns; ok is false if
// nothing was replaced.
func withOtherValues(e dataset.Example, cat *catalog.Catalog, rng *rand.Rand) (dataset.Example, bool) {
	tokens, err := ir.ParseText(e.IR)
	if err != nil || len(e.After) > 0 {
		return e, false
	}
	e.Values = slices.Clone(e.Values)
	column, changed := -1, false
	for _, t := range tokens {
		switch t.Class {
		case ir.ColumnRef:
			column = t.N
		case ir.ValueRef:
			if t.N < len(e.Values) && column >= 0 {
				changed = replaceValue(&e, t.N, &cat.Columns[column], rng) || changed
			}
		}
	}
	return e, changed
}

// replaceValue replaces one value of an example, if its question has it exactly once.
func replaceValue(e *dataset.Example, n int, column *catalog.Column, rng *rand.Rand) bool {
	old := strings.TrimSpace(e.Values[n].Text)
	fresh := ""
	switch number, err := strconv.Atoi(old); {
	case e.Values[n].Kind == ir.TextValue && column.Kind == catalog.Text && len(column.Values) > 1 && len(old) > 2:
		fresh = strings.TrimSpace(column.Values[rng.IntN(len(column.Values))])
	case e.Values[n].Kind == ir.NumberValue && err == nil && number > 10 && (number < 1900 || number > 2100):
		fresh = strconv.Itoa(max(11, number*(50+rng.IntN(150))/100))
	}
	if fresh == "" || strings.EqualFold(fresh, old) || len(fresh) > 40 || strings.ContainsAny(fresh, "%_\n") {
		return false
	}
	found := regexp.MustCompile(`(?i)(^|\W)`+regexp.QuoteMeta(old)+`($|\W)`).FindAllStringIndex(e.Question, -1)
	if len(found) != 1 {
		return false
	}
	at := found[0][0] + strings.Index(strings.ToLower(e.Question[found[0][0]:found[0][1]]), strings.ToLower(old))
	if at < found[0][0] || at+len(old) > len(e.Question) {
		return false
	}
	said := fresh
	if e.Question[at:at+len(old)] == strings.ToLower(old) {
		said = strings.ToLower(fresh)
	}
	e.Question = e.Question[:at] + said + e.Question[at+len(old):]
	e.Values[n].Text = fresh
	return true
}
