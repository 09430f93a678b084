package unitname_test

import (
	"testing"

	"parley/internal/unitname"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, description, rest, want string }{
		{"Kosten €", "", "Kosten", "€"}, {"consumption (kWh)", "", "consumption", "kWh"}, {"resolution_minutes", "", "resolution", "min"}, {"price_eur", "", "price", "€"},
		{"share (%)", "", "share", "%"}, {"weight [kg]", "", "weight", "kg"}, {"amount in USD", "", "amount", "$"}, {"salary", "The monthly salary, in euros.", "salary", "€"}, {"fee", "in CHF", "fee", "CHF"}, {"amount", "in euros: the price times the quantity", "amount", "€"},
		{"revenue (gross)", "", "revenue (gross)", ""}, {"price min", "", "price min", ""}, {"minutes", "", "minutes", ""}, {"amount", "Sold in shops.", "amount", ""}, {"%", "", "%", ""}, {"", "", "", ""},
	} {
		rest, _ := unitname.Cut(test.name)
		if got := unitname.Of(test.name, test.description); got != test.want || rest != test.rest {
			t.Errorf("%s: %q and %q", test.name, rest, got)
		}
	}
	if got := unitname.Without("total_consumption_k_wh", "kWh"); got != "total consumption" {
		t.Error(got)
	}
}
