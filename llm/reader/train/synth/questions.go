package synth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/ir"
)

// subject is what a question is about: a table and perhaps one beside it.
type subject struct {
	table int
	other *neighbour
}

// kinds are the kinds of questions and how often each is made.
var kinds = []struct {
	weight int
	make   func(*maker, subject) (Question, bool)
}{
	{10, (*maker).count}, {13, (*maker).list}, {9, (*maker).figure}, {4, (*maker).figures}, {15, (*maker).grouped}, {9, (*maker).superlative},
	{8, (*maker).topGroup}, {5, (*maker).having}, {4, (*maker).absent}, {4, (*maker).distinct}, {4, (*maker).countDistinct}, {4, (*maker).sorted},
	{2, (*maker).setOperation}, {4, (*maker).percentage}, {2, (*maker).share}, {3, (*maker).twoSides}, {2, (*maker).columnRatio}, {6, (*maker).byPeriod},
	{2, (*maker).durations}, {3, (*maker).product}, {2, (*maker).howMuch}, {3, (*maker).topOfEach}, {6, (*maker).lookUp}, {8, (*maker).ofList},
}

var kindTotal = func() int {
	n := 0
	for _, k := range kinds {
		n += k.weight
	}
	return n
}()

// question makes a question of some kind.
func (m *maker) question() (Question, bool) {
	s := subject{table: pick(m, m.usable)}
	if near := m.neighbours(s.table); len(near) > 0 && m.chance(0.45) {
		n := pick(m, near)
		s.other = &n
	}
	at := m.rng.IntN(kindTotal)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k.make(m, s)
		}
	}
	return Question{}, false
}

var singleLeads = []string{"what is the", "show the", "give me the", "find the", "calculate the", "return the", "", "", "tell me the", "what's the", "show me the", "compute the", "i need the", "can you give me the", "please show the"}
var listLeads = []string{"what are the", "show the", "list the", "give me the", "find the", "return the", "show", "list", "display the", "give the", "which are the", "tell me the", "", "i want the", "can i see the", "get"}

func (m *maker) count(s subject) (Question, bool) {
	c := m.conditions(s.table, s.other, 0.85)
	q := query(countExpr())
	q.From, q.Where = []int{s.table}, c.conds
	return Question{Text: m.say(map[string]string{"T": m.many(s.table), "c": c.words},
		"how many {T} are there{c}", "how many {T}{c}", "number of {T}{c}", "what is the number of {T}{c}", "count the {T}{c}", "what is the total number of {T}{c}",
		"how many {T} do we have{c}", "find the number of {T}{c}", "total number of {T}{c}", "how many {T}{c} are there", "count of {T}{c}", "how many {T} did we have{c}", "{T} count{c}", "how many {T} were there{c}"), Query: q}, true
}

// shownColumns picks what a list shows.
func (m *maker) shownColumns(t int) []int {
	label := m.label[t]
	if label >= 0 && m.chance(0.5) {
		return []int{label}
	}
	all := slices.Concat(m.texts[t], m.numbers[t], m.years[t], m.dates[t])
	if len(all) == 0 {
		return nil
	}
	m.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), pick(m, []int{1, 1, 2, 2, 3}))]
}

func (m *maker) columns(all []int) string {
	words := make([]string, len(all))
	for k, i := range all {
		words[k] = m.column(i)
	}
	return m.join(words)
}

func (m *maker) list(s subject) (Question, bool) {
	c := m.conditions(s.table, s.other, 0.87)
	columns := m.shownColumns(s.table)
	if len(columns) == 0 {
		return Question{}, false
	}
	words := map[string]string{"l": pick(m, listLeads), "cc": m.columns(columns), "T": m.many(s.table), "c": c.words}
	q := query(columnExprs(columns)...)
	q.Where = c.conds
	if label := m.label[s.table]; label >= 0 && c.words != "" && m.chance(0.2) {
		q.Items = columnExprs([]int{label})
		return Question{Text: m.say(words, "show all {T}{c}", "list {T}{c}", "which {T} are{c}", "{T}{c}", "all {T}{c}", "which {T}{c}", "who are the {T}{c}", "show me {T}{c}"), Query: q}, true
	}
	return Question{Text: m.say(words, "{l} {cc} of {T}{c}", "{l} {cc} of all {T}{c}", "{l} {cc} for {T}{c}", "{l} {T} {cc}{c}", "{l} {cc} of the {T}{c}", "{cc} of {T}{c}",
		"what {cc} do {T}{c} have", "which {cc} belong to {T}{c}", "{T}{c}: {cc}", "for {T}{c} show {cc}"), Query: q}, true
}

var aggregateWords = [][2]string{{"avg", "average"}, {"avg", "mean"}, {"sum", "total"}, {"sum", "sum of"}, {"max", "maximum"}, {"max", "highest"}, {"max", "largest"}, {"min", "minimum"},
	{"min", "lowest"}, {"min", "smallest"}, {"avg", "average"}, {"sum", "total"}, {"sum", "combined"}, {"avg", "avg"}, {"avg", "typical"}, {"sum", "overall"}, {"max", "max"}, {"min", "min"}, {"max", "top"}}

// aggregate says an aggregate of a column.
func (m *maker) aggregate(i int) (string, ir.Expr) {
	a := pick(m, aggregateWords)
	return a[1] + " " + m.column(i), aggExpr(a[0], i)
}

func (m *maker) figure(s subject) (Question, bool) {
	if len(m.numbers[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	c := m.conditions(s.table, s.other, 0.65)
	words, e := m.aggregate(i)
	q := query(e)
	q.Where = c.conds
	fill := map[string]string{"l": pick(m, singleLeads), "a": words, "T": m.many(s.table), "c": c.words, "n": m.column(i)}
	if e.Func == "sum" && m.chance(0.25) {
		return Question{Text: m.say(fill, "how much {n}{c}", "how much {n} did we have{c}", "how much {n} in total{c}", "{n} in total{c}", "how many {n} in all{c}", "sum up the {n}{c}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "{l} {a} of {T}{c}", "{l} {a} of all {T}{c}", "{l} {a} for {T}{c}", "{l} {a} across {T}{c}", "{l} {a}{c}", "{l} {a} of {T}{c}", "{a}{c}"), Query: q}, true
}

func (m *maker) figures(s subject) (Question, bool) {
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
	return Question{Text: m.say(map[string]string{"l": pick(m, singleLeads), "a": a, "b": b, "T": m.many(s.table), "c": c.words},
		"{l} {a} and {b} of {T}{c}", "{l} {a} and the {b}{c}", "{l} {a} and {b} for all {T}{c}"), Query: q}, true
}

// group is something that rows are grouped by.
type group struct {
	words string
	key   ir.Expr
	// counts says that rows of the subject must be named, as the group is another
	// table's.
	other bool
}

func (m *maker) group(s subject) (group, bool) {
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
			g.words = m.one(t)
		} else {
			g.words = m.one(t) + " " + g.words
		}
	}
	return g, true
}

func (m *maker) by(g group) string {
	return m.say(map[string]string{"g": g.words, "G": plural(g.words)},
		"by {g}", "per {g}", "for each {g}", "in each {g}", "broken down by {g}", "for every {g}", "grouped by {g}", "by {g}", "for different {G}", "across {G}", "split by {g}", "each {g}", "of each {g}")
}

// measure is a figure of the subject: a number of rows, or an aggregate.
func (m *maker) measure(s subject) (words string, e ir.Expr, from []int) {
	if len(m.numbers[s.table]) == 0 || m.chance(0.5) {
		return pick(m, []string{"number of ", "count of ", "total number of ", "amount of "}) + m.many(s.table), countExpr(), []int{s.table}
	}
	words, e = m.aggregate(pick(m, m.numbers[s.table]))
	return words, e, nil
}

func (m *maker) grouped(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	words, e, from := m.measure(s)
	c := m.conditions(s.table, nil, 0.25)
	q := query(g.key, e)
	q.From, q.Where, q.Group = from, c.conds, []ir.Expr{g.key}
	fill := map[string]string{"l": pick(m, singleLeads), "a": words, "c": c.words, "by": m.by(g), "T": m.many(s.table), "g": g.words}
	if e.Star && m.chance(0.5) {
		return Question{Text: m.say(fill, "how many {T}{c} {by}", "how many {T} are there{c} {by}", "how many {T} do we have{c} {by}", "{T}{c} {by}", "how many {T} does each {g} have{c}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "{l} {a}{c} {by}", "{by} {l} {a}{c}", "{a}{c} {by}", "{l} {a} {by}{c}", "{a} {by}{c}", "show {g} and {a}{c}", "list each {g} and its {a}{c}"), Query: q}, true
}

// most are words for the greatest and least of a figure.
var most, least = []string{"most", "highest", "largest", "greatest", "biggest", "top"}, []string{"least", "lowest", "smallest", "fewest"}

func (m *maker) topGroup(s subject) (Question, bool) {
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
	fill := map[string]string{"g": g.words, "G": plural(g.words), "w": w, "T": m.many(s.table), "n": strconv.Itoa(n), "c": c.words}
	var e ir.Expr
	if len(m.numbers[s.table]) == 0 || m.chance(0.55) {
		e, q.From = countExpr(), []int{s.table}
		fill["a"] = m.many(s.table)
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
			return Question{Text: m.say(fill, "which {g} has the {w} {a}{c} and what is it", "which {g} has the {w} {a}{c}, and how much", "show the {g} with the {w} {a}{c} and the {a}"), Query: q}, true
		}
		return Question{Text: m.say(fill, "top {n} {G} by {a}{c} with the {a}", "the {n} {G} with the {w} {a}{c} and their {a}"), Query: q}, desc
	}
	if n == 1 {
		return Question{Text: m.say(fill, "which {g} has the {w} {a}{c}", "what {g} has the {w} {a}{c}", "{g} with the {w} {a}{c}", "find the {g} with the {w} {a}{c}", "which {g} had the {w} {a}{c}", "what is the {g} with the {w} {a}{c}", "who has the {w} {a}{c}"), Query: q}, true
	}
	if !desc {
		return Question{Text: m.say(fill, "bottom {n} {G} by {a}{c}", "the {n} {G} with the {w} {a}{c}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "top {n} {G} by {a}{c}", "the {n} {G} with the {w} {a}{c}", "which {n} {G} have the {w} {a}{c}", "show the top {n} {G} by {a}{c}", "{n} {G} with the {w} {a}{c}"), Query: q}, true
}

func (m *maker) having(s subject) (Question, bool) {
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
	fill := map[string]string{"g": g.words, "G": plural(g.words), "w": cmp[1], "n": n, "T": m.many(s.table), "a": words, "l": pick(m, listLeads)}
	if e.Star {
		return Question{Text: m.say(fill, "which {G} have {w} {n} {T}", "{l} {G} with {w} {n} {T}", "{G} that have {w} {n} {T}", "find {G} with {w} {n} {T}", "who has {w} {n} {T}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "which {G} have {w} {n} {a}", "{l} {G} whose {a} is {w} {n}", "{G} with {a} {w} {n}", "{l} {G} with a {a} {w} {n}"), Query: q}, true
}

// superlative asks for the rows with the greatest or least of a column.
func (m *maker) superlative(s subject) (Question, bool) {
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
	fill := map[string]string{"t": m.one(s.table), "T": m.many(s.table), "o": m.columns(shown), "w": w, "a": m.column(i), "c": c.words, "n": said}
	if a, ok := m.adjectives(i); ok && m.chance(0.4) {
		fill["w"] = a[0]
		if !desc {
			fill["w"] = a[1]
		}
		if n == 1 {
			return Question{Text: m.say(fill, "what is the {o} of the {w} {t}{c}", "{o} of the {w} {t}{c}", "which {t} is the {w}{c}", "the {w} {t}{c}", "who is the {w} {t}{c}"), Query: m.onlyLabel(q, fill, label)}, true
		}
		return Question{Text: m.say(fill, "show the {o} of the {n} {w} {T}{c}", "the {n} {w} {T}{c}", "list the {n} {w} {T}{c}"), Query: m.onlyLabel(q, fill, label)}, true
	}
	onlyLabel := len(shown) == 1 && shown[0] == label
	switch {
	case n == 1 && onlyLabel:
		return Question{Text: m.say(fill, "which {t} has the {w} {a}{c}", "who has the {w} {a}{c}", "find the {t} with the {w} {a}{c}", "{t} with the {w} {a}{c}", "which {o} has the {w} {a}{c}", "what {o} had the {w} {a}{c}", "what is the {o} of the {t} with the {w} {a}{c}"), Query: q}, true
	case n == 1:
		return Question{Text: m.say(fill, "what is the {o} of the {t} with the {w} {a}{c}", "the {o} of the {t} with the {w} {a}{c}", "find the {o} of the {t} with {w} {a}{c}", "{o} of {t} with the {w} {a}{c}"), Query: q}, true
	case onlyLabel && desc:
		return Question{Text: m.say(fill, "top {n} {T} by {a}{c}", "the {n} {T} with the {w} {a}{c}", "list the {n} {T} with the {w} {a}{c}", "which {n} {T} have the {w} {a}{c}", "what are the {n} {T} with the {w} {a}{c}"), Query: q}, true
	case onlyLabel:
		return Question{Text: m.say(fill, "bottom {n} {T} by {a}{c}", "the {n} {T} with the {w} {a}{c}", "list the {n} {T} with the {w} {a}{c}", "which {n} {T} have the {w} {a}{c}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "show the {o} of the {n} {T} with the {w} {a}{c}", "{o} of the {n} {T} with the {w} {a}{c}", "list the {o} of the {n} {T} with the {w} {a}{c}"), Query: q}, true
}

// onlyLabel makes a query show the label of its rows; templates with an adjective do
// not always say what else.
func (m *maker) onlyLabel(q *ir.Query, fill map[string]string, label int) *ir.Query {
	if len(q.Items) == 1 && q.Items[0].Column == label {
		return q
	}
	fill["o"] = m.column(label)
	q.Items = columnExprs([]int{label})
	return q
}

// topOfEach asks for the first rows of each group.
func (m *maker) topOfEach(s subject) (Question, bool) {
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
	fill := map[string]string{"t": m.one(s.table), "T": m.many(s.table), "g": g.words, "w": w, "a": m.column(i), "n": strconv.Itoa(n)}
	if n == 1 {
		return Question{Text: m.say(fill, "which {t} has the {w} {a} in each {g}", "the {t} with the {w} {a} per {g}", "for each {g}, the {t} with the {w} {a}", "{t} with the {w} {a} for every {g}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "top {n} {T} by {a} in each {g}", "the {n} {T} with the {w} {a} per {g}", "for each {g} show the top {n} {T} by {a}"), Query: q}, desc
}

// absent asks for rows of one table with or without rows of another.
func (m *maker) absent(s subject) (Question, bool) {
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
	fill := map[string]string{"P": m.many(parent), "C": m.many(child), "c": m.one(child)}
	sub := cond(columnExpr(s.other.link.To), "in")
	sub.Sub = query(columnExpr(s.other.link.From))
	var words string
	if without {
		sub.Op = "notin"
		words = m.say(fill, "{P} do not have any {C}", "{P} have no {C}", "{P} without any {C}", "{P} that have never had a {c}", "{P} that do not have {C}", "{P} not associated with any {C}", "{P} with no {C}", "{P} never had {C}", "{P} don't have {C}", "{P} without {C}")
	} else {
		words = m.say(fill, "{P} that have {C}", "{P} with at least one {c}", "{P} that have any {C}", "{P} have {C}")
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

func (m *maker) distinct(s subject) (Question, bool) {
	if len(m.groups[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.groups[s.table])
	c := m.conditions(s.table, s.other, 0.3)
	q := query(columnExpr(i))
	q.Distinct, q.Where = true, c.conds
	return Question{Text: m.say(map[string]string{"d": pick(m, []string{"different", "distinct", "unique", "various"}), "C": plural(m.column(i)), "T": m.many(s.table), "c": c.words},
		"what are the {d} {C} of {T}{c}", "list all {d} {C}{c}", "show the {d} {C} of {T}{c}", "which {d} {C} are there{c}", "what {C} are there{c}", "all {d} {C}{c}", "which {C} do we have{c}"), Query: q}, true
}

func (m *maker) countDistinct(s subject) (Question, bool) {
	if len(m.groups[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.groups[s.table])
	c := m.conditions(s.table, s.other, 0.3)
	e := aggExpr("count", i)
	e.Distinct = true
	q := query(e)
	q.Where = c.conds
	return Question{Text: m.say(map[string]string{"d": pick(m, []string{"different", "distinct", "unique"}), "C": plural(m.column(i)), "T": m.many(s.table), "c": c.words},
		"how many {d} {C} are there{c}", "how many {d} {C} do {T} have{c}", "number of {d} {C}{c}", "count the {d} {C} of {T}{c}", "how many {d} {C}{c}"), Query: q}, true
}

func (m *maker) sorted(s subject) (Question, bool) {
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
	return Question{Text: pick(m, listLeads) + " " + m.columns(columns) + " of " + m.many(s.table) + c.words + pick(m, []string{", sorted by ", " ordered by ", " sort by ", ", in order of ", " sorted by "}) + m.column(i) + way, Query: q}, true
}

func (m *maker) setOperation(s subject) (Question, bool) {
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
	return Question{Text: m.say(map[string]string{"C": plural(m.column(i)), "T": m.many(s.table), "a": a.words, "w": joint, "U": pick(m, []string{"", "those", m.many(s.table)}), "b": b.words},
		"which {C} have {T} {a}{w}{U} {b}", "find the {C} that have {T} {a}{w}{U} {b}", "{C} with {T} {a}{w}{U} {b}"), Query: q}, true
}

func (m *maker) percentage(s subject) (Question, bool) {
	c, ok := m.condition(s.table, nil)
	if !ok || len(c.conds) != 1 || c.conds[0].Sub != nil {
		return Question{}, false
	}
	e := ir.Expr{Kind: "pct", Column: -1, Other: -1, Conds: c.conds}
	q := query(e)
	q.From = []int{s.table}
	by := ""
	if g, ok := m.group(subject{table: s.table}); ok && m.chance(0.25) && g.key.Column != c.conds[0].Left.Column {
		q.Items, q.Group, by = []ir.Expr{g.key, e}, []ir.Expr{g.key}, " "+m.by(g)
	}
	fill := map[string]string{"T": m.many(s.table), "c": " " + c.words, "b": by}
	if len(m.numbers[s.table]) > 0 && m.chance(0.3) {
		i := pick(m, m.numbers[s.table])
		e = aggExpr("sum", i)
		e.Kind, e.Conds = "pctof", c.conds
		q.Items[len(q.Items)-1], q.From = e, nil
		fill["a"] = m.column(i)
		return Question{Text: m.say(fill, "what percentage of {a} comes{c}{b}", "what share of the total {a} is{c}{b}", "percent of {a}{c}{b}", "what fraction of the {a} is{c}{b}", "share of {a}{c}{b}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "what percentage of {T} are{c}{b}", "what percent of {T}{c}{b}", "percentage of {T}{c}{b}", "what share of {T} is{c}{b}", "what is the percentage of {T}{c}{b}",
		"what proportion of {T}{c}{b}", "percent of {T} that are{c}{b}", "% of {T}{c}{b}", "how many percent of {T} are{c}{b}"), Query: q}, true
}

// share asks how much of the whole each group has.
func (m *maker) share(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	e, words := countExpr(), m.many(s.table)
	q := &ir.Query{Via: -1, From: []int{s.table}}
	if len(m.numbers[s.table]) > 0 && m.chance(0.7) {
		i := pick(m, m.numbers[s.table])
		e, words, q.From = aggExpr("sum", i), m.column(i), nil
	}
	e.Kind = "share"
	q.Items, q.Group = []ir.Expr{g.key, e}, []ir.Expr{g.key}
	return Question{Text: m.say(map[string]string{"a": words, "g": g.words, "by": m.by(g)},
		"share of {a} {by}", "what share of {a} does each {g} have", "percentage of total {a} {by}", "what percentage of {a} comes from each {g}", "{a} share {by}", "percent of {a} {by}", "distribution of {a} {by} in percent"), Query: q}, true
}

// twoSides compares a figure on two sides.
func (m *maker) twoSides(s subject) (Question, bool) {
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
	e, words, from := countExpr(), m.many(s.table), []int{s.table}
	if len(m.numbers[s.table]) > 0 && m.chance(0.6) {
		n := pick(m, m.numbers[s.table])
		e, words, from = aggExpr(pick(m, []string{"sum", "sum", "max", "avg"}), n), m.column(n), nil
		if e.Func == "avg" {
			words = "average " + words
		}
	}
	e.Kind, e.Conds = pick(m, []string{"ratio", "diff", "diff", "growth"}), conds
	q := query(e)
	q.From = from
	fill := map[string]string{"a": a, "b": b, "w": words}
	switch e.Kind {
	case "ratio":
		return Question{Text: m.say(fill, "what is the ratio of {a} to {b} {w}", "ratio of {w} in {a} to {b}", "ratio of {a} {w} to {b} {w}", "how does {w} in {a} compare to {b} as a ratio"), Query: q}, true
	case "growth":
		return Question{Text: m.say(fill, "growth of {w} from {a} to {b}", "by how many percent did {w} grow from {a} to {b}", "percent change in {w} between {a} and {b}", "how much did {w} increase from {a} to {b} in percent", "percentage growth in {w} {a} to {b}"), Query: q}, true
	}
	return Question{Text: m.say(fill, "what is the difference in {w} between {a} and {b}", "how many more {w} did {a} have than {b}", "how much more {w} does {a} have than {b}", "difference between the {w} of {a} and {b}", "{w} difference {a} vs {b}"), Query: q}, true
}

func (m *maker) columnRatio(s subject) (Question, bool) {
	n := m.numbers[s.table]
	if len(n) < 2 {
		return Question{}, false
	}
	i, j := pick(m, n), pick(m, n)
	if i == j {
		return Question{}, false
	}
	op, words := "over", m.say(map[string]string{"a": m.column(i), "b": m.column(j)}, "ratio of {a} to {b}", "{a} per {b}", "{a} divided by {b}")
	if m.chance(0.35) {
		op, words = "less", m.say(map[string]string{"a": m.column(i), "b": m.column(j)}, "difference between {a} and {b}", "{a} minus {b}")
	}
	e := columnExpr(i)
	e.Op, e.Other = op, j
	label := m.label[s.table]
	if label >= 0 && m.chance(0.5) {
		return Question{Text: m.say(map[string]string{"w": words, "t": m.one(s.table)}, "what is the {w} for each {t}", "{w} by {t}", "show the {w} for every {t}"), Query: query(columnExpr(label), e)}, true
	}
	a, b := aggExpr("sum", i), aggExpr("sum", j)
	a.Outer, a.Second = map[string]string{"over": "/", "less": "-"}[op], &b
	c := m.conditions(s.table, nil, 0.3)
	q := query(a)
	q.Where = c.conds
	return Question{Text: m.say(map[string]string{"w": words, "c": c.words}, "what is the overall {w}{c}", "total {w}{c}", "{w} in total{c}"), Query: q}, true
}

var periodNames = map[string][]string{"month": {"month"}, "year": {"year"}, "quarter": {"quarter"}, "week": {"week"}, "day": {"day", "date"}, "weekday": {"weekday", "day of the week"}, "hour": {"hour"}, "monthof": {"calendar month", "month of the year"}}

// byPeriod groups by a period of time.
func (m *maker) byPeriod(s subject) (Question, bool) {
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
	fill := map[string]string{"a": words, "f": said, "c": c.words, "T": m.many(s.table), "d": m.column(d), "l": pick(m, singleLeads)}
	if m.chance(0.25) && (unit != "hour") {
		q.Items, q.Order, q.Limit = []ir.Expr{key}, []ir.Sort{{By: e, Desc: true}}, 1
		if e.Star {
			return Question{Text: m.say(fill, "which {f} had the most {T}{c}", "in which {f} were there the most {T}{c}", "busiest {f}{c} by number of {T}", "what {f} saw the most {T}{c}"), Query: q}, true
		}
		return Question{Text: m.say(fill, "which {f} had the highest {a}{c}", "in which {f} was the {a} highest{c}", "best {f} by {a}{c}"), Query: q}, e.Func != "min" && e.Func != "max"
	}
	texts := []string{"{a} per {f}{c}", "{a} by {f}{c}", "what is the {a} for each {f}{c}", "show {a} in each {f}{c}", "{a} by {f} of {d}{c}", "{l} {a}{c} by {f}", "how did {a} develop by {f}{c}"}
	if unit == "month" || unit == "week" || unit == "day" || unit == "year" {
		texts = append(texts, "{f}ly {a}{c}", "{a} over time by {f}{c}")
	}
	text := m.say(fill, texts...)
	return Question{Text: strings.NewReplacer("dayly", "daily", "dately", "daily").Replace(text), Query: q}, true
}

func (m *maker) durations(s subject) (Question, bool) {
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
	fill := map[string]string{"a": f[1], "x": m.column(i), "y": m.column(j), "T": m.many(s.table), "p": ""}
	if g, ok := m.group(subject{table: s.table}); ok && m.chance(0.3) {
		q.Items, q.Group = []ir.Expr{g.key, e}, []ir.Expr{g.key}
		fill["p"] = " " + m.by(g)
	} else {
		c := m.conditions(s.table, nil, 0.3)
		q.Where, fill["p"] = c.conds, c.words
	}
	return Question{Text: m.say(fill, "{a} number of days between {x} and {y}{p}", "what is the {a} time from {x} to {y}{p}", "what is the {a} duration between {x} and {y} in days{p}", "{a} days from {x} to {y} of {T}{p}", "how long on {a} from {x} to {y}{p}"), Query: q}, true
}

// product asks for a price times a quantity.
func (m *maker) product(s subject) (Question, bool) {
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
			return Question{Text: m.say(fill, "{w} {by}", "what is the {w} {by}", "show {w} {by}"), Query: q}, true
		}
		q := query(g.key)
		q.Group, q.Order, q.Limit = []ir.Expr{g.key}, []ir.Sort{{By: e, Desc: true}}, 1
		return Question{Text: m.say(fill, "which {g} has the highest {w}", "{g} with the most {w}", "which {g} brought in the most {w}", "top {g} by {w}"), Query: q}, true
	}
	c := m.conditions(s.table, s.other, 0.4)
	q := query(e)
	q.Where, fill["c"] = c.conds, c.words
	return Question{Text: m.say(fill, "what is the {w}{c}", "{w}{c}", "how much {w} did we have{c}", "how much {w}{c}"), Query: q}, true
}

// howMuch asks how tall, old or expensive something is.
func (m *maker) howMuch(s subject) (Question, bool) {
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
		return Question{Text: m.say(map[string]string{"a": a[4], "v": v, "t": m.one(s.table)}, "how {a} is {v}", "how {a} was {v}", "how {a} is the {t} {v}"), Query: q}, true
	}
	return Question{}, false
}

// lookUp asks for a column of one thing.
func (m *maker) lookUp(s subject) (Question, bool) {
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
	return Question{Text: m.say(map[string]string{"a": m.column(i), "b": m.column(j), "v": m.cased(v)}, "what was the {b} for {v}", "what is the {b} of {v}", "{b} of {v}", "what {b} did {v} have", "which {b} is listed for {v}",
		"what is {v}'s {b}", "what is the {b} when the {a} is {v}", "who was the {b} for {v}", "{v} {b}", "tell me the {b} of {v}", "when was the {b} of {v}", "what {b} does {v} have"), Query: q}, true
}

// ofList asks of a table as of a list, where rows have an order.
func (m *maker) ofList(s subject) (Question, bool) {
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
			return Question{Text: m.say(fill, "what {a} comes after {v}", "who came next after {v}", "which {a} is listed after {v}", "what {a} is below {v}", "what is the next {a} after {v}", "which {a} follows {v}"), Query: q}, true
		}
		return Question{Text: m.say(fill, "what {a} comes before {v}", "who was before {v}", "which {a} is listed just before {v}", "what {a} is above {v}", "which {a} was previous to {v}", "what is listed directly above {v}"), Query: q}, true
	case 2, 3:
		desc := m.chance(0.5)
		c := m.conditions(t, nil, 0.3)
		fill["c"] = c.words
		q.Where, q.Order, q.Limit = c.conds, []ir.Sort{{By: ir.Expr{Kind: "rowid", Column: -1, Other: -1}, Desc: desc}}, 1
		if desc {
			return Question{Text: m.say(fill, "what is the last {a} listed{c}", "which {a} is at the bottom{c}", "what was the last {a}{c}", "who is the last {a} on the list{c}", "final {a} on the list{c}"), Query: q}, true
		}
		return Question{Text: m.say(fill, "what is the first {a} listed{c}", "which {a} is at the top of the table{c}", "who is listed first{c}", "what was the first {a}{c}"), Query: q}, true
	case 4:
		g := pick(m, m.texts[t])
		q = query(columnExpr(g))
		q.From, q.Group, q.Order, q.Limit = []int{t}, []ir.Expr{columnExpr(g)}, []ir.Sort{{By: countExpr(), Desc: true}}, 1
		fill["a"] = m.column(g)
		return Question{Text: m.say(fill, "which {a} appears the most", "what {a} is listed the most times", "which {a} occurs most often", "what {a} has the most entries", "most common {a}", "most frequent {a}"), Query: q}, true
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
	return Question{Text: m.say(fill, "who had {w} {b}, {v} or {u}", "which {a} has {w} {b}, {v} or {u}", "did {v} or {u} have {w} {b}"), Query: q}, true
}
