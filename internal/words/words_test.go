package words_test

import (
	"slices"
	"testing"

	"parley/internal/words"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                     {},
		"orderDate":            {"order", "date"},
		"Customer_ID":          {"customer", "id"},
		"product-categories":   {"product", "category"},
		"Addresses of boxes 2": {"address", "of", "box", "2"},
		"gas":                  {"gas"},
		"Größen":               {"größen"},
	} {
		if got := words.Of(text); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
