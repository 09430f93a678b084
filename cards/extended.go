package cards

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// WithExamples gives a deep copy of a card in which every skill has the examples: the
// extended card of a caller. It fails only for a card that does not encode as JSON.
func WithExamples(card *a2a.AgentCard, examples []string) (*a2a.AgentCard, error) {
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
	for i := range extended.Skills {
		extended.Skills[i].Examples = slices.Clone(examples)
	}
	return &extended, nil
}
