package dialog

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"parley/internal/locale"
	"parley/llm"
)

// Change says what the rows of a step have become since the same query had the rows before; "" if
// they are the same.
func Change(before llm.Rows, now llm.Step, numbers locale.Numbers) string {
	if before.Truncated || now.Rows.Truncated {
		return changedTotal(before, now.Rows, numbers)
	}
	was, is := newAnswerResult(llm.Step{Rows: before, Reasoning: now.Reasoning}, numbers), newAnswerResult(now, numbers)
	for i := range min(len(was.columns), len(is.columns)) {
		decimals := max(was.columns[i].decimals, is.columns[i].decimals)
		was.columns[i].decimals, is.columns[i].decimals = decimals, decimals
	}
	if was.rows == 1 && is.rows == 1 && len(was.columns) == len(is.columns) {
		return changedValues(was, is)
	}
	oldGroups, old := was.groups()
	groups, measure := is.groups()
	if old != nil && measure != nil && len(oldGroups) == len(groups) {
		if text := changedGroups(grouped{measure: *old, groups: oldGroups}, grouped{measure: *measure, groups: groups}); text != "" {
			return text
		}
	}
	return changedRows(before, now.Rows, numbers)
}

// changedTotal says how many rows there are, where not all of them are known; "" if they were not
// counted.
func changedTotal(before, now llm.Rows, numbers locale.Numbers) string {
	total := func(rows llm.Rows) int64 {
		if rows.Truncated {
			return rows.Total
		}
		return int64(len(rows.Rows))
	}
	if total(before) == total(now) || before.Truncated && before.Total == 0 || now.Truncated && now.Total == 0 {
		return ""
	}
	return "There are " + numbers.Int(total(now)) + " rows now, and were " + numbers.Int(total(before)) + "."
}

// changedValues says which values of a single row have changed.
func changedValues(was, is answerResult) string {
	var parts []string
	for i, to := range is.columns {
		from := was.columns[i]
		switch {
		case hasNumber(from) && hasNumber(to) && from.text(0) == to.text(0): // sums of doubles are inexact
		case hasNumber(from) && hasNumber(to):
			parts = append(parts, "The "+to.name+" "+to.changeFrom(from, 0, 0)+".")
		case !bytes.Equal(from.values[0], to.values[0]):
			parts = append(parts, "The "+to.name+" "+to.verb()+" "+to.label(0)+" now, and was "+from.label(0)+".")
		}
	}
	return strings.Join(parts, " ")
}

// hasNumber reports whether the only value of a column is a number.
func hasNumber(c answerColumn) bool { return c.numbers != nil && !math.IsNaN(c.numbers[0]) }

// changeFrom says how a number has changed: the verb, by how much, and both numbers.
func (c answerColumn) changeFrom(from answerColumn, before, now int) string {
	verb := "rose"
	if c.numbers[now] < from.numbers[before] {
		verb = "fell"
	}
	if by := percent(from.numbers[before], c.numbers[now]); by != "" {
		verb += " by " + by
	}
	return verb + " from " + from.text(before) + " to " + c.text(now)
}

// changedGroups says which groups have another measure, which are new and which are gone; "" if there are
// none, or several rows have the same groups.
func changedGroups(was, is grouped) string {
	places := func(g *grouped) (at map[string]int) {
		at = map[string]int{}
		for i, n := range g.measure.numbers {
			g.rows = append(g.rows, i)
			at[g.label(i)] = i
			if math.IsNaN(n) {
				g.measure.numbers[i] = 0 // none of it
			}
		}
		return at
	}
	before, now := places(&was), places(&is)
	if len(before) != len(was.rows) || len(now) != len(is.rows) {
		return ""
	}
	var changed []int
	var added, gone []string
	for i := range is.rows {
		at, known := before[is.label(i)]
		switch {
		case !known:
			added = append(added, is.label(i)+" "+is.text(i))
		case was.text(at) != is.text(i):
			changed = append(changed, i)
		}
	}
	for i := range was.rows {
		if _, known := now[was.label(i)]; !known {
			gone = append(gone, was.label(i))
		}
	}
	difference := func(i int) float64 { return math.Abs(is.value(i) - was.value(before[is.label(i)])) }
	slices.SortStableFunc(changed, func(a, b int) int { return -cmp.Compare(difference(a), difference(b)) })
	var parts []string
	if len(changed) > 0 {
		var named []string
		for _, i := range changed[:min(len(changed), maxNamed)] {
			named = append(named, is.label(i)+" "+is.measure.changeFrom(was.measure, before[is.label(i)], i))
		}
		parts = append(parts, "The "+is.measure.name+" changed for "+is.measure.format.Int(int64(len(changed)))+" of "+is.countGroups()+someOf(named, len(changed)))
	}
	for _, part := range []struct {
		what  string
		names []string
	}{{"New", added}, {"Gone", gone}} {
		if n := len(part.names); n > 0 {
			parts = append(parts, part.what+": "+is.measure.format.Int(int64(n))+someOf(part.names[:min(n, maxNamed)], n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ". ") + "."
}

// someOf names some of several, or all.
func someOf(names []string, all int) string {
	text := ": "
	if len(names) < all {
		text = ", such as "
	}
	return text + strings.Join(names, "; ")
}

// changedRows says how many rows are new and how many are gone.
func changedRows(before, now llm.Rows, numbers locale.Numbers) string {
	left := map[string]int{}
	for _, row := range before.Rows {
		left[string(row)]++
	}
	added, gone := 0, len(before.Rows)
	for _, row := range now.Rows {
		if left[string(row)] > 0 {
			left[string(row)]--
			gone--
		} else {
			added++
		}
	}
	if added == 0 && gone == 0 {
		return ""
	}
	are := "are"
	if len(now.Rows) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s new, %s gone. There %s %s now.", counted(numbers, added, "row"), numbers.Int(int64(gone)), are, counted(numbers, len(now.Rows), "row"))
}
