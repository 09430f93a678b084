package catalog_test

import (
	"testing"

	"parley/llm/reader/catalog"
)

func TestNoun(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"orders": "orders", "order_items": "order items", "tickets_export": "tickets", "emp": "employee", "data": "", "sheet1": "", "export": "", "WA_Fn-UseC_-HR-Employee-Attrition": "employees",
	} {
		profile := &catalog.Profile{Name: name, Rows: 3, Columns: []catalog.ColumnProfile{{Name: "employee_id", Type: "BIGINT", Distinct: 3, Filled: 3, Values: []string{"1", "2", "3"}}}}
		if got := catalog.New([]*catalog.Profile{profile}, nil).Noun(0); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"Open tickets": "open tickets", "HR staff": "HR staff", "Überstunden": "überstunden", "x": "x"} {
		if got := catalog.New([]*catalog.Profile{{Name: "WA_Fn", DisplayName: name}}, nil).Noun(0); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	both := catalog.New([]*catalog.Profile{{Name: "orders"}, {Name: "orders_export"}}, nil)
	if both.Noun(0) != "orders" || both.Noun(1) != "orders export" {
		t.Errorf("%q and %q", both.Noun(0), both.Noun(1))
	}
}
