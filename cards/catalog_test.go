package cards_test

import (
	"encoding/json"
	"testing"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/golden"
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

func TestAICatalogGolden(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(cards.NewAICatalog(base, version))
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, "ai-catalog.json", indented(t, data))
}

// An address without a domain is its own identifier; a colon in it would look like a part
// of the name.
func TestAICatalogIdentifiers(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://parley.example:8443/tools/api/v1": "urn:air:parley.example:a2a:nl2ql",
		"http://localhost:8080/api/v1":             "urn:air:localhost:a2a:nl2ql",
		"http://127.0.0.1:8080/api/v1":             "http://127.0.0.1:8080/api/v1/a2a/nl2ql",
		"http://[2001:db8::1]:8080/api/v1/":        "http://[2001:db8::1]:8080/api/v1/a2a/nl2ql",
		"":                                         "/a2a/nl2ql",
	} {
		if got := cards.NewAICatalog(address, version).Entries[0].Identifier; got != want {
			t.Errorf("at %q: %q, want %q", address, got, want)
		}
	}
}
