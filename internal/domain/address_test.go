package domain_test

import (
	"testing"

	"parley/internal/domain"
)

// TestFindAddress finds namespaces in the text of questions.
func TestFindAddress(t *testing.T) {
	t.Parallel()
	me := domain.Caller{Username: "me"}
	readable := []domain.NamespaceRef{{Owner: "anna", Name: "shop"}, {Owner: "anna", Name: "Sales.2025"}, {Owner: "bo", Name: "docs"}, {Owner: "carl", Name: "docs"}, {Owner: "me", Name: "shop"}}
	for text, want := range map[string]struct {
		namespace, rest string
		leading         bool
	}{
		"in shop: How many orders are there?":       {"me/shop", "How many orders are there?", true},
		"In SHOP : how many?":                       {"me/shop", "how many?", true},
		"In the namespace anna/shop: how many?":     {"anna/shop", "how many?", true},
		"in self/shop: a\nb":                        {"me/shop", "a\nb", true},
		"How many orders are there in shop?":        {"me/shop", "How many orders are there?", false},
		"How many orders are there in Anna/Shop ?!": {"anna/shop", "How many orders are there?!", false},
		"orders in namespace sales.2025.":           {"anna/Sales.2025", "orders.", false},
		"orders in Paris in shop":                   {"me/shop", "orders in Paris", false},
		"How many orders are there in docs?":        {},
		"How many orders are there in bo/shop?":     {},
		"How many orders are there in the shop?":    {},
		"in shop:":                                  {},
		"in shop":                                   {},
		"How many orders are in shop by month?":     {},
	} {
		got, ok := domain.FindAddress(me, text, readable)
		if ok != (want.namespace != "") || ok && (got.Namespace.String() != want.namespace || got.Rest != want.rest || got.Leading != want.leading) {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
	}
}
