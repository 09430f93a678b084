// Package synth generates questions with their queries from tables, by templates: many,
// simple, and of every kind that the language has. Turning them into training examples is
// left to the export command.
package synth

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/vectors"
)

// Question is a generated question. Its query has literal values.
type Question struct {
	Text  string
	Query *ir.Query
	// Before is the previous question of a follow-up; nil for none.
	Before *Question
}

// generator generates questions about one catalog.
type generator struct {
	cat *catalog.Catalog
	rng *rand.Rand
	// numbers, texts, dates and years have columns by table, groups those to group by, and
	// label the column that names a row, -1 for none.
	numbers, texts, dates, years, flags, groups [][]int
	label                                       []int
	usable                                      []int
	// named has the stems of all words in names.
	named map[string]bool
}

var (
	idName   = regexp.MustCompile(`(^|\b)(id|ids|code|key|zip|zipcode|phone|fax|uuid|ssn|isbn|number|no|index|#)$`)
	yearName = regexp.MustCompile(`\b(year|yr|season)\b`)
	nameName = regexp.MustCompile(`\b(name|title)\b`)
)

// New generates n questions about a catalog, fewer if it has too few columns.
func New(cat *catalog.Catalog, n int, seed uint64) []Question {
	m := newGenerator(cat, seed)
	if len(m.usable) == 0 {
		return nil
	}
	var all []Question
	for tries := 0; len(all) < n && tries < 5*n; tries++ {
		q, ok := m.question()
		if !ok || q.Query == nil {
			continue
		}
		q.Text = m.formatQuestion(q.Text)
		all = append(all, q)
		if m.chance(0.12) {
			if next, ok := m.follow(&q); ok {
				next.Text = m.formatQuestion(next.Text)
				all = append(all, next)
			}
		}
	}
	return all
}

func newGenerator(cat *catalog.Catalog, seed uint64) *generator {
	m := &generator{cat: cat, rng: rand.New(rand.NewPCG(seed, 7)), named: cat.NameStems()}
	n := len(cat.Tables)
	m.numbers, m.texts, m.dates, m.years = make([][]int, n), make([][]int, n), make([][]int, n), make([][]int, n)
	m.flags, m.groups, m.label = make([][]int, n), make([][]int, n), make([]int, n)
	for t := range cat.Tables {
		m.label[t] = -1
		for _, i := range cat.Tables[t].Columns {
			m.classifyColumn(t, i)
		}
		for _, i := range m.texts[t] {
			if m.label[t] < 0 || nameName.MatchString(m.name(i)) && !nameName.MatchString(m.name(m.label[t])) {
				m.label[t] = i
			}
		}
		for _, i := range m.texts[t] {
			if i != m.label[t] || len(m.texts[t]) == 1 {
				m.groups[t] = append(m.groups[t], i)
			}
		}
		m.groups[t] = append(append(m.groups[t], m.years[t]...), m.flags[t]...)
		if len(m.texts[t])+len(m.numbers[t]) > 0 {
			m.usable = append(m.usable, t)
		}
	}
	return m
}

// classifyColumn adds a column to the lists of its role.
func (m *generator) classifyColumn(t, i int) {
	c := &m.cat.Columns[i]
	key := m.cat.Tables[t].Key == i || m.cat.IsReference(i) || idName.MatchString(m.name(i))
	switch {
	case c.Kind == catalog.Date:
		m.dates[t] = append(m.dates[t], i)
	case c.Kind == catalog.Number && yearName.MatchString(m.name(i)):
		m.years[t] = append(m.years[t], i)
	case c.Kind == catalog.Number && !key:
		m.numbers[t] = append(m.numbers[t], i)
	case c.Kind != catalog.Number && c.IsBoolean():
		m.flags[t] = append(m.flags[t], i)
	case c.Kind == catalog.Text && !m.cat.IsReference(i) && (!key || m.cat.Tables[t].Key != i):
		m.texts[t] = append(m.texts[t], i)
	}
}

func (m *generator) name(column int) string { return strings.Join(m.cat.Columns[column].Words, " ") }

func (m *generator) chance(p float64) bool { return m.rng.Float64() < p }

func pick[T any](m *generator, options []T) T { return options[m.rng.IntN(len(options))] }

// fill picks one of some sentences and replaces placeholders such as {T}.
func (m *generator) fill(words map[string]string, sentences ...string) string {
	s := pick(m, sentences)
	for key, w := range words {
		s = strings.ReplaceAll(s, "{"+key+"}", w)
	}
	return s
}

// swapProbability is the probability of replacing a word of a name by a similar one.
const swapProbability = 0.1

var nearWords sync.Map

// similarWord returns a similar word, or the word itself; always itself for units.
func (m *generator) similarWord(word string) string {
	if catalog.StopWords[word] || len(word) < 4 || catalog.Unit(word) != "" || !m.chance(swapProbability) {
		return word
	}
	near, ok := nearWords.Load(word)
	if !ok {
		near = vectors.Load().Near(word, 4, 0.62)
		nearWords.Store(word, near)
	}
	words := slices.DeleteFunc(slices.Clone(near.([]string)), func(w string) bool {
		return m.named[catalog.Stem(w)] || strings.IndexFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0
	})
	if len(words) == 0 {
		return word
	}
	return pick(m, words)
}

// column phrases a column.
func (m *generator) column(i int) string {
	words := slices.Clone(m.cat.Columns[i].Words)
	if len(words) > 1 && m.chance(0.3) {
		table := catalog.Stems(m.cat.Tables[m.cat.Columns[i].Table].Words)
		if slices.Contains(table, catalog.Stem(words[0])) {
			words = words[1:]
		}
	}
	for k, w := range words {
		words[k] = m.similarWord(w)
	}
	return strings.Join(words, " ")
}

// singularName and many phrase a table.
func (m *generator) singularName(t int) string {
	table := &m.cat.Tables[t]
	if len(m.cat.Tables) == 1 && len(table.Name) < 3 {
		return pick(m, []string{"row", "entry", "record", "item"})
	}
	words := slices.Clone(table.Words)
	words[len(words)-1] = singular(m.similarWord(words[len(words)-1]))
	return strings.Join(words, " ")
}

func (m *generator) pluralName(t int) string { return plural(m.singularName(t)) }

func singular(w string) string {
	switch {
	case strings.HasSuffix(w, "ies") && len(w) > 4:
		return w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		return w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") && len(w) > 3:
		return w[:len(w)-1]
	}
	return w
}

func plural(w string) string {
	switch {
	case strings.HasSuffix(w, "s"):
		return w
	case strings.HasSuffix(w, "y") && len(w) > 1 && !strings.ContainsRune("aeiou", rune(w[len(w)-2])):
		return w[:len(w)-1] + "ies"
	case strings.HasSuffix(w, "ch"), strings.HasSuffix(w, "sh"), strings.HasSuffix(w, "x"), strings.HasSuffix(w, "ss"):
		return w + "es"
	}
	return w + "s"
}

// value picks a value of a column that fits into a question; "" for none.
func (m *generator) value(i int) string {
	values := m.cat.Columns[i].Values
	for range 4 {
		if len(values) == 0 {
			return ""
		}
		if v := strings.TrimSpace(pick(m, values)); v != "" && len(v) < 50 && !catalog.IsMissing(v) {
			return v
		}
	}
	return ""
}

// neighbour is a table that a link connects with another.
type neighbour struct {
	table int
	// one says that a row of the first table refers to one row of this table.
	one  bool
	link catalog.Link
}

func (m *generator) neighbours(t int) []neighbour {
	var all []neighbour
	for _, l := range m.cat.Links {
		a, b := m.cat.Columns[l.From].Table, m.cat.Columns[l.To].Table
		switch {
		case a == b:
		case a == t:
			all = append(all, neighbour{b, true, l})
		case b == t:
			all = append(all, neighbour{a, false, l})
		}
	}
	return all
}

var spaces = regexp.MustCompile(`\s+`)

// formatQuestion adds a capital letter and punctuation, or leaves them out, at random.
func (m *generator) formatQuestion(text string) string {
	text = strings.TrimSpace(spaces.ReplaceAllString(text, " "))
	if text == "" {
		return text
	}
	switch {
	case m.chance(0.6):
		r := []rune(text)
		r[0] = unicode.ToUpper(r[0])
		return string(r) + pick(m, []string{"?", "?", ".", "", " ?"})
	case m.chance(0.2):
		return strings.ToLower(text)
	}
	return text
}

// join lists phrases.
func (m *generator) join(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return strings.Join(all[:len(all)-1], ", ") + pick(m, []string{" and ", ", ", " and ", ", and "}) + all[len(all)-1]
}

func columnExpr(i int) ir.Expr { return ir.Expr{Kind: "column", Column: i, Other: -1} }

func columnExprs(columns []int) []ir.Expr {
	all := make([]ir.Expr, len(columns))
	for k, i := range columns {
		all[k] = columnExpr(i)
	}
	return all
}

func aggExpr(f string, i int) ir.Expr { return ir.Expr{Kind: "agg", Func: f, Column: i, Other: -1} }

func countExpr() ir.Expr {
	return ir.Expr{Kind: "agg", Func: "count", Star: true, Column: -1, Other: -1}
}

func query(items ...ir.Expr) *ir.Query { return &ir.Query{Items: items, Via: -1} }
