package synth

import (
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/ir"
)

var aggregateWords = [][2]string{{"avg", "average"}, {"avg", "mean"}, {"sum", "total"}, {"sum", "sum of"}, {"max", "maximum"}, {"max", "highest"}, {"max", "largest"}, {"min", "minimum"},
	{"min", "lowest"}, {"min", "smallest"}, {"avg", "average"}, {"sum", "total"}, {"sum", "combined"}, {"avg", "avg"}, {"avg", "typical"}, {"sum", "overall"}, {"max", "max"}, {"min", "min"}, {"max", "top"},
	{"median", "median"}, {"median", "median"}, {"median", "middle"}}

// aggregate phrases an aggregate of a column.
func (m *generator) aggregate(i int) (string, ir.Expr) {
	a := pick(m, aggregateWords)
	return a[1] + " " + m.column(i), aggExpr(a[0], i)
}

func (m *generator) figure(s subject) (Question, bool) {
	if len(m.numbers[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	c := m.conditions(s.table, s.other, 0.65)
	words, e := m.aggregate(i)
	q := query(e)
	q.Where = c.conds
	fill := map[string]string{"l": pick(m, singleLeads), "a": words, "T": m.pluralName(s.table), "c": c.words, "n": m.column(i)}
	if e.Func == "sum" && m.chance(0.25) {
		return Question{Text: m.fill(fill, "how much {n}{c}", "how much {n} did we have{c}", "how much {n} in total{c}", "{n} in total{c}", "how many {n} in all{c}", "sum up the {n}{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "{l} {a} of {T}{c}", "{l} {a} of all {T}{c}", "{l} {a} for {T}{c}", "{l} {a} across {T}{c}", "{l} {a}{c}", "{l} {a} of {T}{c}", "{a}{c}"), Query: q}, true
}

func (m *generator) figures(s subject) (Question, bool) {
	if len(m.numbers[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	j := i
	if m.chance(0.5) {
		j = pick(m, m.numbers[s.table])
	}
	a, first := m.aggregate(i)
	b, second := m.aggregate(j)
	if first.Func == second.Func && i == j {
		return Question{}, false
	}
	if first.Func == second.Func {
		b = m.column(j)
	} else if i == j && m.chance(0.5) {
		a = strings.Fields(a)[0]
	}
	c := m.conditions(s.table, s.other, 0.4)
	q := query(first, second)
	q.Where = c.conds
	return Question{Text: m.fill(map[string]string{"l": pick(m, singleLeads), "a": a, "b": b, "T": m.pluralName(s.table), "c": c.words},
		"{l} {a} and {b} of {T}{c}", "{l} {a} and the {b}{c}", "{l} {a} and {b} for all {T}{c}"), Query: q}, true
}

// group is a key that rows are grouped by.
type group struct {
	words string
	key   ir.Expr
	// other says that the phrase must name the rows of the subject, since the group is a
	// column of another table.
	other bool
}

func (m *generator) group(s subject) (group, bool) {
	t := s.table
	if s.other != nil && s.other.one && m.chance(0.6) {
		t = s.other.table
	}
	options := slices.Clone(m.groups[t])
	if t != s.table && m.label[t] >= 0 {
		options = append(options, m.label[t], m.label[t], m.label[t])
	}
	if len(options) == 0 {
		return group{}, false
	}
	i := pick(m, options)
	g := group{words: m.column(i), key: columnExpr(i), other: t != s.table}
	if g.other && m.chance(0.5) {
		if i == m.label[t] && m.chance(0.6) {
			g.words = m.singularName(t)
		} else {
			g.words = m.singularName(t) + " " + g.words
		}
	}
	return g, true
}

func (m *generator) by(g group) string {
	return m.fill(map[string]string{"g": g.words, "G": plural(g.words)},
		"by {g}", "per {g}", "for each {g}", "in each {g}", "broken down by {g}", "for every {g}", "grouped by {g}", "by {g}", "for different {G}", "across {G}", "split by {g}", "each {g}", "of each {g}")
}

// measure is a count of rows or another aggregate of the subject.
func (m *generator) measure(s subject) (words string, e ir.Expr, from []int) {
	if len(m.numbers[s.table]) == 0 || m.chance(0.5) {
		return pick(m, []string{"number of ", "count of ", "total number of "}) + m.pluralName(s.table), countExpr(), []int{s.table}
	}
	words, e = m.aggregate(pick(m, m.numbers[s.table]))
	if m.chance(0.4) {
		words += " of " + m.pluralName(s.table) // the total amount of orders is not their number
	}
	return words, e, nil
}

func (m *generator) grouped(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	words, e, from := m.measure(s)
	c := m.conditions(s.table, nil, 0.25)
	q := query(g.key, e)
	q.From, q.Where, q.Group = from, c.conds, []ir.Expr{g.key}
	fill := map[string]string{"l": pick(m, singleLeads), "a": words, "c": c.words, "by": m.by(g), "T": m.pluralName(s.table), "g": g.words}
	if e.Star && m.chance(0.5) {
		return Question{Text: m.fill(fill, "how many {T}{c} {by}", "how many {T} are there{c} {by}", "how many {T} do we have{c} {by}", "{T}{c} {by}", "how many {T} does each {g} have{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "{l} {a}{c} {by}", "{by} {l} {a}{c}", "{a}{c} {by}", "{l} {a} {by}{c}", "{a} {by}{c}", "show {g} and {a}{c}", "list each {g} and its {a}{c}"), Query: q}, true
}

// most has words for the maximum and minimum of a measure.
var most, least = []string{"most", "highest", "largest", "greatest", "biggest", "top"}, []string{"least", "lowest", "smallest", "fewest"}

func (m *generator) topGroup(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	desc := m.chance(0.75)
	w := pick(m, most)
	if !desc {
		w = pick(m, least)
	}
	n := 1
	if m.chance(0.3) {
		n = 2 + m.rng.IntN(9)
	}
	c := m.conditions(s.table, nil, 0.2)
	q := query(g.key)
	q.Group, q.Where = []ir.Expr{g.key}, c.conds
	fill := map[string]string{"g": g.words, "G": plural(g.words), "w": w, "T": m.pluralName(s.table), "n": strconv.Itoa(n), "c": c.words}
	var e ir.Expr
	if len(m.numbers[s.table]) == 0 || m.chance(0.55) {
		e, q.From = countExpr(), []int{s.table}
		fill["a"] = m.pluralName(s.table)
		if w != "most" && w != "least" && w != "fewest" {
			fill["a"] = "number of " + fill["a"]
		}
	} else {
		fill["a"], e = m.aggregate(pick(m, m.numbers[s.table]))
		if e.Func == "max" || e.Func == "min" {
			return Question{}, false
		}
	}
	q.Order, q.Limit = []ir.Sort{{By: e, Desc: desc}}, n
	if m.chance(0.2) {
		q.Items = append(q.Items, e)
		if n == 1 {
			return Question{Text: m.fill(fill, "which {g} has the {w} {a}{c} and what is it", "which {g} has the {w} {a}{c}, and how much", "show the {g} with the {w} {a}{c} and the {a}"), Query: q}, true
		}
		return Question{Text: m.fill(fill, "top {n} {G} by {a}{c} with the {a}", "the {n} {G} with the {w} {a}{c} and their {a}"), Query: q}, desc
	}
	if n == 1 {
		return Question{Text: m.fill(fill, "which {g} has the {w} {a}{c}", "what {g} has the {w} {a}{c}", "{g} with the {w} {a}{c}", "find the {g} with the {w} {a}{c}", "which {g} had the {w} {a}{c}", "what is the {g} with the {w} {a}{c}", "who has the {w} {a}{c}"), Query: q}, true
	}
	if !desc {
		return Question{Text: m.fill(fill, "bottom {n} {G} by {a}{c}", "the {n} {G} with the {w} {a}{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "top {n} {G} by {a}{c}", "the {n} {G} with the {w} {a}{c}", "which {n} {G} have the {w} {a}{c}", "show the top {n} {G} by {a}{c}", "{n} {G} with the {w} {a}{c}"), Query: q}, true
}

func (m *generator) having(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	words, e, from := m.measure(s)
	cmp := pick(m, comparisons[:14])
	n := strconv.Itoa(1 + m.rng.IntN(10))
	if !e.Star {
		n = m.someNumber(e.Column)
	}
	q := query(g.key)
	q.From, q.Group = from, []ir.Expr{g.key}
	q.Having = []ir.Cond{cond(e, cmp[0], number(n))}
	fill := map[string]string{"g": g.words, "G": plural(g.words), "w": cmp[1], "n": n, "T": m.pluralName(s.table), "a": words, "l": pick(m, listLeads)}
	if e.Star {
		return Question{Text: m.fill(fill, "which {G} have {w} {n} {T}", "{l} {G} with {w} {n} {T}", "{G} that have {w} {n} {T}", "find {G} with {w} {n} {T}", "who has {w} {n} {T}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "which {G} have {w} {n} {a}", "{l} {G} whose {a} is {w} {n}", "{G} with {a} {w} {n}", "{l} {G} with a {a} {w} {n}"), Query: q}, true
}
