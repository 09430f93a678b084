package ir

import (
	"slices"
	"strings"

	"parley/llm/reader/catalog"
)

// where describes the conditions of a query. Periods of the only date are separate.
func (s *describer) where(conds []Cond) []string {
	if len(conds) == 0 {
		return nil
	}
	all := terms(conds)
	if slices.ContainsFunc(all, func(t term) bool { return t.or }) {
		return []string{"only those " + s.terms(all)}
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
		periods = append(periods, "leaving out those without a known "+joinList(missing, "or"))
	}
	if len(rest) == 0 {
		return periods
	}
	return append([]string{"only those " + s.terms(rest)}, periods...)
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
		if where := inner.where(q.Where); len(where) > 0 {
			text += " (" + strings.TrimPrefix(strings.Join(where, ", "), "only those ") + ")"
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
