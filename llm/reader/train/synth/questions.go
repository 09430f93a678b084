package synth

import (
	"slices"
)

// subject is the table of a question, and a linked one if it needs it.
type subject struct {
	table int
	other *neighbour
}

// kinds has the kinds of questions and their frequencies.
var kinds = []struct {
	weight int
	make   func(*generator, subject) (Question, bool)
}{
	{10, (*generator).count}, {13, (*generator).list}, {9, (*generator).figure}, {4, (*generator).figures}, {15, (*generator).grouped}, {9, (*generator).superlative}, {5, (*generator).nth},
	{8, (*generator).topGroup}, {5, (*generator).having}, {4, (*generator).absent}, {4, (*generator).distinct}, {4, (*generator).countDistinct}, {4, (*generator).sorted},
	{2, (*generator).setOperation}, {4, (*generator).percentage}, {2, (*generator).share}, {3, (*generator).twoSides}, {2, (*generator).columnRatio}, {6, (*generator).byPeriod},
	{2, (*generator).durations}, {3, (*generator).product}, {2, (*generator).howMuch}, {3, (*generator).topOfEach}, {6, (*generator).lookUp}, {8, (*generator).ofList},
	{3, (*generator).bothSides}, {2, (*generator).together}, {3, (*generator).ofGroups}, {2, (*generator).oftener}, {1, (*generator).span}, {1, (*generator).byDecade},
}

var kindTotal = func() int {
	n := 0
	for _, k := range kinds {
		n += k.weight
	}
	return n
}()

// question generates a question of a random kind.
func (m *generator) question() (Question, bool) {
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

func (m *generator) count(s subject) (Question, bool) {
	c := m.conditions(s.table, s.other, 0.85)
	q := query(countExpr())
	q.From, q.Where = []int{s.table}, c.conds
	return Question{Text: m.fill(map[string]string{"T": m.pluralName(s.table), "c": c.words},
		"how many {T} are there{c}", "how many {T}{c}", "number of {T}{c}", "what is the number of {T}{c}", "count the {T}{c}", "what is the total number of {T}{c}",
		"how many {T} do we have{c}", "find the number of {T}{c}", "total number of {T}{c}", "how many {T}{c} are there", "count of {T}{c}", "how many {T} did we have{c}", "{T} count{c}", "how many {T} were there{c}"), Query: q}, true
}

// shownColumns picks the columns of a list.
func (m *generator) shownColumns(t int) []int {
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

func (m *generator) columns(all []int) string {
	words := make([]string, len(all))
	for k, i := range all {
		words[k] = m.column(i)
	}
	return m.join(words)
}

func (m *generator) list(s subject) (Question, bool) {
	c := m.conditions(s.table, s.other, 0.87)
	columns := m.shownColumns(s.table)
	if len(columns) == 0 {
		return Question{}, false
	}
	words := map[string]string{"l": pick(m, listLeads), "cc": m.columns(columns), "T": m.pluralName(s.table), "c": c.words}
	q := query(columnExprs(columns)...)
	q.Where = c.conds
	if label := m.label[s.table]; label >= 0 && c.words != "" && m.chance(0.2) {
		q.Items = columnExprs([]int{label})
		return Question{Text: m.fill(words, "show all {T}{c}", "list {T}{c}", "which {T} are{c}", "{T}{c}", "all {T}{c}", "which {T}{c}", "who are the {T}{c}", "show me {T}{c}"), Query: q}, true
	}
	return Question{Text: m.fill(words, "{l} {cc} of {T}{c}", "{l} {cc} of all {T}{c}", "{l} {cc} for {T}{c}", "{l} {T} {cc}{c}", "{l} {cc} of the {T}{c}", "{cc} of {T}{c}",
		"what {cc} do {T}{c} have", "which {cc} belong to {T}{c}", "{T}{c}: {cc}", "for {T}{c} show {cc}"), Query: q}, true
}
