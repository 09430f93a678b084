package ir

import (
	"slices"

	"parley/llm/reader/catalog"
)

// Fits reports whether a token is allowed next and has a valid type: columns of numbers and
// dates where the grammar requires them, and values that can be compared with the column
// before. v is the value of a value token.
func (s State) Fits(a Allowed, t Token, cat *catalog.Catalog, v Value) bool {
	switch t.Class {
	case Keyword:
		return a.Has(Word(t.N))
	case TableRef:
		return a.Table
	case ColumnRef:
		kind := cat.Columns[t.N].Kind
		return a.Column || a.Number && (kind == catalog.Number || kind == catalog.Clock || kind == catalog.Bool) || a.Date && (kind == catalog.Date || s.partOpen && s.part == decadeWord && cat.Columns[t.N].IsYear())
	}
	if a.Limit {
		return v.Kind == NumberValue && len(v.Text) < 5
	}
	return a.Value && s.allowsDatePart(cat, v) && isComparable(cat, s.column, v)
}

var quarterWord, monthWord, monthOfWord, weekdayWord, decadeWord = MustWord("quarter"), MustWord("month"), MustWord("monthof"), MustWord("weekday"), MustWord("decade")

// allowsDatePart reports whether a value for a month, weekday or quarter is compared with
// that part of a date.
func (s State) allowsDatePart(cat *catalog.Catalog, v Value) bool {
	switch {
	case v.Kind == QuarterValue && s.part == End:
		return s.column >= 0 && cat.Columns[s.column].Kind != catalog.Date && slices.Contains(cat.Columns[s.column].Words, "quarter")
	case v.Kind == QuarterValue:
		return s.part == quarterWord
	case s.part == End:
		return true
	case v.Kind == MonthValue:
		return s.part == monthWord || s.part == monthOfWord
	case v.Kind == WeekdayValue:
		return s.part == weekdayWord
	}
	return true
}

// isComparable reports whether a value can be compared with a column.
func isComparable(cat *catalog.Catalog, column int, v Value) bool {
	if column < 0 {
		return v.Kind == NumberValue || v.Kind == PeriodValue
	}
	switch cat.Columns[column].Kind {
	case catalog.Date:
		return v.Kind != TextValue
	case catalog.Number, catalog.Clock:
		_, number := catalog.ParseNumber(v.Text)
		return len(v.Cells[column]) > 0 || v.Kind != TextValue && number && catalog.CanCompare(v.Unit, cat.Columns[column].Unit)
	case catalog.Other:
		return cat.Columns[column].List && len(v.Cells[column]) > 0
	}
	return true
}
