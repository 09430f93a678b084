package cards

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Example is a question that an agent answers for a caller, and the namespace that it is
// about, as a client names it.
type Example struct{ Text, Namespace string }

// WithExamples returns a deep copy of a card in which every skill has the examples: the
// extended card of a caller. They are texts to be sent as they are. The params of the
// namespace extension have them with their namespaces, for callers who can read several.
// It fails only for a card that does not encode as JSON.
func WithExamples(card *a2a.AgentCard, examples []Example) (*a2a.AgentCard, error) {
	if card == nil {
		return nil, errors.New("copy agent card: there is no card")
	}
	// Through JSON: a copy field by field would share what a later SDK adds.
	data, err := json.Marshal(card)
	if err != nil {
		return nil, fmt.Errorf("copy agent card: %w", err)
	}
	var extended a2a.AgentCard
	if err := json.Unmarshal(data, &extended); err != nil {
		return nil, fmt.Errorf("copy agent card: %w", err)
	}
	var texts []string
	var named []any
	for _, example := range examples {
		if !slices.Contains(texts, example.Text) {
			texts = append(texts, example.Text)
		}
		named = append(named, map[string]any{"text": example.Text, "namespace": example.Namespace})
	}
	for i := range extended.Skills {
		extended.Skills[i].Examples = slices.Clone(texts)
	}
	for i := range extended.Capabilities.Extensions {
		if extension := &extended.Capabilities.Extensions[i]; extension.URI == NamespaceExtension && extension.Params != nil && len(named) > 0 {
			extension.Params["examples"] = named
		}
	}
	return &extended, nil
}
