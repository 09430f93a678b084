package cards

import (
	"encoding/json"
	"errors"
	"fmt"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
)

// LegacyPath is where an agent speaks A2A 0.3, below its own URL.
const LegacyPath = "/v0.3"

// LegacyJSON encodes a card as A2A 0.3 has it, with nothing of 1.0. Its one interface is
// JSON-RPC at [LegacyPath], or where a namespace's card has JSON-RPC, which speaks 0.3 too.
func LegacyJSON(card *a2a.AgentCard) ([]byte, error) {
	if card == nil || len(card.SupportedInterfaces) == 0 {
		return nil, errors.New("write agent card: there is no card, or no interface of it")
	}
	url := card.SupportedInterfaces[0].URL
	if card.SupportedInterfaces[0].Tenant == "" {
		url += LegacyPath
	}
	out := legacy.AgentCard{
		ProtocolVersion:    string(legacy.Version),
		Name:               card.Name,
		Description:        card.Description,
		Version:            card.Version,
		DocumentationURL:   card.DocumentationURL,
		IconURL:            card.IconURL,
		Provider:           (*legacy.AgentProvider)(card.Provider),
		URL:                url,
		PreferredTransport: legacy.TransportProtocolJSONRPC,
		DefaultInputModes:  card.DefaultInputModes,
		DefaultOutputModes: card.DefaultOutputModes,
		Capabilities: legacy.AgentCapabilities{
			Streaming: card.Capabilities.Streaming, PushNotifications: card.Capabilities.PushNotifications,
		},
		SupportsAuthenticatedExtendedCard: card.Capabilities.ExtendedAgentCard,
		SecuritySchemes:                   legacy.NamedSecuritySchemes{},
		Security:                          toLegacyRequirements(card.SecurityRequirements),
	}
	for _, e := range card.Capabilities.Extensions {
		out.Capabilities.Extensions = append(out.Capabilities.Extensions, legacy.AgentExtension(e))
	}
	for name, scheme := range card.SecuritySchemes {
		http, ok := scheme.(a2a.HTTPAuthSecurityScheme)
		if !ok {
			return nil, fmt.Errorf("write agent card %q: security scheme of type %T", card.Name, scheme)
		}
		out.SecuritySchemes[legacy.SecuritySchemeName(name)] = legacy.HTTPAuthSecurityScheme{
			Scheme: http.Scheme, BearerFormat: http.BearerFormat, Description: http.Description,
		}
	}
	for _, s := range card.Skills {
		out.Skills = append(out.Skills, legacy.AgentSkill{
			ID: s.ID, Name: s.Name, Description: s.Description, Tags: s.Tags, Examples: s.Examples,
			InputModes: s.InputModes, OutputModes: s.OutputModes, Security: toLegacyRequirements(s.SecurityRequirements),
		})
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write agent card %q: %w", card.Name, err)
	}
	return data, nil
}

func toLegacyRequirements(in a2a.SecurityRequirementsOptions) (out []legacy.SecurityRequirements) {
	for _, option := range in {
		schemes := legacy.SecurityRequirements{}
		for name, list := range option {
			// A nil list would be null.
			schemes[legacy.SecuritySchemeName(name)] = append(legacy.SecuritySchemeScopes{}, list...)
		}
		out = append(out, schemes)
	}
	return out
}
