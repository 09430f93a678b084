package cards_test

import (
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/go-cmp/cmp"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/golden"
)

func TestWithExamplesGolden(t *testing.T) {
	t.Parallel()
	extended, err := cards.WithExamples(cards.Assistant(base, version), []cards.Example{{Text: "How many orders came in May?", Namespace: "alice/shop"}, {Text: "How many orders came in May?", Namespace: "bob/shop"}})
	if err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, "assistant-extended.json", indented(t, cardJSON(t, extended)))
}

func TestWithExamplesAddsOnlyExamples(t *testing.T) {
	t.Parallel()
	for _, card := range cards.All(base, version) {
		extended, err := cards.WithExamples(card, []cards.Example{{Text: "one", Namespace: "a/b"}, {Text: "two", Namespace: "a/b"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := extended.Skills[0].Examples; !slices.Equal(got, []string{"one", "two"}) {
			t.Errorf("examples = %q", got)
		}
		extended.Skills[0].Examples = nil
		delete(extended.Capabilities.Extensions[0].Params, "examples")
		if diff := cmp.Diff(string(cardJSON(t, card)), string(cardJSON(t, extended))); diff != "" {
			t.Errorf("the extended card without its examples (- want, + got):\n%s", diff)
		}
	}
}

func TestCopiesShareNothing(t *testing.T) {
	t.Parallel()
	card := cards.Assistant(base, version)
	card.Capabilities.Extensions = []a2a.AgentExtension{{URI: cards.NamespaceExtension, Params: map[string]any{"deep": []any{"kept"}}}}
	examples := []cards.Example{{Text: "kept", Namespace: "a/b"}}
	before := string(cardJSON(t, card))

	extended, err := cards.WithExamples(card, examples)
	if err != nil {
		t.Fatal(err)
	}
	extended.Capabilities.Extensions[0].Params["deep"].([]any)[0] = "lost"
	scribble(extended)
	scribble(cards.Assistant(base, version))

	if after := string(cardJSON(t, card)); after != before {
		t.Errorf("the card changed with its copy:\n%s\nwas\n%s", after, before)
	}
	if examples[0].Text != "kept" {
		t.Error("the copy shares the caller's examples")
	}
}

// scribble writes over all that a card of this package refers to.
func scribble(card *a2a.AgentCard) {
	card.Provider.Org = "lost"
	card.DefaultInputModes[0] = "lost"
	card.DefaultOutputModes[0] = "lost"
	card.SupportedInterfaces[0].URL = "lost"
	card.SecuritySchemes["lost"] = a2a.MutualTLSSecurityScheme{}
	card.SecurityRequirements[0]["lost"] = a2a.SecuritySchemeScopes{}
	card.Skills[0].Tags[0] = "lost"
	for i := range card.Skills[0].Examples {
		card.Skills[0].Examples[i] = "lost"
	}
	card.Skills[0].Name = "lost"
}
