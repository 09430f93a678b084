package dataset

import (
	"strconv"
	"strings"
	"time"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// Now is the current time for training questions.
var Now = time.Date(2025, 6, 15, 12, 0, 0, 0, time.UTC)

// Tokens converts a query with literal values to tokens that refer to the values found in
// the question.
func Tokens(q *ir.Query, found []link.ValueMatch, cat *catalog.Catalog) ([]ir.Token, error) {
	normalizeFlags(q, cat)
	return ir.Tokens(q, func(c *ir.Cond, n int) (ir.Token, bool) {
		want, left := ir.Value{Kind: ir.NumberValue, Text: strconv.Itoa(n)}, ir.Expr{Kind: "rowid", Column: -1, Other: -1}
		if c != nil {
			want, left = c.Values[n], c.Left
		}
		best, at := 0, -1
		for i, f := range found {
			if s := matchScore(want, f, left, cat); s > best {
				best, at = s, i
			}
		}
		return ir.Token{Class: ir.ValueRef, N: at}, at >= 0
	})
}

// normalizeFlags converts comparisons of boolean columns to boolean values, and comparisons
// with today to today's value.
func normalizeFlags(q *ir.Query, cat *catalog.Catalog) {
	q.VisitConds(func(conds []ir.Cond) {
		for i := range conds {
			c := &conds[i]
			if len(c.Values) != 1 || c.Left.Kind != "column" || c.Left.Op != "" {
				continue
			}
			text := strings.ToLower(c.Values[0].Text)
			column := &cat.Columns[c.Left.Column]
			switch {
			case (c.Op == "=" || c.Op == "!=") && column.Kind != catalog.Number && column.IsBoolean() && catalog.TrueTexts[text]:
				c.Values = []ir.Value{{Kind: ir.BoolValue, Text: "true"}}
			case (c.Op == "=" || c.Op == "!=") && column.Kind != catalog.Number && column.IsBoolean():
				c.Values = []ir.Value{{Kind: ir.BoolValue, Text: "false"}}
			case c.Values[0].Kind == ir.PeriodValue && text == "today" && c.Op != "=":
				c.Values = []ir.Value{{Kind: ir.TodayValue, Text: "today"}}
			}
		}
	})
}

// matchScore rates a value of the question as the literal that is compared with left; 0 for
// no match.
func matchScore(want ir.Value, f link.ValueMatch, left ir.Expr, cat *catalog.Catalog) int {
	column := left.Column
	text := strings.ToLower(strings.TrimSpace(want.Text))
	if want.Kind == ir.PeriodValue {
		from, to, ok := Period(want.Text)
		if ok && f.From == from && f.To == to {
			return 5
		}
		return 0
	}
	if f.Kind == ir.PeriodValue && column >= 0 && cat.Columns[column].Kind == catalog.Date {
		// Dates that SQL writes as text.
		from, to, ok := Period(strings.TrimSuffix(text, "%"))
		if ok && f.From == from && f.To == to {
			return 4
		}
	}
	if a, err := strconv.ParseFloat(text, 64); err == nil {
		if b, err := strconv.ParseFloat(strings.ReplaceAll(f.Number(left, cat), ",", ""), 64); err == nil && a == b {
			if f.Unit != "" && column >= 0 {
				return 4
			}
			return 3
		}
	}
	for _, cell := range f.Cells[column] {
		if strings.EqualFold(strings.TrimSpace(cell), text) {
			return 5
		}
	}
	if strings.EqualFold(strings.TrimSpace(f.Text), text) || joinTokens(f.Text) == joinTokens(text) {
		return 2
	}
	return 0
}

// joinTokens removes differences of case, accents and punctuation.
func joinTokens(s string) string {
	return strings.Join(catalog.ValueTokens(s), "")
}

// Period returns the bounds of a period in the notation of training queries.
func Period(text string) (from, to string, ok bool) {
	text = strings.Replace(text, "-Q", " Q", 1)
	if len(text) == 7 && strings.HasSuffix(text[:5], " Q") {
		text = text[5:] + " " + text[:4]
	}
	tokens := link.Tokenize(text)
	return link.PeriodOf(tokens, Now)
}
