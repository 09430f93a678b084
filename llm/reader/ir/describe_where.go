package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/llm/reader/catalog"
)

// where describes the conditions of a query, with periods of the only date last, and apart from
// them what they leave out.
func (s *describer) where(conds []Cond) (conditions, apart string) {
	if len(conds) == 0 {
		return "", ""
	}
	all := terms(conds)
	if slices.ContainsFunc(all, func(t term) bool { return t.or }) {
		return s.terms(all), ""
	}
	var rest []term
	var periods, missing []string
	for _, t := range all {
		if column := s.leftOut(t); column != "" {
			missing = append(missing, column)
		}
		if s.isPeriod(t.conds[0]) {
			periods = append(periods, s.term(t))
		} else {
			rest = append(rest, t)
		}
	}
	if len(missing) > 0 {
		apart = "leaving out those without a known " + joinList(missing, "or")
	}
	return strings.TrimSpace(s.terms(rest) + " " + list(periods)), apart
}

// leftOut describes the column whose missing values a negation leaves out, "" for none: “not
// Berlin” could mean the rows without a city, too.
func (s *describer) leftOut(t term) string {
	column := ""
	for _, c := range t.conds {
		switch {
		case c.Op == "isnull":
			return ""
		case (c.Op == "!=" || c.Op == "notlike") && c.Left.Kind == "column" && c.Left.Op == "" && s.cat.Columns[c.Left.Column].Missing:
			column = s.left(c.Left)
		}
	}
	return column
}

// isPeriod reports whether a condition compares the only date of the main table with a
// period.
func (s *describer) isPeriod(c Cond) bool {
	return c.Left.Kind == "column" && c.Left.Op == "" && s.onlyDate(c.Left.Column) &&
		len(c.Values) > 0 && !strings.Contains(c.Op, "like") && (c.Values[0].From != "" || c.Values[0].Kind == TodayValue)
}

// terms describes conditions. All of those between two ORs must hold.
func (s *describer) terms(all []term) string {
	var groups []string
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && !all[end].or {
			end++
		}
		var texts []string
		for _, t := range all[start:end] {
			texts = append(texts, s.term(t))
		}
		for i := len(texts) - 1; i > 0; i-- {
			if strings.HasPrefix(texts[i-1], "with ") {
				texts[i] = strings.TrimPrefix(texts[i], "with ")
			}
		}
		groups = append(groups, list(texts))
		start = end
	}
	return strings.Join(groups, ", or ")
}

// term describes conditions on one column of which any must hold: "with channel “web” or
// “store”".
func (s *describer) term(t term) string {
	first, _ := s.parts(t.conds[0])
	var tests, whole []string
	for _, c := range t.conds {
		lead, test := s.parts(c)
		if lead == first {
			tests = append(tests, test)
		}
		whole = append(whole, s.cond(c))
	}
	if first == "" || len(tests) < len(whole) {
		return joinList(whole, "or")
	}
	return first + " " + joinList(tests, "or")
}

// cond describes one condition.
func (s *describer) cond(c Cond) string {
	lead, test := s.parts(c)
	return strings.TrimSpace(lead + " " + test)
}

// parts describes a condition in two parts: the left side, and the comparison.
func (s *describer) parts(c Cond) (lead, test string) {
	switch c.Op {
	case "isnull":
		return "", "without a known " + s.left(c.Left)
	case "notnull":
		return "", "with a known " + s.left(c.Left)
	case "in", "notin":
		return s.among(c)
	case "after", "before":
		return "", "right " + c.Op + " the one " + s.cond(Cond{Left: c.Left, Op: "=", Values: c.Values, Column: -1})
	}
	lead = "with " + s.left(c.Left)
	switch {
	case c.Sub != nil:
		return lead, s.comparison(c) + " " + s.sub(c.Sub)
	case c.Right != nil:
		return lead, s.comparison(c) + " " + s.of(s.expr(*c.Right))
	case c.Column >= 0:
		return lead, s.comparison(c) + " " + s.column(c.Column)
	}
	return s.compare(lead, c)
}

// sub describes a subquery, in parentheses if it is not a plain aggregate.
func (s *describer) sub(q *Query) string {
	text := Describe(q, s.cat, s.numbers)
	if len(q.Where)+len(q.Group)+len(q.Having)+len(q.Order)+len(q.Items)+q.Limit == 1 && q.Set == "" && q.Via < 0 && len(q.From) < 2 {
		return "the " + text
	}
	return "(" + text + ")"
}

// among describes that a value is in a subquery. Between the columns of a link, it means
// that rows of the other table exist or not.
func (s *describer) among(c Cond) (lead, test string) {
	q, not := c.Sub, c.Op == "notin"
	if s.followsLink(c) {
		inner := &describer{cat: s.cat, main: s.cat.Columns[q.Items[0].Column].Table}
		text := "with " + inner.rows()
		if not {
			text = "without " + inner.rows()
		}
		if conditions, apart := inner.where(q.Where); conditions != "" {
			text += " (" + strings.TrimSuffix(conditions+", "+apart, ", ") + ")"
		}
		return "", text
	}
	lead = "with " + s.left(c.Left)
	if not {
		return lead, "not among " + s.sub(q)
	}
	return lead, "among " + s.sub(q)
}

// followsLink reports whether a condition only requires that rows of another table refer to
// this one.
func (s *describer) followsLink(c Cond) bool {
	q := c.Sub
	if c.Left.Kind != "column" || c.Left.Op != "" || s.cat.Columns[c.Left.Column].Table != s.main ||
		len(q.Items) != 1 || q.Items[0].Kind != "column" || q.Items[0].Op != "" ||
		len(q.Group)+len(q.Having)+len(q.Order)+len(q.From)+q.Limit > 0 || q.Set != "" || q.Via >= 0 {
		return false
	}
	return slices.ContainsFunc(s.cat.Links, func(l catalog.Link) bool {
		return l.From == q.Items[0].Column && l.To == c.Left.Column && l.Also == nil
	})
}

// comparison describes an operator.
func (s *describer) comparison(c Cond) string {
	words := map[string]string{"=": "equal to", "!=": "other than", ">": "above", "<": "below", ">=": "at least", "<=": "at most"}
	if s.kind(c.Left) == catalog.Date {
		words = map[string]string{"=": "at", "!=": "not at", ">": "after", "<": "before", ">=": "not before", "<=": "not after"}
	}
	if word, ok := words[c.Op]; ok {
		return word
	}
	return c.Op
}

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
	case len(cells) > 0 && (kind == catalog.Text || kind == catalog.Other || !s.cat.Columns[c.Left.Column].Native):
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

// ends describes the first and last day of a period, or returns its name if it has one.
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
	return text + s.each(q)
}

// each describes of what each group shows its first rows.
func (s *describer) each(q *Query) string {
	if q.Each == nil {
		return ""
	}
	return " for each " + s.left(*q.Each)
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
