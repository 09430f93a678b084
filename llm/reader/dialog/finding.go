package dialog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/llm/reader/catalog"
)

// finding says what is most remarkable in the groups of a result: the highest and the
// lowest value, or the change from one period to the next; "" for other results.
func (r answerResult) finding() string {
	groups, measure := r.groups()
	if measure == nil || r.truncated && !measure.added {
		return ""
	}
	g := grouped{measure: *measure, groups: groups}
	for i, n := range measure.numbers {
		if !math.IsNaN(n) {
			g.rows = append(g.rows, i)
		}
	}
	switch {
	case len(g.rows) < 2:
		return ""
	case measure.added && g.allEqual() && len(g.rows) <= maxAnswerRows:
		return enumerate(g.names(0, len(g.rows), true)) + " tie" + withMeasure(*measure)
	case measure.added && g.allEqual():
		return g.countGroups() + " tie" + withMeasure(*measure)
	case g.value(0) == g.value(len(g.rows)-1) && g.allEqual():
		return fmt.Sprintf("The %s is the same for all %s: **%s**", g.measure.name, g.countGroups(), g.text(0))
	case len(groups) == 1 && isPeriod(groups[0]):
		return g.overTime()
	case len(groups) == 1:
		return g.ranking()
	}
	top, _ := g.extremes()
	return fmt.Sprintf("The %s is highest for **%s**%s: **%s**", g.measure.name, g.label(top), g.ties(top), g.text(top))
}

// groups returns the columns that identify the rows and the measure of each; nil for a
// result that is no list of groups.
func (r answerResult) groups() (groups []answerColumn, measure *answerColumn) {
	for i, c := range r.columns {
		switch {
		case c.numbers == nil:
			groups = append(groups, c)
		case measure == nil || c.added:
			measure = &r.columns[i]
		}
	}
	if len(groups) == 0 || len(groups) > 2 || len(r.columns) > 4 {
		return nil, nil
	}
	return groups, measure
}

// isPeriod reports whether a column has dates or years, in their order.
func isPeriod(c answerColumn) bool {
	year := c.name == "year"
	for i, value := range c.values {
		if c.layout == "" && !(year && len(value) == 4) || i > 0 && string(c.values[i-1]) >= string(value) {
			return false
		}
	}
	return true
}

// grouped is a measure by group; rows are those with a value.
type grouped struct {
	measure answerColumn
	groups  []answerColumn
	rows    []int
}

func (g grouped) value(i int) float64 { return g.measure.numbers[g.rows[i]] }
func (g grouped) text(i int) string   { return g.measure.text(g.rows[i]) }

func (g grouped) label(i int) string {
	var labels []string
	for _, c := range g.groups {
		labels = append(labels, c.label(g.rows[i]))
	}
	return strings.Join(labels, ", ")
}

func (g grouped) allEqual() bool {
	return !slices.ContainsFunc(g.rows, func(row int) bool { return g.measure.numbers[row] != g.value(0) })
}

// countGroups counts the groups in words.
func (g grouped) countGroups() string {
	if len(g.groups) > 1 {
		return g.measure.format.Int(int64(len(g.rows))) + " rows"
	}
	return g.measure.format.Int(int64(len(g.rows))) + " " + catalog.Plural(g.groups[0].name)
}

// extremes returns the first of the highest and of the lowest values.
func (g grouped) extremes() (top, bottom int) {
	for i := range g.rows {
		if g.value(i) > g.value(top) {
			top = i
		}
		if g.value(i) < g.value(bottom) {
			bottom = i
		}
	}
	return top, bottom
}

// overTime describes how a measure developed: its highest and lowest value, and its first and last
// one if they differ. These are all if the ends are the extremes.
func (g grouped) overTime() string {
	in := "in"
	if g.groups[0].layout == "2 January 2006" {
		in = "on"
	}
	last := len(g.rows) - 1
	change := func(mark string) string {
		verb := "rose"
		if g.value(last) < g.value(0) {
			verb = "fell"
		}
		return fmt.Sprintf(" %s from %s %s %s to %s%s%s %s %s%s%s, by %s", verb, g.text(0), in, g.label(0), mark, g.text(last), mark, in, mark, g.label(last), mark, g.measure.difference(g.value(0), g.value(last)))
	}
	top, bottom := g.extremes()
	if ends := min(top, bottom) == 0 && max(top, bottom) == last; ends && g.ties(top)+g.ties(bottom) == "" {
		return "The " + g.measure.name + change("**")
	}
	text := fmt.Sprintf("The %s was highest %s **%s**%s at **%s**", g.measure.name, in, g.label(top), g.ties(top), g.text(top))
	if top > 0 {
		if change := percent(g.value(top-1), g.value(top)); change != "" {
			text += ", " + change + " above " + g.label(top-1) + ","
		}
	}
	text += fmt.Sprintf(" and lowest %s %s%s at %s", in, g.label(bottom), g.ties(bottom), g.text(bottom))
	if g.value(0) != g.value(last) {
		text += "; it" + change("")
	}
	return text
}

// difference formats how far two numbers of a column are apart, with the percentage if it is of
// use.
func (c answerColumn) difference(from, to float64) string {
	value := strconv.FormatFloat(math.Round(math.Abs(to-from)*1e4)/1e4, 'f', -1, 64)
	text := formatNumber(c.format, json.RawMessage(value), c.unit, c.decimals)
	if change := percent(from, to); change != "" && c.unit != "%" {
		return text + " (" + change + ")"
	}
	return text
}

// ties counts, in words, the other groups with the value of one.
func (g grouped) ties(of int) string {
	others := -1
	for i := range g.rows {
		if g.value(i) == g.value(of) {
			others++
		}
	}
	switch others {
	case 0:
		return ""
	case 1:
		return " (and 1 other " + g.groups[0].name + ")"
	}
	return fmt.Sprintf(" (and %s other %s)", g.measure.format.Int(int64(others)), catalog.Plural(g.groups[0].name))
}

// percent formats the difference of two positive numbers; "" if it is not of use.
func percent(from, to float64) string {
	change := math.Round(math.Abs(to-from) / from * 100)
	if from <= 0 || to < 0 || change < 1 || change > 1000 {
		return ""
	}
	return strconv.Itoa(int(change)) + " %"
}

// maxNamed limits the groups that a sentence names first. Those that were asked for, of which
// there are few, are all named.
const maxNamed = 3

// ranking names the first groups in the order of the measure: the lowest if the rows have
// them first.
func (g grouped) ranking() string {
	word, other, sign := "highest", "lowest", -1
	if g.ascends() {
		word, other, sign = other, word, 1
	}
	slices.SortStableFunc(g.rows, func(a, b int) int { return sign * cmp.Compare(g.measure.numbers[a], g.measure.numbers[b]) })
	ties := 1
	for ties < len(g.rows) && g.value(ties) == g.value(0) {
		ties++
	}
	switch {
	case ties > maxNamed:
		return fmt.Sprintf("%s of %s share the %s %s: **%s**", g.measure.format.Int(int64(ties)), g.countGroups(), word, g.measure.name, g.text(0))
	case ties > 1:
		return fmt.Sprintf("%s have the %s %s: **%s** each", enumerate(g.names(0, ties, true)), word, g.measure.name, g.text(0))
	}
	last, named := len(g.rows)-1, maxNamed
	if g.measure.added {
		named = maxAnswerRows
	}
	text := fmt.Sprintf("**%s** has the %s %s: **%s**, followed by %s", g.label(0), word, g.measure.name, g.text(0), enumerate(g.names(1, min(named, last+1), false)))
	if last >= named && !g.measure.added {
		text += fmt.Sprintf("; %s has the %s (%s)", g.label(last), other, g.text(last))
	}
	return text
}

// names lists groups, in bold or with their values.
func (g grouped) names(from, to int, bold bool) (names []string) {
	for i := from; i < to; i++ {
		if bold {
			names = append(names, "**"+g.label(i)+"**")
		} else {
			names = append(names, g.label(i)+" ("+g.text(i)+")")
		}
	}
	return names
}

// ascends reports whether the rows were selected with the lowest first.
func (g grouped) ascends() bool {
	return g.measure.added && g.value(0) < g.value(len(g.rows)-1)
}
