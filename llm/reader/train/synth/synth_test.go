package synth_test

import (
	"slices"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/synth"
)

// TestGeneratedQuestions makes questions over the shop. Nearly all name what their queries
// need, and print as SQL; follow-ups go on from another one.
func TestGeneratedQuestions(t *testing.T) {
	t.Parallel()
	cat := catalogtest.Shop()
	all := synth.New(cat, 1500, 1)
	if len(all) < 1000 {
		t.Fatalf("%d questions", len(all))
	}
	var printed, follow int
	for _, q := range all {
		found := link.Values(link.Tokenize(q.Text), cat, dataset.Now)
		if q.Before != nil {
			follow++
			found = append(found, link.Values(link.Tokenize(q.Before.Text), cat, dataset.Now)...)
		}
		tokens, err := dataset.Tokens(q.Query, found, cat)
		if err != nil {
			continue
		}
		values := make([]ir.Value, len(found))
		for i, v := range found {
			values[i] = v.Value
		}
		tree, err := ir.Parse(tokens, values)
		if err != nil {
			t.Errorf("%s: %v", q.Text, err)
			continue
		}
		if _, err := ir.SQL(tree, cat, dataset.Now); err == nil {
			printed++
		}
	}
	if printed*10 < len(all)*8 || follow < 40 {
		t.Errorf("of %d questions %d print, and %d go on from others", len(all), printed, follow)
	}
	for name, has := range map[string]func(*ir.Query) bool{
		"for the nth": func(q *ir.Query) bool { return q.Nth > 1 },
		"for a median": func(q *ir.Query) bool {
			return slices.ContainsFunc(q.Items, func(e ir.Expr) bool { return e.Func == "median" })
		},
		"with neither of two values":    neither,
		"with figures under conditions": func(q *ir.Query) bool { return len(q.Items) == 2 && len(q.Items[1].Conds) > 0 },
		"about groups":                  func(q *ir.Query) bool { return q.Items[0].Inner == "query" },
		"with two figures compared": func(q *ir.Query) bool {
			return slices.ContainsFunc(q.Having, func(c ir.Cond) bool { return c.Right != nil })
		},
		"of a quarter of any year": func(q *ir.Query) bool {
			return slices.ContainsFunc(q.Where, func(c ir.Cond) bool { return c.Left.Func == "quarter" })
		},
	} {
		if !slices.ContainsFunc(all, func(q synth.Question) bool { return has(q.Query) }) {
			t.Errorf("no question %s", name)
		}
	}
	again := synth.New(cat, 1500, 1)
	for i := range all {
		if all[i].Text != again[i].Text {
			t.Fatalf("question %d is %q, and then %q", i, all[i].Text, again[i].Text)
		}
	}
}

// neither reports whether a query excludes two values of a column.
func neither(q *ir.Query) bool {
	for i, c := range q.Where {
		if i > 0 && !c.Or && c.Op == "!=" && q.Where[i-1].Op == "!=" && q.Where[i-1].Left.Column == c.Left.Column {
			return true
		}
	}
	return false
}

// TestGeneratedCalculations makes questions over a table with several numbers: some add up
// columns, and some relate two.
func TestGeneratedCalculations(t *testing.T) {
	t.Parallel()
	numbers := []string{"12.5", "3.25", "8.75", "40.5"}
	profile := &catalog.Profile{Name: "stores", Rows: 5, Columns: []catalog.ColumnProfile{
		{Name: "store", Type: "VARCHAR", Values: []string{"Harbour", "Market", "Mill", "Station"}, Complete: true, Distinct: 4, Filled: 5}}}
	for _, name := range []string{"fresh", "milk", "frozen", "bakery"} {
		profile.Columns = append(profile.Columns, catalog.ColumnProfile{Name: name, Type: "DOUBLE", Values: numbers, Complete: true, Distinct: 4, Filled: 4})
	}
	found := map[string]bool{}
	for _, q := range synth.New(catalog.New([]*catalog.Profile{profile}, nil), 800, 1) {
		exprs := slices.Clone(q.Query.Items)
		for _, o := range q.Query.Order {
			exprs = append(exprs, o.By)
		}
		for _, e := range exprs {
			found[e.Op] = true
			found["several"] = found["several"] || len(e.Then) > 0
		}
	}
	for _, op := range []string{"plus", "of", "gap", "several"} {
		if !found[op] {
			t.Errorf("no question with %s", op)
		}
	}
}
