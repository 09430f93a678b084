package rules

import (
	"slices"
	"strings"
)

// readChanges reads "how did revenue change from 2024 to 2025", "compare 2024 and
// 2025" and "is revenue growing": a figure of each year, and how it changed.
func (r *reader) readChanges() {
	if r.solo() || len(r.q.groups) > 0 || r.q.groupTable != nil {
		return
	}
	word := r.changeWord()
	if word < 0 {
		return
	}
	years, at := r.yearsSaid()
	if len(years) == 1 || len(years) == 0 && wordIs(r.lower(word), "more", "less", "fewer", "better", "worse", "compare", "compared", "vs", "versus", "difference") {
		return
	}
	figure, end := r.changing()
	if end < 0 {
		return
	}
	date := r.dateIn(figure)
	if date == nil {
		return
	}
	span := date.by("year")
	r.q.main = date.table
	r.q.groups = append(r.q.groups, span)
	r.q.items = append(r.q.items, item{column: span}, figure, item{agg: "change", figure: &figure, by: span})
	r.takeAll(word, word+1)
	r.takeWords("over", "time", "years", "year", "develop", "developed", "vs", "versus", "compared", "between", "from", "to", "and", "or", "with")
	if len(years) > 0 {
		r.q.conds = append(r.q.conds, r.inYears(date, years, at[0]))
		for _, i := range at {
			r.take(i, i+1)
		}
	}
	r.chosen, r.event = true, date.table
	r.note("for each year of " + date.name)
}

// changeWord is where a word asks how figures differ over time; -1 when none does.
func (r *reader) changeWord() int {
	for i := range r.tokens {
		if wordIs(r.lower(i), "change", "changed", "compare", "compared", "growing", "grow", "growth", "grew", "grown", "shrinking", "develop", "developed", "trend",
			"increase", "increased", "increasing", "decrease", "decreased", "vs", "versus", "difference", "more", "less", "fewer", "better", "worse") &&
			r.linkAt(i) == nil && !r.taken(i) && r.lower(i+1) != "than" {
			return i
		}
	}
	return -1
}

// yearsSaid are the years of the question, with where they stand.
func (r *reader) yearsSaid() (years []int, at []int) {
	for i, t := range r.tokens {
		if t.isNumber && yearLike(t.number) && !r.taken(i) {
			years, at = append(years, int(t.number)), append(at, i)
		}
	}
	return years, at
}

// changing is the figure whose change is asked for, which is marked as understood;
// -1 when there is none.
func (r *reader) changing() (item, int) {
	for _, k := range r.links {
		if !r.free(k) || len(k.values) > 0 && r.isValueOnly(k) {
			continue
		}
		if r.isTable(k) == nil && r.isMeasure(k) {
			r.takeLink(k)
			r.takeWords("total", "our", "average")
			agg := "sum"
			if r.find("average|mean") > 0 {
				agg = "avg"
			} else if !r.addsUp(k, r.measureOf(k)) {
				continue
			}
			return item{agg: agg, column: r.measureOf(k)}, k.to
		}
		if c := r.amountSaid(k); c != nil {
			r.takeLink(k)
			return item{agg: "sum", column: c}, k.to // "did we harvest more"
		}
		if t := r.isTable(k); t != nil && r.asHappening(t) != nil {
			r.takeLink(k)
			if end := r.find("number of"); end > 0 {
				r.take(end-2, end)
			}
			return item{agg: "count", table: t}, k.to
		}
	}
	h := r.happeningOf(nil)
	verb := r.verbAfter(0, tradeVerbs+"|"+moneyVerbs)
	if h == nil || verb < 0 {
		return item{}, -1
	}
	r.takeAll(verb, verb+1)
	if h.money != nil {
		return h.worth(verb), verb + 1
	}
	return h.pieces(verb), verb + 1
}

// dateIn is the date of the rows that a figure is of; nil when they have none.
func (r *reader) dateIn(figure item) *column {
	t := figure.table
	if figure.column != nil {
		t = figure.column.table
	}
	i := slices.IndexFunc(t.columns, func(c *column) bool { return c.kind == kindDate })
	if i < 0 {
		return nil
	}
	return t.columns[i]
}

// inYears is the condition that a date is in one of some years.
func (r *reader) inYears(c *column, years []int, at int) cond {
	return cond{column: c, op: "sql", at: at, end: at + 1, sql: func(ref string) string {
		var texts []string
		for _, y := range years {
			texts = append(texts, number(float64(y)))
		}
		return "year(" + c.dated(ref) + ") IN (" + strings.Join(texts, ", ") + ")"
	}}
}

// addingWords are words of figures that make sense added up, whatever they are
// of; a price or a rating does not.
var addingWords = set("revenue turnover sale sales income profit earning earnings spending takings quantity unit units volume")

// addsUp reports whether figures of a column, as a link calls it, make sense added
// up.
func (r *reader) addsUp(k *link, c *column) bool {
	if c == nil || c.kind != kindNumber {
		return false
	}
	for _, t := range r.tokens[k.from:k.to] {
		if addingWords[t.lower] || addingWords[t.lemma] {
			return true
		}
	}
	return slices.ContainsFunc(c.words, func(w string) bool { return addingWords[w] })
}
