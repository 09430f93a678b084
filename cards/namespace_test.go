package cards_test

import (
	"testing"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/golden"
)

func TestNamespaceCardGolden(t *testing.T) {
	t.Parallel()
	card := cards.ForNamespace(cards.Assistant(base, version), "alice/shop", []cards.Dataset{
		{Name: "orders", Description: "One row for each order.", Examples: []string{"How many orders came in May?"}},
		{Name: "customers"},
	})
	golden.Assert(t, "assistant-namespace.json", indented(t, cardJSON(t, card)))
}

// A card has a skill even where there is no data yet.
func TestNamespaceCardWithoutDatasets(t *testing.T) {
	t.Parallel()
	if card := cards.ForNamespace(cards.NL2QL(base, version), "alice/shop", nil); len(card.Skills) != 1 {
		t.Errorf("skills: %+v", card.Skills)
	}
}
