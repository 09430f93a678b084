package domain_test

import (
	"testing"

	"parley/internal/domain"
)

func TestUnitOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, description, rest, want string }{
		{"Kosten €", "", "Kosten", "€"}, {"consumption (kWh)", "", "consumption", "kWh"}, {"resolution_minutes", "", "resolution", "min"}, {"price_eur", "", "price", "€"},
		{"share (%)", "", "share", "%"}, {"weight [kg]", "", "weight", "kg"}, {"amount in USD", "", "amount", "$"}, {"salary", "The monthly salary, in euros.", "salary", "€"}, {"fee", "in CHF", "fee", "CHF"},
		{"revenue (gross)", "", "revenue (gross)", ""}, {"price min", "", "price min", ""}, {"minutes", "", "minutes", ""}, {"amount", "Sold in shops.", "amount", ""}, {"%", "", "%", ""}, {"", "", "", ""},
	} {
		rest, _ := domain.CutUnit(test.name)
		if got := domain.UnitOf(test.name, test.description); got != test.want || rest != test.rest {
			t.Errorf("%s: %q and %q", test.name, rest, got)
		}
	}
	if got := domain.WithoutUnit("total_consumption_k_wh", "kWh"); got != "total consumption" {
		t.Error(got)
	}
}
