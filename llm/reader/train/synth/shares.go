package synth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/ir"
)

func (m *generator) percentage(s subject) (Question, bool) {
	c, ok := m.condition(s.table, nil)
	if !ok || slices.ContainsFunc(c.conds, func(c ir.Cond) bool { return c.Sub != nil }) {
		return Question{}, false
	}
	e := ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: c.conds}
	q := query(e)
	q.From = []int{s.table}
	by := ""
	if g, ok := m.group(subject{table: s.table}); ok && m.chance(0.25) && g.key.Column != c.conds[0].Left.Column {
		q.Items, q.Group, by = []ir.Expr{g.key, e}, []ir.Expr{g.key}, " "+m.by(g)
	}
	fill := map[string]string{"T": m.pluralName(s.table), "c": " " + c.words, "b": by}
	if len(m.numbers[s.table]) > 0 && m.chance(0.3) {
		i := pick(m, m.numbers[s.table])
		e = aggExpr("sum", i)
		e.Kind, e.Conds = "pctof", c.conds
		q.Items[len(q.Items)-1], q.From = e, nil
		fill["a"] = m.column(i)
		return Question{Text: m.fill(fill, "what percentage of {a} comes{c}{b}", "what share of the total {a} is{c}{b}", "percent of {a}{c}{b}", "what fraction of the {a} is{c}{b}", "share of {a}{c}{b}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "what percentage of {T} are{c}{b}", "what percent of {T}{c}{b}", "percentage of {T}{c}{b}", "what share of {T} is{c}{b}", "what is the percentage of {T}{c}{b}",
		"what proportion of {T}{c}{b}", "percent of {T} that are{c}{b}", "% of {T}{c}{b}", "how many percent of {T} are{c}{b}"), Query: q}, true
}

// share asks for the share of each group in the total.
func (m *generator) share(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	e, words := countExpr(), m.pluralName(s.table)
	q := &ir.Query{Via: -1, From: []int{s.table}}
	if len(m.numbers[s.table]) > 0 && m.chance(0.7) {
		i := pick(m, m.numbers[s.table])
		e, words, q.From = aggExpr("sum", i), m.column(i), nil
	}
	e.Kind = "share"
	q.Items, q.Group = []ir.Expr{g.key, e}, []ir.Expr{g.key}
	return Question{Text: m.fill(map[string]string{"a": words, "g": g.words, "by": m.by(g)},
		"share of {a} {by}", "what share of {a} does each {g} have", "percentage of total {a} {by}", "what percentage of {a} comes from each {g}", "{a} share {by}", "percent of {a} {by}", "distribution of {a} {by} in percent"), Query: q}, true
}

// twoSides compares a measure under two conditions.
func (m *generator) twoSides(s subject) (Question, bool) {
	columns := slices.Clone(m.texts[s.table])
	if len(columns) == 0 {
		return Question{}, false
	}
	i := pick(m, columns)
	a, b := m.value(i), m.value(i)
	if a == "" || b == "" || a == b {
		return Question{}, false
	}
	conds := []ir.Cond{cond(columnExpr(i), "=", text(a)), cond(columnExpr(i), "=", text(b))}
	if len(m.dates[s.table]) > 0 && m.chance(0.5) {
		d := pick(m, m.dates[s.table])
		y := 2019 + m.rng.IntN(5)
		a, b = strconv.Itoa(y), strconv.Itoa(y+1)
		conds = []ir.Cond{cond(columnExpr(d), "=", period(a)), cond(columnExpr(d), "=", period(b))}
	}
	e, words, from := countExpr(), m.pluralName(s.table), []int{s.table}
	if len(m.numbers[s.table]) > 0 && m.chance(0.6) {
		n := pick(m, m.numbers[s.table])
		e, words, from = aggExpr(pick(m, []string{"sum", "sum", "max", "avg"}), n), m.column(n), nil
		if e.Func == "avg" {
			words = "average " + words
		}
	}
	e.Kind, e.Conds = pick(m, []string{"ratio", "diff", "diff", "growth"}), conds[:1]
	e.Versus = conds[1:]
	q := query(e)
	q.From = from
	fill := map[string]string{"a": a, "b": b, "w": words}
	switch e.Kind {
	case "ratio":
		return Question{Text: m.fill(fill, "what is the ratio of {a} to {b} {w}", "ratio of {w} in {a} to {b}", "ratio of {a} {w} to {b} {w}", "how does {w} in {a} compare to {b} as a ratio"), Query: q}, true
	case "growth":
		return Question{Text: m.fill(fill, "growth of {w} from {a} to {b}", "by how many percent did {w} grow from {a} to {b}", "percent change in {w} between {a} and {b}", "how much did {w} increase from {a} to {b} in percent", "percentage growth in {w} {a} to {b}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "what is the difference in {w} between {a} and {b}", "how many more {w} did {a} have than {b}", "how much more {w} does {a} have than {b}", "difference between the {w} of {a} and {b}", "{w} difference {a} vs {b}"), Query: q}, true
}

func (m *generator) columnRatio(s subject) (Question, bool) {
	n := m.numbers[s.table]
	if len(n) < 2 {
		return Question{}, false
	}
	i, j := pick(m, n), pick(m, n)
	if i == j {
		return Question{}, false
	}
	op, words := "over", m.fill(map[string]string{"a": m.column(i), "b": m.column(j)}, "ratio of {a} to {b}", "{a} per {b}", "{a} divided by {b}")
	if m.chance(0.35) {
		op, words = "less", m.fill(map[string]string{"a": m.column(i), "b": m.column(j)}, "difference between {a} and {b}", "{a} minus {b}")
	}
	e := columnExpr(i)
	e.Op, e.Other = op, j
	label := m.label[s.table]
	if label >= 0 && m.chance(0.5) {
		return Question{Text: m.fill(map[string]string{"w": words, "t": m.singularName(s.table)}, "what is the {w} for each {t}", "{w} by {t}", "show the {w} for every {t}"), Query: query(columnExpr(label), e)}, true
	}
	a, b := aggExpr("sum", i), aggExpr("sum", j)
	a.Outer, a.Second = map[string]string{"over": "/", "less": "-"}[op], &b
	c := m.conditions(s.table, nil, 0.3)
	q := query(a)
	q.Where = c.conds
	return Question{Text: m.fill(map[string]string{"w": words, "c": c.words}, "what is the overall {w}{c}", "total {w}{c}", "{w} in total{c}"), Query: q}, true
}

var periodNames = map[string][]string{"month": {"month"}, "year": {"year"}, "quarter": {"quarter"}, "week": {"week"}, "day": {"day", "date"}, "weekday": {"weekday", "day of the week"}, "hour": {"hour"}, "monthof": {"calendar month", "month of the year"}}

// byPeriod groups by a calendar period.
func (m *generator) byPeriod(s subject) (Question, bool) {
	if len(m.dates[s.table]) == 0 {
		return Question{}, false
	}
	d := pick(m, m.dates[s.table])
	unit := pick(m, []string{"month", "month", "month", "year", "year", "quarter", "week", "day", "weekday", "hour", "monthof"})
	key := ir.Expr{Kind: "part", Func: unit, Column: d, Other: -1}
	said := pick(m, periodNames[unit])
	words, e, from := m.measure(s)
	c := m.conditions(s.table, nil, 0.3)
	q := query(key, e)
	q.From, q.Where, q.Group = from, c.conds, []ir.Expr{key}
	fill := map[string]string{"a": words, "f": said, "c": c.words, "T": m.pluralName(s.table), "d": m.column(d), "l": pick(m, singleLeads)}
	if m.chance(0.25) && (unit != "hour") {
		q.Items, q.Order, q.Limit = []ir.Expr{key}, []ir.Sort{{By: e, Desc: true}}, 1
		if e.Star {
			return Question{Text: m.fill(fill, "which {f} had the most {T}{c}", "in which {f} were there the most {T}{c}", "busiest {f}{c} by number of {T}", "what {f} saw the most {T}{c}"), Query: q}, true
		}
		return Question{Text: m.fill(fill, "which {f} had the highest {a}{c}", "in which {f} was the {a} highest{c}", "best {f} by {a}{c}"), Query: q}, e.Func != "min" && e.Func != "max"
	}
	texts := []string{"{a} per {f}{c}", "{a} by {f}{c}", "what is the {a} for each {f}{c}", "show {a} in each {f}{c}", "{a} by {f} of {d}{c}", "{l} {a}{c} by {f}", "how did {a} develop by {f}{c}"}
	if unit == "month" || unit == "week" || unit == "day" || unit == "year" {
		texts = append(texts, "{f}ly {a}{c}", "{a} over time by {f}{c}")
	}
	text := m.fill(fill, texts...)
	return Question{Text: strings.NewReplacer("dayly", "daily", "dately", "daily").Replace(text), Query: q}, true
}

func (m *generator) durations(s subject) (Question, bool) {
	d := m.dates[s.table]
	if len(d) < 2 {
		return Question{}, false
	}
	i, j := pick(m, d), pick(m, d)
	if i == j {
		return Question{}, false
	}
	f := pick(m, [][2]string{{"avg", "average"}, {"max", "longest"}, {"min", "shortest"}, {"avg", "mean"}})
	e := ir.Expr{Kind: "agg", Func: f[0], Inner: "days", Column: i, Other: j}
	q := query(e)
	fill := map[string]string{"a": f[1], "x": m.column(i), "y": m.column(j), "T": m.pluralName(s.table), "p": ""}
	if g, ok := m.group(subject{table: s.table}); ok && m.chance(0.3) {
		q.Items, q.Group = []ir.Expr{g.key, e}, []ir.Expr{g.key}
		fill["p"] = " " + m.by(g)
	} else {
		c := m.conditions(s.table, nil, 0.3)
		q.Where, fill["p"] = c.conds, c.words
	}
	return Question{Text: m.fill(fill, "{a} number of days between {x} and {y}{p}", "what is the {a} time from {x} to {y}{p}", "what is the {a} duration between {x} and {y} in days{p}", "{a} days from {x} to {y} of {T}{p}", "how long on {a} from {x} to {y}{p}"), Query: q}, true
}

// product asks for a price times a quantity.
func (m *generator) product(s subject) (Question, bool) {
	var prices, amounts []int
	for _, i := range m.numbers[s.table] {
		switch name := " " + m.name(i) + " "; {
		case strings.Contains(name, "price") || strings.Contains(name, " cost ") || strings.Contains(name, " rate "):
			prices = append(prices, i)
		case strings.Contains(name, "quantity") || strings.Contains(name, " units ") || strings.Contains(name, "number of") || strings.Contains(name, " hours ") || strings.Contains(name, " qty "):
			amounts = append(amounts, i)
		}
	}
	if len(prices) == 0 || len(amounts) == 0 {
		return Question{}, false
	}
	e := aggExpr("sum", pick(m, prices))
	e.Op, e.Other = "times", pick(m, amounts)
	fill := map[string]string{"w": pick(m, []string{"total revenue", "total sales", "revenue", "total value", "sales amount", "turnover", "sales", fmt.Sprintf("total %s times %s", m.column(e.Column), m.column(e.Other))})}
	if g, ok := m.group(s); ok && m.chance(0.6) {
		fill["g"], fill["by"] = g.words, m.by(g)
		if m.chance(0.5) {
			q := query(g.key, e)
			q.Group = []ir.Expr{g.key}
			return Question{Text: m.fill(fill, "{w} {by}", "what is the {w} {by}", "show {w} {by}"), Query: q}, true
		}
		q := query(g.key)
		q.Group, q.Order, q.Limit = []ir.Expr{g.key}, []ir.Sort{{By: e, Desc: true}}, 1
		return Question{Text: m.fill(fill, "which {g} has the highest {w}", "{g} with the most {w}", "which {g} brought in the most {w}", "top {g} by {w}"), Query: q}, true
	}
	c := m.conditions(s.table, s.other, 0.4)
	q := query(e)
	q.Where, fill["c"] = c.conds, c.words
	return Question{Text: m.fill(fill, "what is the {w}{c}", "{w}{c}", "how much {w} did we have{c}", "how much {w}{c}"), Query: q}, true
}

// howMuch asks for a number with an adjective: how tall, old or expensive.
func (m *generator) howMuch(s subject) (Question, bool) {
	label := m.label[s.table]
	if label < 0 {
		return Question{}, false
	}
	for range 3 {
		if len(m.numbers[s.table]) == 0 {
			return Question{}, false
		}
		i := pick(m, m.numbers[s.table])
		a, ok := m.adjectives(i)
		v := m.value(label)
		if !ok || v == "" {
			continue
		}
		q := query(columnExpr(i))
		q.Where = []ir.Cond{cond(columnExpr(label), "=", text(v))}
		return Question{Text: m.fill(map[string]string{"a": a[4], "v": v, "t": m.singularName(s.table)}, "how {a} is {v}", "how {a} was {v}", "how {a} is the {t} {v}"), Query: q}, true
	}
	return Question{}, false
}

// lookUp asks for a column of one row.
func (m *generator) lookUp(s subject) (Question, bool) {
	all := slices.Concat(m.texts[s.table], m.numbers[s.table], m.years[s.table], m.dates[s.table])
	if len(m.texts[s.table]) == 0 || len(all) < 2 {
		return Question{}, false
	}
	i, j := pick(m, m.texts[s.table]), pick(m, all)
	if m.label[s.table] >= 0 && m.chance(0.6) {
		i = m.label[s.table]
	}
	v := m.value(i)
	if i == j || v == "" {
		return Question{}, false
	}
	q := query(columnExpr(j))
	q.Where = []ir.Cond{cond(columnExpr(i), "=", text(v))}
	return Question{Text: m.fill(map[string]string{"a": m.column(i), "b": m.column(j), "v": m.cased(v)}, "what was the {b} for {v}", "what is the {b} of {v}", "{b} of {v}", "what {b} did {v} have", "which {b} is listed for {v}",
		"what is {v}'s {b}", "what is the {b} when the {a} is {v}", "who was the {b} for {v}", "{v} {b}", "tell me the {b} of {v}", "when was the {b} of {v}", "what {b} does {v} have"), Query: q}, true
}

// ofList asks about a table as a list, whose rows have an order.
func (m *generator) ofList(s subject) (Question, bool) {
	t := s.table
	if len(m.cat.Tables) > 1 || len(m.texts[t]) == 0 || m.label[t] < 0 {
		return Question{}, false
	}
	a := m.label[t]
	if m.chance(0.3) {
		a = pick(m, m.texts[t])
	}
	v := m.value(a)
	fill := map[string]string{"a": m.column(a), "v": m.cased(v)}
	q := query(columnExpr(a))
	switch m.rng.IntN(6) {
	case 0, 1:
		if v == "" {
			return Question{}, false
		}
		op := pick(m, []string{"after", "before"})
		q.Where = []ir.Cond{cond(columnExpr(a), op, text(v))}
		if op == "after" {
			return Question{Text: m.fill(fill, "what {a} comes after {v}", "who came next after {v}", "which {a} is listed after {v}", "what {a} is below {v}", "what is the next {a} after {v}", "which {a} follows {v}"), Query: q}, true
		}
		return Question{Text: m.fill(fill, "what {a} comes before {v}", "who was before {v}", "which {a} is listed just before {v}", "what {a} is above {v}", "which {a} was previous to {v}", "what is listed directly above {v}"), Query: q}, true
	case 2, 3:
		desc := m.chance(0.5)
		c := m.conditions(t, nil, 0.3)
		fill["c"] = c.words
		q.Where, q.Order, q.Limit = c.conds, []ir.Sort{{By: ir.Expr{Kind: "rowid", Column: -1, Other: -1}, Desc: desc}}, 1
		if desc {
			return Question{Text: m.fill(fill, "what is the last {a} listed{c}", "which {a} is at the bottom{c}", "what was the last {a}{c}", "who is the last {a} on the list{c}", "final {a} on the list{c}"), Query: q}, true
		}
		return Question{Text: m.fill(fill, "what is the first {a} listed{c}", "which {a} is at the top of the table{c}", "who is listed first{c}", "what was the first {a}{c}"), Query: q}, true
	case 4:
		g := pick(m, m.texts[t])
		q = query(columnExpr(g))
		q.From, q.Group, q.Order, q.Limit = []int{t}, []ir.Expr{columnExpr(g)}, []ir.Sort{{By: countExpr(), Desc: true}}, 1
		fill["a"] = m.column(g)
		return Question{Text: m.fill(fill, "which {a} appears the most", "what {a} is listed the most times", "which {a} occurs most often", "what {a} has the most entries", "most common {a}", "most frequent {a}"), Query: q}, true
	}
	if len(m.numbers[t]) == 0 {
		return Question{}, false
	}
	b := pick(m, m.numbers[t])
	u := m.value(a)
	if v == "" || u == "" || u == v {
		return Question{}, false
	}
	desc := m.chance(0.7)
	fill["b"], fill["u"], fill["w"] = m.column(b), u, "more"
	if !desc {
		fill["w"] = pick(m, []string{"less", "fewer"})
	}
	or := cond(columnExpr(a), "=", text(u))
	or.Or = true
	q.Where = []ir.Cond{cond(columnExpr(a), "=", text(v)), or}
	q.Order, q.Limit = []ir.Sort{{By: columnExpr(b), Desc: desc}}, 1
	return Question{Text: m.fill(fill, "who had {w} {b}, {v} or {u}", "which {a} has {w} {b}, {v} or {u}", "did {v} or {u} have {w} {b}"), Query: q}, true
}
