package synth

import (
	"slices"
	"strconv"

	"parley/llm/reader/ir"
)

// ordinalWords and digits have the ordinals in words and digits, from second on.
var (
	ordinalWords  = []string{"second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	ordinalDigits = []string{"2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th"}
	rankWords     = []string{"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
)

// ordinal picks a number from 2 on, mostly a small one, and its ordinal: second, 2nd.
func (m *generator) ordinal() (n int, said string) {
	n = pick(m, []int{2, 2, 2, 2, 3, 3, 3, 4, 5, 2 + m.rng.IntN(9)})
	if m.chance(0.35) {
		return n, ordinalDigits[n-2]
	}
	return n, ordinalWords[n-2]
}

// ranked has the phrases of a question for the nth of something.
func (m *generator) ranked(n int, ordinal string, desc bool) map[string]string {
	w := pick(m, []string{"highest", "largest", "greatest", "most", "biggest", "best"})
	if !desc {
		w = pick(m, []string{"lowest", "smallest", "least"})
	}
	number := rankWords[n-2]
	if m.chance(0.4) {
		number = strconv.Itoa(n)
	}
	return map[string]string{"k": ordinal, "n": number, "kw": ordinal + pick(m, []string{" ", " ", "-"}) + w}
}

// nth asks for the second, third or later row of an order.
func (m *generator) nth(s subject) (Question, bool) {
	switch m.rng.IntN(8) {
	case 0, 1:
		return m.nthGroup(s)
	case 2:
		return m.nthValue(s)
	case 3:
		return m.nthOfEach(s)
	}
	return m.nthRow(s)
}

// nthRow asks which row is the nth by a column.
func (m *generator) nthRow(s subject) (Question, bool) {
	label := m.label[s.table]
	options := slices.Concat(m.numbers[s.table], m.numbers[s.table], m.dates[s.table], m.years[s.table])
	if label < 0 || len(options) == 0 {
		return Question{}, false
	}
	i := pick(m, options)
	n, k := m.ordinal()
	desc := m.chance(0.7)
	c := m.conditions(s.table, s.other, 0.25)
	q := query(columnExpr(label))
	q.Where, q.Order, q.Limit, q.Nth = c.conds, []ir.Sort{{By: columnExpr(i), Desc: desc}}, 1, n
	fill := m.ranked(n, k, desc)
	fill["t"], fill["a"], fill["o"], fill["c"] = m.singularName(s.table), m.column(i), m.column(label), c.words
	texts := []string{"which {t} has the {kw} {a}{c}", "who has the {kw} {a}{c}", "{t} with the {kw} {a}{c}", "find the {t} with the {kw} {a}{c}", "the {kw} {t} by {a}{c}",
		"what is the {o} of the {t} with the {kw} {a}{c}", "which {o} has the {kw} {a}{c}", "show the {kw} {t} by {a}{c}"}
	dated := slices.Contains(m.dates[s.table], i) || slices.Contains(m.years[s.table], i)
	switch a, ok := m.adjectives(i); {
	case dated:
		fill["w"] = pick(m, []string{"most recent", "latest", "newest"})
		texts = []string{"the {k} {w} {t}{c}", "which {t} has the {k} {w} {a}{c}", "{k} {w} {t} by {a}{c}", "the {t} with the {k} {w} {a}{c}"}
		if desc {
			texts = append(texts, "the {k} to last {t} by {a}{c}", "{k} to last {t}{c}", "which {t} is {k} to last by {a}{c}", "the {k}-last {t} by {a}{c}")
			break
		}
		fill["w"] = pick(m, []string{"earliest", "oldest"})
		texts = append(texts, "the {k} {t} by {a}{c}", "which {t} was the {k}{c}", "what was the {k} {t} by {a}{c}")
	case ok && m.chance(0.5):
		fill["w"] = a[0]
		if !desc {
			fill["w"] = a[1]
		}
		texts = []string{"which {t} is the {k} {w}{c}", "the {k} {w} {t}{c}", "{k}-{w} {t}{c}", "what is the {k} {w} {t}{c}", "who is the {k} {w} {t}{c}", "{o} of the {k} {w} {t}{c}"}
	case desc && m.chance(0.4):
		texts = m.places(n)
	case !desc && m.chance(0.15):
		texts = []string{"which {t} is {k} to last by {a}{c}", "{t} in {k} to last place by {a}{c}", "the {k} from the bottom by {a}{c}"}
	}
	return Question{Text: m.fill(fill, texts...), Query: q}, true
}

// places has questions for a position in a ranking.
func (m *generator) places(n int) []string {
	texts := []string{"number {n} {t} by {a}{c}", "who is number {n} by {a}{c}", "which {t} is number {n} in {a}{c}", "which {t} ranks {k} by {a}{c}", "{t} ranked {k} in {a}{c}",
		"which {t} came {k} in {a}{c}", "which {t} is in {k} place by {a}{c}", "who is {k} by {a}{c}", "who came in {k} by {a}{c}"}
	if n == 2 {
		texts = append(texts, "the runner-up by {a}{c}", "which {t} is the runner-up in {a}{c}", "who is the runner up by {a}{c}", "runner-up {t} by {a}{c}")
	}
	return texts
}

// nthValue asks for the nth distinct value of a column.
func (m *generator) nthValue(s subject) (Question, bool) {
	if len(m.numbers[s.table]) == 0 {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	n, k := m.ordinal()
	desc := m.chance(0.75)
	c := m.conditions(s.table, s.other, 0.3)
	q := query(columnExpr(i))
	q.Distinct, q.Where, q.Order, q.Limit, q.Nth = true, c.conds, []ir.Sort{{By: columnExpr(i), Desc: desc}}, 1, n
	fill := m.ranked(n, k, desc)
	fill["l"], fill["a"], fill["T"], fill["c"] = pick(m, singleLeads), m.column(i), m.pluralName(s.table), c.words
	return Question{Text: m.fill(fill, "{l} {kw} {a}{c}", "{l} {kw} {a} of {T}{c}", "what is the {kw} {a}{c}", "{l} {kw} {a} among {T}{c}"), Query: q}, true
}

// nthGroup asks which group is the nth by a measure.
func (m *generator) nthGroup(s subject) (Question, bool) {
	g, ok := m.group(s)
	if !ok {
		return Question{}, false
	}
	n, k := m.ordinal()
	desc := m.chance(0.8)
	c := m.conditions(s.table, nil, 0.2)
	q := query(g.key)
	q.Group, q.Where = []ir.Expr{g.key}, c.conds
	fill := m.ranked(n, k, desc)
	fill["g"], fill["t"], fill["c"] = g.words, g.words, c.words
	var e ir.Expr
	if len(m.numbers[s.table]) == 0 || m.chance(0.5) {
		e, q.From, fill["a"] = countExpr(), []int{s.table}, "number of "+m.pluralName(s.table)
		if m.chance(0.5) {
			fill["a"], fill["kw"] = m.pluralName(s.table), k+" "+map[bool]string{true: "most", false: pick(m, []string{"fewest", "least"})}[desc]
		}
	} else {
		fill["a"], e = m.aggregate(pick(m, m.numbers[s.table]))
		if e.Func == "max" || e.Func == "min" {
			return Question{}, false
		}
	}
	q.Order, q.Limit, q.Nth = []ir.Sort{{By: e, Desc: desc}}, 1, n
	texts := []string{"which {g} has the {kw} {a}{c}", "what {g} has the {kw} {a}{c}", "{g} with the {kw} {a}{c}", "find the {g} with the {kw} {a}{c}", "which {g} had the {kw} {a}{c}"}
	if desc && m.chance(0.25) {
		texts = m.places(n)
	}
	return Question{Text: m.fill(fill, texts...), Query: q}, true
}

// nthOfEach asks for the nth row of each group.
func (m *generator) nthOfEach(s subject) (Question, bool) {
	label := m.label[s.table]
	g, ok := m.group(s)
	if !ok || label < 0 || len(m.numbers[s.table]) == 0 || g.key.Column == label {
		return Question{}, false
	}
	i := pick(m, m.numbers[s.table])
	n, k := m.ordinal()
	desc := m.chance(0.8)
	q := query(g.key, columnExpr(label))
	q.Order, q.Limit, q.Nth, q.Each = []ir.Sort{{By: columnExpr(i), Desc: desc}}, 1, n, &g.key
	fill := m.ranked(n, k, desc)
	fill["t"], fill["g"], fill["a"] = m.singularName(s.table), g.words, m.column(i)
	return Question{Text: m.fill(fill, "which {t} has the {kw} {a} in each {g}", "the {t} with the {kw} {a} per {g}", "for each {g}, the {t} with the {kw} {a}", "{t} with the {kw} {a} for every {g}"), Query: q}, true
}

// otherPlace asks for another position in the order of a query for one row.
func (m *generator) otherPlace(q *ir.Query) (string, bool) {
	n, k := m.ordinal()
	if n == q.Nth {
		return "", false
	}
	q.Nth = n
	return m.fill(m.ranked(n, k, true), "and the {k}", "what about the {k}", "who is {k}", "and number {n}", "and the {k} one", "which is the {k}", "and in {k} place", "the {k}", "what is the {k} one"), true
}
