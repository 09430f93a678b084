package synth

import (
	"slices"
	"strconv"

	"parley/llm/reader/ir"
)

// superlative asks for the rows with the maximum or minimum of a column.
func (m *generator) superlative(s subject) (Question, bool) {
	label := m.label[s.table]
	options := slices.Concat(m.numbers[s.table], m.numbers[s.table], m.dates[s.table], m.years[s.table])
	if label < 0 || len(options) == 0 {
		return Question{}, false
	}
	i := pick(m, options)
	desc := m.chance(0.65)
	w := pick(m, []string{"highest", "largest", "greatest", "most", "biggest", "maximum"})
	if !desc {
		w = pick(m, []string{"lowest", "smallest", "least", "minimum"})
	}
	if slices.Contains(m.dates[s.table], i) || slices.Contains(m.years[s.table], i) {
		w = pick(m, []string{"latest", "most recent", "newest", "last"})
		if !desc {
			w = pick(m, []string{"earliest", "oldest", "first"})
		}
	}
	n := 1
	if m.chance(0.35) {
		n = 2 + m.rng.IntN(9)
	}
	said := strconv.Itoa(n)
	if n <= 10 && m.chance(0.4) {
		said = []string{"", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}[n]
	}
	c := m.conditions(s.table, s.other, 0.3)
	shown := []int{label}
	if m.chance(0.35) {
		shown = m.shownColumns(s.table)
	}
	q := query(columnExprs(shown)...)
	q.Where, q.Order, q.Limit = c.conds, []ir.Sort{{By: columnExpr(i), Desc: desc}}, n
	fill := map[string]string{"t": m.singularName(s.table), "T": m.pluralName(s.table), "o": m.columns(shown), "w": w, "a": m.column(i), "c": c.words, "n": said}
	if a, ok := m.adjectives(i); ok && m.chance(0.4) {
		fill["w"] = a[0]
		if !desc {
			fill["w"] = a[1]
		}
		if n == 1 {
			return Question{Text: m.fill(fill, "what is the {o} of the {w} {t}{c}", "{o} of the {w} {t}{c}", "which {t} is the {w}{c}", "the {w} {t}{c}", "who is the {w} {t}{c}"), Query: m.onlyLabel(q, fill, label)}, true
		}
		return Question{Text: m.fill(fill, "show the {o} of the {n} {w} {T}{c}", "the {n} {w} {T}{c}", "list the {n} {w} {T}{c}"), Query: m.onlyLabel(q, fill, label)}, true
	}
	onlyLabel := len(shown) == 1 && shown[0] == label
	switch {
	case n == 1 && onlyLabel:
		return Question{Text: m.fill(fill, "which {t} has the {w} {a}{c}", "who has the {w} {a}{c}", "find the {t} with the {w} {a}{c}", "{t} with the {w} {a}{c}", "which {o} has the {w} {a}{c}", "what {o} had the {w} {a}{c}", "what is the {o} of the {t} with the {w} {a}{c}"), Query: q}, true
	case n == 1:
		return Question{Text: m.fill(fill, "what is the {o} of the {t} with the {w} {a}{c}", "the {o} of the {t} with the {w} {a}{c}", "find the {o} of the {t} with {w} {a}{c}", "{o} of {t} with the {w} {a}{c}"), Query: q}, true
	case onlyLabel && desc:
		return Question{Text: m.fill(fill, "top {n} {T} by {a}{c}", "the {n} {T} with the {w} {a}{c}", "list the {n} {T} with the {w} {a}{c}", "which {n} {T} have the {w} {a}{c}", "what are the {n} {T} with the {w} {a}{c}"), Query: q}, true
	case onlyLabel:
		return Question{Text: m.fill(fill, "bottom {n} {T} by {a}{c}", "the {n} {T} with the {w} {a}{c}", "list the {n} {T} with the {w} {a}{c}", "which {n} {T} have the {w} {a}{c}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "show the {o} of the {n} {T} with the {w} {a}{c}", "{o} of the {n} {T} with the {w} {a}{c}", "list the {o} of the {n} {T} with the {w} {a}{c}"), Query: q}, true
}

// onlyLabel makes a query show only the label of its rows, since templates with an
// adjective may not name another column.
func (m *generator) onlyLabel(q *ir.Query, fill map[string]string, label int) *ir.Query {
	if len(q.Items) == 1 && q.Items[0].Column == label {
		return q
	}
	fill["o"] = m.column(label)
	q.Items = columnExprs([]int{label})
	return q
}

// topOfEach asks for the first rows of each group.
func (m *generator) topOfEach(s subject) (Question, bool) {
	label := m.label[s.table]
	g, ok := m.group(s)
	if !ok || label < 0 || len(m.numbers[s.table]) == 0 || g.key.Column == label {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	desc := m.chance(0.8)
	w := pick(m, most[1:5])
	if !desc {
		w = pick(m, least[1:3])
	}
	n := pick(m, []int{1, 1, 2, 3, 3, 5})
	q := query(g.key, columnExpr(label))
	q.Order, q.Limit, q.Each = []ir.Sort{{By: columnExpr(i), Desc: desc}}, n, &g.key
	fill := map[string]string{"t": m.singularName(s.table), "T": m.pluralName(s.table), "g": g.words, "w": w, "a": m.column(i), "n": strconv.Itoa(n)}
	if n == 1 {
		return Question{Text: m.fill(fill, "which {t} has the {w} {a} in each {g}", "the {t} with the {w} {a} per {g}", "for each {g}, the {t} with the {w} {a}", "{t} with the {w} {a} for every {g}"), Query: q}, true
	}
	return Question{Text: m.fill(fill, "top {n} {T} by {a} in each {g}", "the {n} {T} with the {w} {a} per {g}", "for each {g} show the top {n} {T} by {a}"), Query: q}, desc
}

// absent asks for rows of one table with or without rows of another.
func (m *generator) absent(s subject) (Question, bool) {
	if s.other == nil {
		return Question{}, false
	}
	parent, child := s.other.table, s.table
	if !s.other.one {
		parent, child = s.table, s.other.table
	}
	if m.label[parent] < 0 {
		return Question{}, false
	}
	without := m.chance(0.75)
	fill := map[string]string{"P": m.pluralName(parent), "C": m.pluralName(child), "c": m.singularName(child)}
	sub := cond(columnExpr(s.other.link.To), "in")
	sub.Sub = query(columnExpr(s.other.link.From))
	var words string
	if without {
		sub.Op = "notin"
		words = m.fill(fill, "{P} do not have any {C}", "{P} have no {C}", "{P} without any {C}", "{P} that have never had a {c}", "{P} that do not have {C}", "{P} not associated with any {C}", "{P} with no {C}", "{P} never had {C}", "{P} don't have {C}", "{P} without {C}")
	} else {
		words = m.fill(fill, "{P} that have {C}", "{P} with at least one {c}", "{P} that have any {C}", "{P} have {C}")
	}
	if m.chance(0.3) {
		q := query(countExpr())
		q.From, q.Where = []int{parent}, []ir.Cond{sub}
		return Question{Text: pick(m, []string{"how many ", "number of ", "count the "}) + words, Query: q}, true
	}
	q := query(columnExpr(m.label[parent]))
	q.Where = []ir.Cond{sub}
	return Question{Text: pick(m, []string{"which ", "list the ", "show the ", "find the ", "", "what are the " + m.column(m.label[parent]) + " of the "}) + words, Query: q}, true
}

func (m *generator) distinct(s subject) (Question, bool) {
	if len(m.groups[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.groups[s.table])
	c := m.conditions(s.table, s.other, 0.3)
	q := query(columnExpr(i))
	q.Distinct, q.Where = true, c.conds
	return Question{Text: m.fill(map[string]string{"d": pick(m, []string{"different", "distinct", "unique", "various"}), "C": plural(m.column(i)), "T": m.pluralName(s.table), "c": c.words},
		"what are the {d} {C} of {T}{c}", "list all {d} {C}{c}", "show the {d} {C} of {T}{c}", "which {d} {C} are there{c}", "what {C} are there{c}", "all {d} {C}{c}", "which {C} do we have{c}"), Query: q}, true
}

func (m *generator) countDistinct(s subject) (Question, bool) {
	if len(m.groups[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.groups[s.table])
	c := m.conditions(s.table, s.other, 0.3)
	e := aggExpr("count", i)
	e.Distinct = true
	q := query(e)
	q.Where = c.conds
	return Question{Text: m.fill(map[string]string{"d": pick(m, []string{"different", "distinct", "unique"}), "C": plural(m.column(i)), "T": m.pluralName(s.table), "c": c.words},
		"how many {d} {C} are there{c}", "how many {d} {C} do {T} have{c}", "number of {d} {C}{c}", "count the {d} {C} of {T}{c}", "how many {d} {C}{c}"), Query: q}, true
}

func (m *generator) sorted(s subject) (Question, bool) {
	columns := m.shownColumns(s.table)
	by := slices.Concat(m.numbers[s.table], m.years[s.table], m.dates[s.table], m.texts[s.table])
	if len(columns) == 0 || len(by) == 0 {
		return Question{}, false
	}
	i := pick(m, by)
	desc := m.chance(0.5)
	way := pick(m, []string{" in ascending order", "", " in increasing order", " from lowest to highest", " ascending"})
	if slices.Contains(m.texts[s.table], i) && !desc {
		way = pick(m, []string{" alphabetically", "", " in alphabetical order", " from a to z"})
	}
	if desc {
		way = pick(m, []string{" in descending order", " descending", " in decreasing order", " from highest to lowest", " in reverse order", ", highest first", ", largest first"})
	}
	c := m.conditions(s.table, s.other, 0.3)
	q := query(columnExprs(columns)...)
	q.Where, q.Order = c.conds, []ir.Sort{{By: columnExpr(i), Desc: desc}}
	return Question{Text: pick(m, listLeads) + " " + m.columns(columns) + " of " + m.pluralName(s.table) + c.words + pick(m, []string{", sorted by ", " ordered by ", " sort by ", ", in order of ", " sorted by "}) + m.column(i) + way, Query: q}, true
}

func (m *generator) setOperation(s subject) (Question, bool) {
	if len(m.groups[s.table]) == 0 {
		return Question{}, false
	}
	a, ok := m.condition(s.table, nil)
	b, also := m.condition(s.table, nil)
	if !ok || !also || len(a.conds) > 1 || len(b.conds) > 1 || a.conds[0].Left.Column != b.conds[0].Left.Column || a.conds[0].Left.Column < 0 || a.words == b.words {
		return Question{}, false
	}
	i := pick(m, m.groups[s.table])
	if i == a.conds[0].Left.Column {
		return Question{}, false
	}
	set := pick(m, []string{"intersect", "intersect", "except"})
	joint := pick(m, []string{" and also ", " and ", " as well as "})
	if set == "except" {
		joint = pick(m, []string{" but not ", " and not ", " but no "})
	}
	q := query(columnExpr(i))
	q.Where, q.Set, q.Right = a.conds, set, query(columnExpr(i))
	q.Right.Where = b.conds
	return Question{Text: m.fill(map[string]string{"C": plural(m.column(i)), "T": m.pluralName(s.table), "a": a.words, "w": joint, "U": pick(m, []string{"", "those", m.pluralName(s.table)}), "b": b.words},
		"which {C} have {T} {a}{w}{U} {b}", "find the {C} that have {T} {a}{w}{U} {b}", "{C} with {T} {a}{w}{U} {b}"), Query: q}, true
}
