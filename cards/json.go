package cards

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// JSON encodes a card as proto3-JSON of A2A 1.0, compact and deterministic. It differs
// from the SDK's encoding in two things: the scopes of a security requirement are an
// object with a list, and capabilities that are off are false instead of absent.
func JSON(card *a2a.AgentCard) ([]byte, error) {
	if card == nil {
		return nil, errors.New("write agent card: there is no card")
	}
	data, err := json.Marshal(document{
		AgentCard: card,
		Capabilities: capabilities{
			AgentCapabilities: card.Capabilities,
			Streaming:         card.Capabilities.Streaming,
			PushNotifications: card.Capabilities.PushNotifications,
			ExtendedAgentCard: card.Capabilities.ExtendedAgentCard,
		},
		Skills:               toSkills(card.Skills),
		SecurityRequirements: toRequirements(card.SecurityRequirements),
	})
	if err != nil {
		return nil, fmt.Errorf("write agent card %q: %w", card.Name, err)
	}
	return data, nil
}

// The types below embed the SDK's and shadow the fields that differ: fields that a later
// SDK adds are not lost.

type document struct {
	*a2a.AgentCard
	Capabilities         capabilities  `json:"capabilities"`
	Skills               []skill       `json:"skills"`
	SecurityRequirements []requirement `json:"securityRequirements,omitempty"`
}

type capabilities struct {
	a2a.AgentCapabilities
	Streaming         bool `json:"streaming"`
	PushNotifications bool `json:"pushNotifications"`
	ExtendedAgentCard bool `json:"extendedAgentCard"`
}

type skill struct {
	a2a.AgentSkill
	SecurityRequirements []requirement `json:"securityRequirements,omitempty"`
}

type requirement struct {
	Schemes map[a2a.SecuritySchemeName]scopes `json:"schemes"`
}

type scopes struct {
	List []string `json:"list"`
}

func toSkills(in []a2a.AgentSkill) []skill {
	out := make([]skill, 0, len(in))
	for _, s := range in {
		out = append(out, skill{AgentSkill: s, SecurityRequirements: toRequirements(s.SecurityRequirements)})
	}
	return out
}

func toRequirements(in a2a.SecurityRequirementsOptions) []requirement {
	out := make([]requirement, 0, len(in))
	for _, option := range in {
		schemes := make(map[a2a.SecuritySchemeName]scopes, len(option))
		for name, list := range option {
			// A nil list would be null, which proto3-JSON readers may refuse.
			schemes[name] = scopes{List: append([]string{}, list...)}
		}
		out = append(out, requirement{Schemes: schemes})
	}
	return out
}
