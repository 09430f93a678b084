package agents

import (
	"testing"

	"parley/internal/domain"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	readings := []domain.InputOption{
		{ID: "1", Label: "number of orders with status “open”", Query: "SELECT count(*) FROM orders"},
		{ID: "2", Label: "sum of amount of orders, no refunds, in 2025", Query: "SELECT sum(amount) FROM orders"},
	}
	names := []domain.InputOption{{ID: "ann/shop", Label: "ann/shop"}, {ID: "bob/shop-2", Label: "bob/shop-2"}}
	for _, test := range []struct {
		options      []domain.InputOption
		answer, want string
	}{
		{readings, "1", "1"},
		{readings, " (2)\n", "2"},
		{readings, "option 2", "2"},
		{readings, "No. 1, please", "1"},
		{readings, "The second one.", "2"},
		{readings, "I mean the first", "1"},
		{readings, "Sum of amount of orders; no refunds, in 2025.", "2"},
		{readings, `number of orders with status "OPEN"`, "1"},
		{readings, "select COUNT(*) from orders", "1"},
		{readings, "the open ones", ""},
		{readings, "status open", "1"},
		{readings, "refunds", "2"},
		{readings, "2025", "2"},
		{readings, "3", ""},
		{readings, "0", ""},
		{readings, "-1", "1"},
		{readings, "orders", ""},
		{readings, "no", ""},
		{readings, "both", ""},
		{readings, "one and two", ""},
		{readings, "SELECT count(*) FROM secrets", ""},
		{readings, "", ""},
		{readings, "…", ""},
		{names, "ANN/shop", "ann/shop"},
		{names, "bob/shop-2", "bob/shop-2"},
		{names, "shop", ""},
	} {
		if got, ok := choose(test.options, test.answer); got.ID != test.want || ok != (test.want != "") {
			t.Errorf("%q chooses %q, want %q", test.answer, got.ID, test.want)
		}
	}
}

// FuzzChoose: an answer chooses an option or none, and an option's own label that option.
func FuzzChoose(f *testing.F) {
	f.Add("1", "number of orders", "sum of orders")
	f.Add("the second", "a\x00b", "\xff")
	f.Fuzz(func(t *testing.T, answer, first, second string) {
		options := []domain.InputOption{{ID: "1", Label: first}, {ID: "2", Label: second}}
		if option, ok := choose(options, answer); ok && option != options[0] && option != options[1] {
			t.Errorf("%q chose %+v", answer, option)
		}
	})
}
