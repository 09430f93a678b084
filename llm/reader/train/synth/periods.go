package synth

import (
	"fmt"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

var whenWords = [][2]string{{"=", "in %s"}, {"=", "for %s"}, {">", "after %s"}, {"<", "before %s"}, {">=", "since %s"}, {"=", "in the year %s"}, {"=", "%s"}, {">=", "from %s on"}, {"<=", "until %s"}, {"=", "during %s"}}

func (m *generator) inYear(t int) (condition, bool) {
	i := pick(m, m.years[t])
	x, ok := catalog.ParseNumber(m.value(i))
	if !ok {
		return condition{}, false
	}
	n := strconv.Itoa(int(x))
	w := pick(m, whenWords)
	return condition{fmt.Sprintf(w[1], n), []ir.Cond{cond(columnExpr(i), w[0], number(n))}}, true
}

var monthNames = strings.Fields("January February March April May June July August September October November December")

var relativePeriods = []string{"last month", "this month", "last year", "this year", "last week", "this week", "yesterday", "today", "last quarter", "this quarter",
	"last 7 days", "last 30 days", "past 30 days", "last 90 days", "last 3 months", "past 6 months", "last 12 months", "last 2 years", "past 2 weeks", "previous month", "previous year"}

// inPeriod generates a condition that a date is in a calendar period.
func (m *generator) inPeriod(t int, of string) (condition, bool) {
	i := pick(m, m.dates[t])
	v := m.value(i)
	year := "2023"
	if len(v) >= 4 {
		if _, err := strconv.Atoi(v[:4]); err == nil && v[0] != '0' {
			year = v[:4]
		}
	}
	n := m.rng.IntN(12) + 1
	lead := ""
	if m.chance(0.25) {
		lead = m.fill(map[string]string{"o": of, "c": m.column(i)}, "with {o}{c} ", "whose {o}{c} is ", "where {o}{c} is ", "with a {c} ")
	}
	switch m.rng.IntN(9) {
	case 0, 1, 2:
		w := pick(m, whenWords)
		return condition{lead + fmt.Sprintf(w[1], year), []ir.Cond{cond(columnExpr(i), w[0], period(year))}}, true
	case 3:
		said := monthNames[n-1] + pick(m, []string{" ", " ", " of ", ", "}) + year
		w := pick(m, whenWords[:5])
		return condition{lead + fmt.Sprintf(w[1], said), []ir.Cond{cond(columnExpr(i), w[0], period(fmt.Sprintf("%s-%02d", year, n)))}}, true
	case 4:
		q := (n-1)/3 + 1
		said := m.fill(map[string]string{"q": strconv.Itoa(q), "y": year}, "Q{q} {y}", "q{q} {y}", "{y} Q{q}", "Q{q} of {y}", "the "+[]string{"first", "second", "third", "fourth"}[q-1]+" quarter of {y}")
		return condition{lead + pick(m, []string{"in ", "for ", "during "}) + said, []ir.Cond{cond(columnExpr(i), "=", period(fmt.Sprintf("%s-Q%d", year, q)))}}, true
	case 5:
		if m.chance(0.4) {
			return m.inQuarter(i, (n-1)/3+1), true
		}
		return condition{pick(m, []string{"in ", "every ", "during ", "in the month of "}) + monthNames[n-1], []ir.Cond{cond(ir.Expr{Kind: "part", Func: "monthof", Column: i, Other: -1}, "=", number(strconv.Itoa(n)))}}, true
	case 6:
		day := m.rng.IntN(28) + 1
		iso := fmt.Sprintf("%s-%02d-%02d", year, n, day)
		said := pick(m, []string{iso, fmt.Sprintf("%s %d, %s", monthNames[n-1], day, year), fmt.Sprintf("%d %s %s", day, monthNames[n-1], year)})
		w := pick(m, [][2]string{{"=", "on %s"}, {">", "after %s"}, {"<", "before %s"}, {">=", "since %s"}, {">=", "from %s"}, {"<=", "until %s"}})
		return condition{lead + fmt.Sprintf(w[1], said), []ir.Cond{cond(columnExpr(i), w[0], period(iso))}}, true
	case 7:
		if y, err := strconv.Atoi(year); err == nil && m.chance(0.5) {
			to := strconv.Itoa(y + 1 + m.rng.IntN(3))
			return condition{lead + m.fill(map[string]string{"a": year, "b": to}, "between {a} and {b}", "from {a} to {b}"),
				[]ir.Cond{cond(columnExpr(i), "between", period(year), period(to))}}, true
		}
		fallthrough
	default:
		p := pick(m, relativePeriods)
		return condition{pick(m, []string{"", "", "in the ", "from ", "during the ", "over the "}) + p, []ir.Cond{cond(columnExpr(i), "=", period(p))}}, true
	}
}

// inQuarter generates a condition that a date is in a quarter of any year.
func (m *generator) inQuarter(column, n int) condition {
	words := m.fill(map[string]string{"n": strconv.Itoa(n), "k": []string{"first", "second", "third", "fourth"}[n-1]},
		"in Q{n}", "in q{n}", "for Q{n}", "during Q{n}", "in the {k} quarter", "in every {k} quarter", "in quarter {n}", "in Q{n} of any year", "in the {k} quarter of the year", "for the {k} quarter")
	return condition{words, []ir.Cond{cond(ir.Expr{Kind: "part", Func: "quarter", Column: column, Other: -1}, "=", number(strconv.Itoa(n)))}}
}
