package ir

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/llm/reader/catalog"
)

// Limits of values in a description.
const (
	maxDescribedCells = 3
	maxDescribedValue = 80
)

// compare describes a comparison with values, by the kind of the left side.
func (s *describer) compare(lead string, c Cond) (string, string) {
	if len(c.Values) == 0 {
		return lead, c.Op
	}
	v := c.Values[0]
	plain := c.Left.Kind == "column" && c.Left.Op == ""
	switch {
	case strings.Contains(c.Op, "like"):
	case plain && v.From != "" && (s.cat.Columns[c.Left.Column].Kind == catalog.Date || s.cat.Columns[c.Left.Column].IsYear() && spansYears(v)), v.Kind == TodayValue:
		if s.isPeriod(c) {
			lead = ""
		}
		return lead, s.compareDate(c)
	case v.Kind == BoolValue:
		yes := catalog.TrueTexts[v.Text] != (c.Op == "!=")
		return lead, map[bool]string{true: "“yes”", false: "“no”"}[yes]
	}
	switch c.Op {
	case "like":
		return lead, "containing " + quote(v.Text)
	case "likepre":
		return lead, "starting with " + quote(v.Text)
	case "likesuf":
		return lead, "ending in " + quote(v.Text)
	case "notlike":
		return lead, "not containing " + quote(v.Text)
	case "between":
		if len(c.Values) > 1 {
			return lead, "from " + s.constant(c, v) + " to " + s.constant(c, c.Values[1])
		}
	case "=":
		return lead, s.equal(c, v)
	case "!=":
		return lead, "not " + s.equal(c, v)
	}
	return lead, s.comparison(c) + " " + s.constant(c, v)
}

// equal describes a value to compare with, and the cells that match it.
func (s *describer) equal(c Cond, v Value) string {
	if c.Left.Kind != "column" || c.Left.Op != "" {
		return s.constant(c, v)
	}
	cells := v.Cells[c.Left.Column]
	switch kind := s.cat.Columns[c.Left.Column].Kind; {
	case len(cells) > 0 && (kind == catalog.Text || !s.cat.Columns[c.Left.Column].Native):
		texts := make([]string, 0, maxDescribedCells)
		for _, cell := range cells[:min(len(cells), maxDescribedCells)] {
			texts = append(texts, quote(cell))
		}
		if more := len(cells) - maxDescribedCells; more > 0 {
			return strings.Join(texts, ", ") + fmt.Sprintf(" or %d more", more)
		}
		return joinList(texts, "or")
	case kind == catalog.Text && v.Kind == TextValue && !v.Exact:
		return "containing " + quote(v.Text)
	}
	return s.constant(c, v)
}

// constant describes a value: a number by its digits, a month or weekday by name, others
// quoted.
func (s *describer) constant(c Cond, v Value) string {
	n, err := strconv.Atoi(v.Text)
	switch {
	case err != nil || v.Kind == TextValue && c.Left.Kind == "column":
	case v.Kind == MonthValue || c.Left.Func == "month" || c.Left.Func == "monthof":
		if n >= 1 && n <= 12 {
			return time.Month(n).String()
		}
	case v.Kind == WeekdayValue || c.Left.Func == "weekday":
		if n >= 1 && n <= 7 {
			return time.Weekday(n % 7).String()
		}
	}
	if v.Kind == NumberValue || v.Kind == QuarterValue {
		return s.number(c.Left, v.Number(c.Left, s.cat))
	}
	return quote(v.Text)
}

// number writes a number that an expression is compared with. Those of columns that hold no
// quantities, and parts of dates, have no thousands.
func (s *describer) number(left Expr, text string) string {
	ofColumn := left.Column >= 0 && left.Op == "" && left.Inner == "" && (left.Kind == "column" || left.Func == "min" || left.Func == "max")
	if left.Kind == "part" || ofColumn && !catalog.IsQuantity(s.cat.Columns[left.Column].Words) {
		return s.numbers.Ungrouped(text)
	}
	return s.numbers.Format(text)
}

// quote puts a value in quotation marks, on one line and shortened.
func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > maxDescribedValue {
		text = string(letters[:maxDescribedValue-1]) + "…"
	}
	return "“" + text + "”"
}

// compareDate describes a comparison with a period, which includes its first and last day.
func (s *describer) compareDate(c Cond) string {
	v := c.Values[0]
	in, name := period(v)
	first, last := ends(v)
	on := strings.Replace(in, "from", "on", 1)
	switch c.Op {
	case "=":
		return in + name
	case "!=":
		return "not " + in + name
	case ">":
		return "after " + last
	case ">=":
		return on + first + " or later"
	case "<":
		return "before " + first
	case "<=":
		return on + last + " or earlier"
	case "between":
		if len(c.Values) > 1 {
			_, to := ends(c.Values[1])
			return "from " + first + " to " + to
		}
	}
	return c.Op + " " + name
}

// ends describes the first and last day of a period, or gives its name if it has one.
func ends(v Value) (first, last string) {
	in, name := period(v)
	if in != "from " {
		return name, name
	}
	first, last, _ = strings.Cut(name, " to ")
	return first, last
}

const dayFormat = "2 January 2006"

// period describes a span of time, with the preposition before it: "in " and "March 2025".
func period(v Value) (in, name string) {
	if v.Kind == TodayValue {
		return "", "today"
	}
	from, err1 := time.Parse(time.DateOnly, v.From)
	to, err2 := time.Parse(time.DateOnly, v.To)
	if err1 != nil || err2 != nil || !to.After(from) {
		return "in ", quote(v.Text)
	}
	year, month := from.Year(), from.Month()
	switch {
	case to.Equal(from.AddDate(0, 0, 1)):
		return "on ", from.Format(dayFormat)
	case from.Day() != 1:
	case to.Equal(from.AddDate(0, 1, 0)):
		return "in ", from.Format("January 2006")
	case to.Equal(from.AddDate(0, 3, 0)) && month%3 == 1:
		return "in ", fmt.Sprintf("the %s quarter of %d", ordinals[month/3], year)
	case month != time.January:
	case to.Equal(from.AddDate(1, 0, 0)):
		return "in ", strconv.Itoa(year)
	case to.Equal(from.AddDate(10, 0, 0)) && year%10 == 0:
		return "in ", fmt.Sprintf("the %ds", year)
	}
	return "from ", from.Format(dayFormat) + " to " + to.AddDate(0, 0, -1).Format(dayFormat)
}

// limit describes which rows a query selects.
func (s *describer) limit(q *Query) string {
	if q.Limit == 0 {
		return ""
	}
	text := "only the first"
	switch {
	case q.Nth > 1 && q.Limit == 1:
		text = "only the " + ordinal(q.Nth)
	case q.Nth > 1:
		text = fmt.Sprintf("the %s to the %s", ordinal(q.Nth), ordinal(q.Nth+q.Limit-1))
	case q.Limit > 1:
		text = "the first " + s.numbers.Int(int64(q.Limit))
	}
	if q.Each != nil {
		text += " for each " + s.left(*q.Each)
	}
	return text
}

var ordinals = [...]string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}

// ordinal returns the ordinal of a number: second, 11th.
func ordinal(n int) string {
	switch {
	case n >= 1 && n <= len(ordinals):
		return ordinals[n-1]
	case n%100 >= 11 && n%100 <= 13:
	case n%10 >= 1 && n%10 <= 3:
		return strconv.Itoa(n) + [...]string{"st", "nd", "rd"}[n%10-1]
	}
	return strconv.Itoa(n) + "th"
}
