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

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "",
		"plain text":            "plain text",
		"Plain TEXT":            "plain text",
		"Crème BRÛLÉE":          "creme brulee",
		"Straße, STRAẞE":        "strasse, strasse",
		"Ærø Łódź Đà Œuvre ı İ": "aero lodz da oeuvre i i",
		"ﬁve ①":                 "five 1",
		"❤️":                    "❤",
		"Привет":                "привет",
		"\xff":                  "\ufffd",
	} {
		if got := words.Fold(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
