package synth

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// comparative has adjectives for columns: most, least, more, less and plain.
var comparative = []struct {
	name  *regexp.Regexp
	words [5]string
}{
	{regexp.MustCompile(`\bage\b`), [5]string{"oldest", "youngest", "older", "younger", "old"}},
	{regexp.MustCompile(`height|tall`), [5]string{"tallest", "shortest", "taller", "shorter", "tall"}},
	{regexp.MustCompile(`length|duration|distance|runtime|\blong`), [5]string{"longest", "shortest", "longer", "shorter", "long"}},
	{regexp.MustCompile(`weight|mass`), [5]string{"heaviest", "lightest", "heavier", "lighter", "heavy"}},
	{regexp.MustCompile(`price|cost|fare|fee`), [5]string{"most expensive", "cheapest", "more expensive", "cheaper", "expensive"}},
	{regexp.MustCompile(`speed|pace`), [5]string{"fastest", "slowest", "faster", "slower", "fast"}},
	{regexp.MustCompile(`population`), [5]string{"most populous", "least populous", "more populous", "less populous", "populous"}},
	{regexp.MustCompile(`area|size|capacity`), [5]string{"largest", "smallest", "larger", "smaller", "large"}},
	{regexp.MustCompile(`elevation|altitude`), [5]string{"highest", "lowest", "higher", "lower", "high"}},
	{regexp.MustCompile(`rating|score|points`), [5]string{"best", "worst", "better", "worse", "good"}},
	{regexp.MustCompile(`salary|income|wage`), [5]string{"best paid", "worst paid", "better paid", "worse paid", "well paid"}},
	{regexp.MustCompile(`depth`), [5]string{"deepest", "shallowest", "deeper", "shallower", "deep"}},
	{regexp.MustCompile(`revenue|sales|budget|amount|value|total`), [5]string{"biggest", "smallest", "bigger", "smaller", "big"}},
}

func (m *generator) adjectives(i int) ([5]string, bool) {
	for _, c := range comparative {
		if c.name.MatchString(m.name(i)) {
			return c.words, true
		}
	}
	return [5]string{}, false
}

// condition is a phrase that follows the name of a table, and its conditions.
type condition struct {
	words string
	conds []ir.Cond
}

func cond(left ir.Expr, op string, values ...ir.Value) ir.Cond {
	return ir.Cond{Left: left, Op: op, Values: values, Column: -1}
}

func text(s string) ir.Value   { return ir.Value{Text: s} }
func number(s string) ir.Value { return ir.Value{Kind: ir.NumberValue, Text: s} }
func period(s string) ir.Value { return ir.Value{Kind: ir.PeriodValue, Text: s} }

// condition generates a condition on a table, or on a linked one.
func (m *generator) condition(t int, other *neighbour) (condition, bool) {
	at, of := t, ""
	if other != nil && m.chance(0.5) {
		at = other.table
		of = pick(m, []string{m.singularName(at) + " ", m.singularName(at) + "'s ", ""})
	}
	var kinds []string
	add := func(kind string, times int, columns []int) {
		for range times {
			if len(columns) > 0 {
				kinds = append(kinds, kind)
			}
		}
	}
	add("equal", 5, m.texts[at])
	add("like", 1, m.texts[at])
	add("unequal", 1, m.texts[at])
	add("several", 1, m.texts[at])
	add("neither", 1, m.texts[at])
	add("compare", 4, m.numbers[at])
	add("between", 1, m.numbers[at])
	add("year", 2, m.years[at])
	add("date", 4, m.dates[at])
	add("flag", 2, m.flags[at])
	if at == t {
		add("average", 1, m.numbers[at])
	}
	if m.chance(0.4) {
		kinds = append(kinds, "null")
	}
	if len(kinds) == 0 {
		return condition{}, false
	}
	switch pick(m, kinds) {
	case "equal":
		return m.equal(at, of)
	case "like":
		return m.like(at, of)
	case "unequal":
		return m.unequal(at, of)
	case "several":
		return m.several(at, of)
	case "neither":
		return m.neither(at, of)
	case "compare":
		return m.compare(at, of)
	case "between":
		return m.between(at, of)
	case "year":
		return m.inYear(at)
	case "date":
		return m.inPeriod(at, of)
	case "flag":
		return m.flag(at)
	case "average":
		return m.average(at)
	}
	return m.null(at, of)
}

func (m *generator) cased(v string) string {
	switch {
	case m.chance(0.15):
		return `"` + v + `"`
	case m.chance(0.3):
		return strings.ToLower(v)
	}
	return v
}

func (m *generator) equal(t int, of string) (condition, bool) {
	i := pick(m, m.texts[t])
	v := m.value(i)
	words := m.fill(map[string]string{"o": of, "c": m.column(i), "v": m.cased(v)},
		"whose {o}{c} is {v}", "with {o}{c} {v}", "where {o}{c} is {v}", "in {v}", "from {v}", "for {v}", "that have {o}{c} {v}",
		"with {v} {o}{c}", "in the {v} {o}{c}", "of {o}{c} {v}", "with {v} as {o}{c}", "by {v}", "on {v}", "at {v}", "that are {v}", "marked {v}", "({v})", "to {v}")
	return condition{words, []ir.Cond{cond(columnExpr(i), "=", text(v))}}, v != ""
}

func (m *generator) like(t int, of string) (condition, bool) {
	i := pick(m, m.texts[t])
	var words []string
	for _, w := range strings.Fields(m.value(i)) {
		if len(w) > 2 && strings.IndexFunc(w, func(r rune) bool { return r < 'A' || r > 'z' }) < 0 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return condition{}, false
	}
	w := pick(m, words)
	said := m.fill(map[string]string{"w": w}, `"{w}"`, "'{w}'", "{w}", "the word {w}")
	return condition{m.fill(map[string]string{"o": of, "c": m.column(i), "w": said},
		"whose {o}{c} contains {w}", "with a {o}{c} containing {w}", "where {o}{c} includes {w}", "with {w} in the {o}{c}", "that mention {w} in {o}{c}"),
		[]ir.Cond{cond(columnExpr(i), "like", text(w))}}, true
}

func (m *generator) unequal(t int, of string) (condition, bool) {
	i := pick(m, m.texts[t])
	v := m.value(i)
	return condition{m.fill(map[string]string{"o": of, "c": m.column(i), "v": m.cased(v)},
		"whose {o}{c} is not {v}", "with {o}{c} other than {v}", "where {o}{c} is not {v}", "excluding {o}{c} {v}", "except {v}", "not in {v}", "outside {v}", "that are not {v}"),
		[]ir.Cond{cond(columnExpr(i), "!=", text(v))}}, v != ""
}

// values picks two or three values of a column, fewer if it has fewer.
func (m *generator) values(i int) []string {
	var all []string
	for range 2 + m.rng.IntN(2) {
		if v := m.value(i); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return all
}

// neither generates a condition that excludes two or three values.
func (m *generator) neither(t int, of string) (condition, bool) {
	i := pick(m, m.texts[t])
	said := m.values(i)
	if len(said) < 2 {
		return condition{}, false
	}
	var conds []ir.Cond
	for _, v := range said {
		conds = append(conds, cond(columnExpr(i), "!=", text(v)))
	}
	list, last := strings.Join(said[:len(said)-1], ", "), said[len(said)-1]
	return condition{m.fill(map[string]string{"o": of, "c": m.column(i), "a": list, "b": last},
		"not in {a} or {b}", "not from {a} or {b}", "that are neither {a} nor {b}", "in neither {a} nor {b}", "whose {o}{c} is neither {a} nor {b}", "with {o}{c} other than {a} or {b}",
		"except {a} and {b}", "excluding {a} and {b}", "whose {o}{c} is not {a} or {b}", "not {a} or {b}", "not {a} and not {b}", "without {a} and {b}", "where {o}{c} is not {a} nor {b}"), conds}, true
}

// several generates a condition with two or three alternative values.
func (m *generator) several(t int, of string) (condition, bool) {
	i := pick(m, m.texts[t])
	said := m.values(i)
	if len(said) < 2 {
		return condition{}, false
	}
	var conds []ir.Cond
	for k, v := range said {
		c := cond(columnExpr(i), "=", text(v))
		c.Or = k > 0
		conds = append(conds, c)
	}
	list := strings.Join(said[:len(said)-1], ", ") + pick(m, []string{" or ", " or ", " and "}) + said[len(said)-1]
	return condition{m.fill(map[string]string{"o": of, "c": m.column(i), "v": list},
		"in {v}", "from {v}", "whose {o}{c} is {v}", "with {o}{c} {v}", "for {v}", "with {o}{c} either {v}"), conds}, true
}

// someNumber picks a number near the values of a column.
func (m *generator) someNumber(i int) string {
	x, ok := catalog.ParseNumber(m.value(i))
	if !ok {
		x = pick(m, []float64{1, 2, 3, 5, 10, 20, 50, 100, 1000, 2000})
	}
	if m.chance(0.4) {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 1, 64), 64)
	}
	if x < 0 {
		x = -x
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

var comparisons = [][2]string{{">", "more than"}, {">", "greater than"}, {">", "over"}, {">", "above"}, {">", "higher than"}, {">", "larger than"},
	{"<", "less than"}, {"<", "below"}, {"<", "under"}, {"<", "lower than"}, {"<", "fewer than"}, {">=", "at least"}, {"<=", "at most"},
	{">=", "no less than"}, {"=", "exactly"}, {"=", "equal to"}, {"<", "smaller than"}, {"<=", "up to"}, {">", "exceeding"}, {"<=", "no more than"}, {">=", "or more"}, {"=", ""}}

func (m *generator) compare(t int, of string) (condition, bool) {
	i := pick(m, m.numbers[t])
	n := m.someNumber(i)
	if a, ok := m.adjectives(i); ok && m.chance(0.4) {
		op, w := ">", a[2]
		if m.chance(0.5) {
			op, w = "<", a[3]
		}
		return condition{m.fill(map[string]string{"w": w, "n": n}, "{w} than {n}", "that are {w} than {n}"), []ir.Cond{cond(columnExpr(i), op, number(n))}}, true
	}
	spoken := n
	if other, words, ok := m.inUnit(i); ok && m.chance(0.5) {
		n, spoken = other, words
	}
	c := pick(m, comparisons)
	said := c[1] + " " + spoken
	if c[1] == "or more" {
		said = spoken + " or more"
	}
	words := m.fill(map[string]string{"o": of, "c": m.column(i), "w": said},
		"with {o}{c} {w}", "whose {o}{c} is {w}", "where {o}{c} is {w}", "that have a {o}{c} {w}", "with {w} {c}", "having {w} {c}", "with a {c} of {w}", "where the {c} is {w}")
	return condition{words, []ir.Cond{cond(columnExpr(i), c[0], number(n))}}, true
}

func (m *generator) between(t int, of string) (condition, bool) {
	i := pick(m, m.numbers[t])
	a, b := m.someNumber(i), m.someNumber(i)
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	if x > y {
		a, b = b, a
	}
	return condition{m.fill(map[string]string{"o": of, "c": m.column(i), "a": a, "b": b},
		"with {o}{c} between {a} and {b}", "whose {o}{c} is between {a} and {b}", "with {o}{c} from {a} to {b}"),
		[]ir.Cond{cond(columnExpr(i), "between", number(a), number(b))}}, x != y
}

// flag generates a condition on a boolean column.
func (m *generator) flag(t int) (condition, bool) {
	i := pick(m, m.flags[t])
	words := m.cat.Columns[i].Words
	if len(words) > 1 && (words[0] == "is" || words[0] == "has" || words[0] == "was") {
		words = words[1:]
	}
	name := strings.Join(words, " ")
	yes := m.chance(0.6)
	value := ir.Value{Kind: ir.BoolValue, Text: "true"}
	said := m.fill(map[string]string{"c": name}, "that are {c}", "which are {c}", "with {c}", "that have {c}", "where {c} is true", "where {c} is yes")
	if !yes {
		value.Text = "false"
		said = m.fill(map[string]string{"c": name}, "that are not {c}", "without {c}", "that have no {c}", "where {c} is false", "where {c} is no", "not {c}")
	}
	return condition{said, []ir.Cond{cond(columnExpr(i), "=", value)}}, true
}

// average generates a comparison with the average of all rows.
func (m *generator) average(t int) (condition, bool) {
	i := pick(m, m.numbers[t])
	c := pick(m, [][2]string{{">", "above"}, {">", "more than"}, {">", "higher than"}, {"<", "below"}, {"<", "lower than"}, {"<", "less than"}})
	words := m.fill(map[string]string{"c": m.column(i), "w": c[1]},
		"whose {c} is {w} the average", "with {c} {w} average", "with {w} average {c}", "with a {c} {w} the mean {c}", "with {w}-average {c}")
	sub := cond(columnExpr(i), c[0])
	sub.Sub = query(aggExpr("avg", i))
	return condition{words, []ir.Cond{sub}}, true
}

func (m *generator) null(t int, of string) (condition, bool) {
	i := pick(m, m.cat.Tables[t].Columns)
	if m.cat.Tables[t].Key == i {
		return condition{}, false
	}
	words := map[string]string{"o": of, "c": m.column(i)}
	if m.chance(0.7) {
		return condition{m.fill(words, "with no {o}{c}", "without a {o}{c}", "with missing {o}{c}", "whose {o}{c} is missing", "where {o}{c} is unknown",
			"that have no {o}{c} recorded", "with null {o}{c}", "where {o}{c} is empty", "that don't have a {c}", "lacking a {c}", "with no {c} on file"),
			[]ir.Cond{cond(columnExpr(i), "isnull")}}, true
	}
	return condition{m.fill(words, "that have a {o}{c}", "where {o}{c} is known", "with a recorded {o}{c}", "whose {o}{c} is not null", "that have any {c}"),
		[]ir.Cond{cond(columnExpr(i), "notnull")}}, true
}

// conditions generates up to two conditions.
func (m *generator) conditions(t int, other *neighbour, often float64) condition {
	if !m.chance(often) {
		return condition{}
	}
	a, ok := m.condition(t, other)
	if !ok {
		return condition{}
	}
	a.words = " " + a.words
	if !m.chance(0.22) {
		return a
	}
	b, ok := m.condition(t, other)
	if !ok || b.conds[0].Left.Column == a.conds[0].Left.Column {
		return a
	}
	word := "and"
	if m.chance(0.2) && len(a.conds) == 1 && len(b.conds) == 1 {
		word = "or"
	}
	b.conds[0].Or = word == "or"
	return condition{a.words + " " + word + " " + b.words, append(a.conds, b.conds...)}
}
