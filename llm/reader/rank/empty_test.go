package rank

import (
	"testing"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// TestExcludesAll compares conditions with the least and the greatest value of a column.
func TestExcludesAll(t *testing.T) {
	t.Parallel()
	cat := catalog.New([]*catalog.Profile{{Name: "orders", Rows: 9, Columns: []catalog.ColumnProfile{
		{Name: "amount", Type: "DOUBLE", Least: "4", Most: "40", Distinct: 9, Filled: 9},
		{Name: "ordered_at", Type: "TIMESTAMP", Least: "2024-12-01 10:00:00", Most: "2025-02-20 09:00:00", Distinct: 9, Filled: 9},
		{Name: "unknown", Type: "DOUBLE", Distinct: 9, Filled: 9},
		{Name: "status", Type: "VARCHAR", Distinct: 2, Filled: 9},
	}}}, nil)
	number := func(texts ...string) (values []ir.Value) {
		for _, text := range texts {
			values = append(values, ir.Value{Kind: ir.NumberValue, Text: text})
		}
		return values
	}
	period := func(days ...string) (values []ir.Value) {
		for i := 0; i < len(days); i += 2 {
			values = append(values, ir.Value{Kind: ir.PeriodValue, From: days[i], To: days[i+1]})
		}
		return values
	}
	for _, test := range []struct {
		column int
		op     string
		values []ir.Value
		want   bool
	}{
		{0, ">", number("40"), true}, {0, ">", number("39"), false}, {0, ">=", number("40"), false}, {0, ">=", number("41"), true},
		{0, "<", number("4"), true}, {0, "<", number("5"), false}, {0, "<=", number("4"), false}, {0, "<=", number("3"), true},
		{0, "=", number("50"), true}, {0, "=", number("5"), false}, {0, "!=", number("50"), false},
		{0, "between", number("50", "60"), true}, {0, "between", number("1", "2"), true}, {0, "between", number("1", "60"), false},
		{1, "=", period("2019-01-01", "2020-01-01"), true}, {1, "=", period("2024-01-01", "2025-01-01"), false}, {1, "=", period("2026-01-01", "2027-01-01"), true},
		{1, "<", period("2024-01-01", "2025-01-01"), true}, {1, "<", period("2025-01-01", "2026-01-01"), false}, {1, "<=", period("2023-01-01", "2024-01-01"), true},
		{1, ">", period("2025-01-01", "2026-01-01"), true}, {1, ">", period("2024-01-01", "2025-01-01"), false}, {1, ">=", period("2026-01-01", "2027-01-01"), true},
		{1, "between", period("2019-01-01", "2020-01-01", "2021-01-01", "2022-01-01"), true}, {1, "between", period("2019-01-01", "2020-01-01", "2025-01-01", "2026-01-01"), false},
		{1, "<", []ir.Value{{Kind: ir.TodayValue}}, false}, {1, "=", []ir.Value{{Kind: ir.TodayValue}}, false},
		{2, ">", number("40"), false}, {3, "=", []ir.Value{{Kind: ir.TextValue, Text: "shipped"}}, false}, {0, "isnull", nil, false},
	} {
		c := ir.Cond{Left: ir.Expr{Kind: "column", Column: test.column, Other: -1}, Op: test.op, Values: test.values, Column: -1}
		if got := excludesAll(c, cat); got != test.want {
			t.Errorf("%s %s %+v: %v", cat.Columns[test.column].Name, test.op, test.values, got)
		}
	}
}
