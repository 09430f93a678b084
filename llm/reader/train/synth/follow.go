package synth

import (
	"slices"
	"strconv"

	"parley/llm/reader/ir"
)

// follow generates a follow-up question, which changes a part of the previous query.
func (m *generator) follow(before *Question) (Question, bool) {
	q := *before.Query
	if q.Set != "" {
		return Question{}, false
	}
	q.Where, q.Items, q.Group, q.Order = slices.Clone(q.Where), slices.Clone(q.Items), slices.Clone(q.Group), slices.Clone(q.Order)
	edits := []func(*ir.Query) (string, bool){m.otherValue, m.otherValue, m.moreCondition, m.lessCondition, m.otherMeasure, m.otherGroup, m.otherOrder, m.otherLimit, m.addGroup}
	if len(q.Order) > 0 && q.Limit == 1 {
		edits = append(edits, m.otherPlace)
	}
	words, ok := pick(m, edits)(&q)
	return Question{Text: words, Query: &q, Before: before}, ok
}

// otherValue asks the same about another value.
func (m *generator) otherValue(q *ir.Query) (string, bool) {
	for n, c := range q.Where {
		if c.Left.Kind != "column" || c.Op != "=" || len(c.Values) != 1 {
			continue
		}
		v := c.Values[0]
		switch v.Kind {
		case ir.TextValue:
			v.Text = m.value(c.Left.Column)
		case ir.PeriodValue:
			v.Text = pick(m, []string{"2021", "2022", "2023", "2024", "last month", "this year", "last year"})
		case ir.NumberValue:
			v.Text = m.someNumber(c.Left.Column)
		default:
			continue
		}
		if v.Text == "" || v.Text == c.Values[0].Text {
			continue
		}
		q.Where[n].Values = []ir.Value{v}
		said := v.Text
		if v.Kind == ir.TextValue {
			said = m.cased(v.Text)
		}
		return m.fill(map[string]string{"v": said}, "and in {v}", "what about {v}", "and {v}", "how about {v}", "and for {v}", "same for {v}", "{v}", "and those in {v}", "now for {v}", "what about in {v}"), true
	}
	return "", false
}

// tableOf returns a table of the query.
func (m *generator) tableOf(q *ir.Query) int {
	if len(q.From) > 0 {
		return q.From[0]
	}
	for _, e := range q.Items {
		if e.Column >= 0 {
			return m.cat.Columns[e.Column].Table
		}
	}
	return -1
}

func (m *generator) moreCondition(q *ir.Query) (string, bool) {
	t := m.tableOf(q)
	if t < 0 {
		return "", false
	}
	c, ok := m.condition(t, nil)
	if !ok || slices.ContainsFunc(q.Where, func(w ir.Cond) bool { return w.Left.Column == c.conds[0].Left.Column }) {
		return "", false
	}
	q.Where = append(q.Where, c.conds...)
	return m.fill(map[string]string{"c": c.words}, "only {c}", "only those {c}", "just the ones {c}", "and only {c}", "restrict that to those {c}", "but only {c}", "of those, {c}", "filter to those {c}"), true
}

func (m *generator) lessCondition(q *ir.Query) (string, bool) {
	if len(q.Where) == 0 {
		return "", false
	}
	if slices.ContainsFunc(q.Where, func(c ir.Cond) bool { return c.Or }) {
		return "", false
	}
	q.Where = nil
	return pick(m, []string{"and overall", "and in total", "what about all of them", "without that filter", "and for all", "all of them", "regardless of that", "and altogether"}), true
}

func (m *generator) otherMeasure(q *ir.Query) (string, bool) {
	at := slices.IndexFunc(q.Items, func(e ir.Expr) bool { return e.Kind == "agg" && e.Outer == "" })
	t := m.tableOf(q)
	if at < 0 || t < 0 || len(m.numbers[t]) == 0 || len(q.Order) > 0 || len(q.Having) > 0 {
		return "", false
	}
	e := q.Items[at]
	if !e.Star && m.chance(0.5) {
		a := pick(m, aggregateWords)
		if a[0] == e.Func {
			return "", false
		}
		e.Func = a[0]
		q.Items[at] = e
		return m.fill(map[string]string{"a": a[1]}, "what about the {a}", "and the {a}", "and the {a} instead", "show the {a} instead", "{a} instead"), a[1] != "sum of"
	}
	words, fresh := m.aggregate(pick(m, m.numbers[t]))
	q.Items[at], q.From = fresh, nil
	if m.tableOf(q) < 0 {
		return "", false
	}
	return m.fill(map[string]string{"a": words}, "and the {a}", "what about the {a}", "and what is the {a}", "show the {a} instead", "now the {a}"), true
}

func (m *generator) otherGroup(q *ir.Query) (string, bool) {
	t := m.tableOf(q)
	if len(q.Group) != 1 || t < 0 || len(q.Items) == 0 {
		return "", false
	}
	g, ok := m.group(subject{table: t})
	if !ok || g.key.Column == q.Group[0].Column {
		return "", false
	}
	for i := range q.Items {
		if q.Items[i].Kind == q.Group[0].Kind && q.Items[i].Column == q.Group[0].Column {
			q.Items[i] = g.key
		}
	}
	q.Group = []ir.Expr{g.key}
	return m.fill(map[string]string{"g": g.words}, "by {g} instead", "and by {g}", "now by {g}", "same by {g}", "per {g} instead", "break it down by {g} instead"), true
}

// addGroup asks for an aggregate by group.
func (m *generator) addGroup(q *ir.Query) (string, bool) {
	t := m.tableOf(q)
	if len(q.Group) > 0 || t < 0 || len(q.Items) != 1 || q.Items[0].Kind != "agg" || q.Limit > 0 {
		return "", false
	}
	g, ok := m.group(subject{table: t})
	if !ok {
		return "", false
	}
	q.Items, q.Group = []ir.Expr{g.key, q.Items[0]}, []ir.Expr{g.key}
	return m.fill(map[string]string{"by": m.by(g), "g": g.words}, "{by}", "and {by}", "break that down by {g}", "show it {by}", "split that by {g}"), true
}

func (m *generator) otherOrder(q *ir.Query) (string, bool) {
	if len(q.Items) == 0 || q.Limit > 0 || len(q.Items) == 1 && q.Items[0].Kind != "column" {
		return "", false
	}
	e := pick(m, q.Items)
	desc := m.chance(0.5)
	q.Order = []ir.Sort{{By: e, Desc: desc}}
	words := ""
	switch {
	case e.Kind == "column" && e.Op == "":
		words = m.column(e.Column)
	case e.Kind == "agg" && e.Star:
		words = "count"
	case e.Kind == "agg" && e.Column >= 0:
		words = m.column(e.Column)
	default:
		return "", false
	}
	way := ""
	if desc {
		way = pick(m, []string{" descending", ", highest first", " in descending order", ", largest first"})
	}
	return m.fill(map[string]string{"c": words}, "sort it by {c}", "sort by {c}", "order that by {c}", "sorted by {c}", "arrange by {c}") + way, true
}

func (m *generator) otherLimit(q *ir.Query) (string, bool) {
	if len(q.Order) == 0 {
		return "", false
	}
	n := 2 + m.rng.IntN(9)
	if n == q.Limit {
		return "", false
	}
	q.Limit, q.Nth = n, 0
	return m.fill(map[string]string{"n": strconv.Itoa(n)}, "just the top {n}", "only the first {n}", "top {n}", "and the top {n}", "show {n} of them", "the first {n} only"), true
}
