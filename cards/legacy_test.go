package cards_test

import (
	"encoding/json"
	"testing"

	legacy "github.com/a2aproject/a2a-go/a2a"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/golden"
)

func TestLegacyGolden(t *testing.T) {
	t.Parallel()
	extended, err := cards.WithExamples(cards.Assistant(base, version), []cards.Example{{Text: "How many orders came in May?", Namespace: "alice/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	data, err := cards.LegacyJSON(extended)
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, "assistant-legacy.json", indented(t, data))
}

// A card of 0.3 has nothing of 1.0, which clients of both would take it for.
func TestLegacyIsPure(t *testing.T) {
	t.Parallel()
	for _, card := range cards.All(base, version) {
		data, err := cards.LegacyJSON(card)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]json.RawMessage
		var read legacy.AgentCard
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"supportedInterfaces", "securityRequirements"} {
			if text, ok := members[name]; ok {
				t.Errorf("%s: %s", name, text)
			}
		}
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		scheme, _ := read.SecuritySchemes["bearer"].(legacy.HTTPAuthSecurityScheme)
		if read.URL != base+"/a2a/"+card.Name+"/v0.3" || read.PreferredTransport != "JSONRPC" || read.ProtocolVersion != "0.3.0" ||
			scheme.Scheme != "bearer" || len(read.Security) != 1 || read.Security[0]["bearer"] == nil || !read.SupportsAuthenticatedExtendedCard {
			t.Errorf("%s: %s", card.Name, data)
		}
	}
	if data, err := cards.LegacyJSON(nil); err == nil {
		t.Errorf("no card is %s", data)
	}
}

// The card of a namespace names it by the path, where 0.3 is spoken too.
func TestLegacyNamespaceURL(t *testing.T) {
	t.Parallel()
	data, err := cards.LegacyJSON(cards.ForNamespace(cards.Assistant(base, version), "alice/shop", nil))
	if err != nil {
		t.Fatal(err)
	}
	var card struct{ URL string }
	if err := json.Unmarshal(data, &card); err != nil || card.URL != base+"/a2a/assistant/alice/shop" {
		t.Errorf("the URL is %q, %v", card.URL, err)
	}
}
