package synth

import (
	"strconv"

	"parley/llm/reader/ir"
)

// bothSides asks for a measure of two values of a column, side by side.
func (m *generator) bothSides(s subject) (Question, bool) {
	if len(m.texts[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.texts[s.table])
	a, b := m.value(i), m.value(i)
	if a == "" || b == "" || a == b {
		return Question{}, false
	}
	words, first, from := m.measure(s)
	second := first
	first.Conds, second.Conds = []ir.Cond{cond(columnExpr(i), "=", text(a))}, []ir.Cond{cond(columnExpr(i), "=", text(b))}
	c := m.conditions(s.table, nil, 0.3)
	q := query(first, second)
	q.From, q.Where = from, c.conds
	fill := map[string]string{"w": words, "a": m.cased(a), "b": m.cased(b), "T": m.pluralName(s.table), "c": c.words}
	if first.Star && m.chance(0.4) {
		return Question{Text: m.fill(fill, "how many {T} are {a} and how many are {b}{c}", "{a} and {b} {T}{c}, how many of each", "did {a} have more {T} than {b}{c}? both counts", "{T}{c}: {a} vs {b}, the two counts"), Query: q}, true
	}
	if m.chance(0.25) {
		// All of them, and those of one value.
		first.Conds = nil
		q.Items = []ir.Expr{first, second}
		return Question{Text: m.fill(fill, "{w}{c}, and for {b} alone", "{w}{c} overall and for {b}", "{w} in total and {b} only{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "{w} for {a} and for {b}{c}", "{a} vs {b}: {w}{c}", "{w} of {a} compared with {b}{c}, show both", "was the {w} of {a} higher than that of {b}{c}? give both figures", "{w}{c}, {a} and {b} side by side"), Query: q}, true
}

// together adds up several columns of a row, or relates two of them.
func (m *generator) together(s subject) (Question, bool) {
	n := append([]int{}, m.numbers[s.table]...)
	if len(n) < 2 {
		return Question{}, false
	}
	m.rng.Shuffle(len(n), func(i, j int) { n[i], n[j] = n[j], n[i] })
	label := m.label[s.table]
	fill := map[string]string{"x": m.column(n[0]), "y": m.column(n[1]), "t": m.singularName(s.table), "T": m.pluralName(s.table)}
	e := columnExpr(n[0])
	e.Other = n[1]
	var words string
	switch {
	case len(n) > 2 && m.chance(0.5):
		n = n[:3+m.rng.IntN(min(len(n), 5)-2)]
		e.Op = "plus"
		for _, c := range n[2:] {
			e.Then = append(e.Then, ir.Operand{Op: "plus", Column: c})
		}
		fill["l"] = m.columns(n)
		words = m.fill(fill, "{l} together", "sum of {l}", "{l} added up", "combined {l}")
	case m.chance(0.5):
		e.Op = "of"
		words = m.fill(fill, "{x} as a percentage of {y}", "{x} in percent of {y}", "share of {x} in {y}", "percentage of {y} that is {x}")
	default:
		e.Op = "gap"
		words = m.fill(fill, "difference between {x} and {y}", "gap between {x} and {y}", "distance between {x} and {y}")
	}
	fill["w"] = words
	switch {
	case e.Op == "plus" && m.chance(0.5):
		sum := e
		sum.Kind, sum.Func = "agg", "sum"
		if g, ok := m.group(s); ok && m.chance(0.5) {
			q := query(g.key, sum)
			q.Group, fill["by"] = []ir.Expr{g.key}, m.by(g)
			return Question{Text: m.fill(fill, "{w} {by}", "total of {w} {by}", "what do {w} come to {by}"), Query: q}, true
		}
		c := m.conditions(s.table, nil, 0.4)
		fill["c"] = c.words
		q := query(sum)
		q.Where = c.conds
		return Question{Text: m.fill(fill, "{w} of all {T}{c}", "total of {w}{c}", "what do {w} come to{c}"), Query: q}, true
	case label < 0:
		return Question{}, false
	case m.chance(0.6):
		q := query(columnExpr(label))
		q.Order, q.Limit = []ir.Sort{{By: e, Desc: m.chance(0.75)}}, 1
		fill["s"] = pick(m, []string{"highest", "biggest", "largest"})
		if !q.Order[0].Desc {
			fill["s"] = pick(m, []string{"lowest", "smallest"})
		}
		return Question{Text: m.fill(fill, "which {t} has the {s} {w}", "{t} with the {s} {w}", "where is the {w} {s}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "{w} for each {t}", "{w} by {t}", "what is the {w} of every {t}"), Query: query(columnExpr(label), e)}, true
}

// ofGroups asks for the average of the figures of groups, or how many groups meet a
// condition.
func (m *generator) ofGroups(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	words, e, from := m.measure(s)
	inner := &ir.Query{Via: -1, Items: []ir.Expr{e}, From: from, Group: []ir.Expr{g.key}}
	fill := map[string]string{"w": words, "g": g.words, "G": plural(g.words), "T": m.pluralName(s.table)}
	average := ir.Expr{Kind: "agg", Func: "avg", Inner: "query", Sub: inner, Column: -1, Other: -1}
	switch at := m.rng.IntN(3); {
	case at == 0 && e.Star:
		return Question{Text: m.fill(fill, "how many {T} does a {g} have on average", "average number of {T} per {g}", "on average, how many {T} are there per {g}", "mean number of {T} for a {g}", "{T} per {g} on average"), Query: query(average)}, true
	case at == 0 && e.Func == "sum":
		return Question{Text: m.fill(fill, "average {w} per {g}", "what is the {w} of a {g} on average", "what does a {g} come to on average, by {w}", "on average, {w} per {g}"), Query: query(average)}, true
	case at == 1 && e.Func != "avg" && e.Func != "median":
		q := query(g.key)
		q.From, q.Group = from, []ir.Expr{g.key}
		q.Having = []ir.Cond{{Left: e, Op: ">", Column: -1, Sub: query(average)}}
		fill["m"] = pick(m, []string{"more", "a higher"})
		if m.chance(0.3) {
			q.Having[0].Op, fill["m"] = "<", pick(m, []string{"less", "a lower"})
		}
		return Question{Text: m.fill(fill, "which {G} have {m} {w} than the average {g}", "{G} with {m} {w} than the average {g}", "{G} that have {m} {w} than {G} do on average"), Query: q}, true
	}
	n := strconv.Itoa(1 + m.rng.IntN(5))
	op := pick(m, [][2]string{{">", "more than"}, {">=", "at least"}, {"=", "exactly"}, {"<", "fewer than"}, {"=", "only"}})
	inner.Items, inner.From = []ir.Expr{g.key}, []int{s.table}
	inner.Having = []ir.Cond{cond(countExpr(), op[0], number(n))}
	fill["n"] = op[1] + " " + n
	count := ir.Expr{Kind: "agg", Func: "count", Inner: "query", Sub: inner, Column: -1, Other: -1}
	return Question{Text: m.fill(fill, "how many {G} have {n} {T}", "number of {G} with {n} {T}", "how many {G} are there with {n} {T}", "{G} with {n} {T}, how many are they"), Query: query(count)}, true
}

// oftener asks for the groups that have more of one value than of another, or the largest
// share of one.
func (m *generator) oftener(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok || len(m.texts[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.texts[s.table])
	a, b := m.value(i), m.value(i)
	if a == "" || b == "" || a == b || i == g.key.Column {
		return Question{}, false
	}
	q := query(g.key)
	q.From, q.Group = []int{s.table}, []ir.Expr{g.key}
	first := cond(columnExpr(i), "=", text(a))
	fill := map[string]string{"a": m.cased(a), "b": m.cased(b), "g": g.words, "G": plural(g.words), "T": m.pluralName(s.table), "i": m.column(i)}
	if m.chance(0.4) {
		q.Order, q.Limit = []ir.Sort{{By: ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: []ir.Cond{first}}, Desc: true}}, 1
		return Question{Text: m.fill(fill, "which {g} has the highest share of {a}", "{g} with the largest percentage of {a} {T}", "in which {g} is the proportion of {a} highest", "where is the share of {a} {T} the biggest, by {g}"), Query: q}, true
	}
	left, right := countExpr(), countExpr()
	left.Conds, right.Conds = []ir.Cond{first}, []ir.Cond{cond(columnExpr(i), "=", text(b))}
	q.Having = []ir.Cond{{Left: left, Op: ">", Right: &right, Column: -1}}
	return Question{Text: m.fill(fill, "which {G} have more {a} than {b} {T}", "{G} with more {a} than {b}", "in which {g} are there more {T} of {a} than of {b}", "{G} where {a} outnumbers {b}"), Query: q}, true
}

// span asks for the time from the first to the last date.
func (m *generator) span(s subject) (Question, bool) {
	if len(m.dates[s.table]) == 0 {
		return Question{}, false
	}
	d := pick(m, m.dates[s.table])
	e, first := aggExpr("max", d), aggExpr("min", d)
	e.Outer, e.Second = "-", &first
	c := m.conditions(s.table, nil, 0.4)
	q := query(e)
	q.Where = c.conds
	return Question{Text: m.fill(map[string]string{"d": m.column(d), "c": c.words, "T": m.pluralName(s.table)}, "how many days between the first and the last {d}{c}", "time from the earliest to the latest {d}{c}",
		"how long is it from the first to the last {d} of {T}{c}", "days between first and last {d}{c}"), Query: q}, true
}

// byDecade groups by the decade of a year or date.
func (m *generator) byDecade(s subject) (Question, bool) {
	var all []int
	for _, i := range m.years[s.table] {
		if m.cat.Columns[i].IsYear() {
			all = append(all, i)
		}
	}
	if all = append(all, m.dates[s.table]...); len(all) == 0 {
		return Question{}, false
	}
	key := ir.Expr{Kind: "part", Func: "decade", Column: pick(m, all), Other: -1}
	words, e, from := m.measure(s)
	c := m.conditions(s.table, nil, 0.3)
	q := query(key, e)
	q.From, q.Where, q.Group = from, c.conds, []ir.Expr{key}
	fill := map[string]string{"w": words, "c": c.words, "d": m.column(key.Column), "T": m.pluralName(s.table)}
	if e.Star && m.chance(0.3) {
		q.Items, q.Order, q.Limit = q.Items[:1], []ir.Sort{{By: e, Desc: true}}, 1
		return Question{Text: m.fill(fill, "which decade had the most {T}{c}", "in which decade were there the most {T}{c}", "decade with the most {T}{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "{w} per decade{c}", "{w} by decade{c}", "{w} in each decade of {d}{c}", "{w}{c}, decade by decade"), Query: q}, true
}
