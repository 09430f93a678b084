package cards_test

import (
	"encoding/json"
	"testing"

	"parley/cards"
	"parley/internal/golden"
)

func TestCatalogGolden(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(cards.Catalog(base))
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, "catalog.json", indented(t, data))
}

func TestCatalogAgreesWithCards(t *testing.T) {
	t.Parallel()
	all, entries := cards.All(base, version), cards.Catalog(base+"/")
	if len(entries) != len(all) {
		t.Fatalf("%d entries for %d cards", len(entries), len(all))
	}
	for i, card := range all {
		url := base + "/a2a/" + card.Name
		want := cards.Entry{
			Name:        card.Name,
			Description: card.Description,
			URL:         url,
			AgentCard:   url + "/.well-known/agent-card.json",
		}
		if entries[i] != want {
			t.Errorf("entry %d = %+v, want %+v", i, entries[i], want)
		}
		if got := card.SupportedInterfaces[0].URL; got != entries[i].URL {
			t.Errorf("the card of %s says %q, its entry %q", card.Name, got, entries[i].URL)
		}
	}
}
