package cards

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// NamespaceExtension is the URI of the extension with which a client names the namespace
// that it asks about: message.metadata has the payload under this key.
const NamespaceExtension = "urn:parley:namespace:v1"

// namespaceExtension declares the extension, with the JSON schema of its payload.
func namespaceExtension() a2a.AgentExtension {
	return a2a.AgentExtension{
		URI:         NamespaceExtension,
		Description: "Names the namespace that a message asks about. Without it, the agent takes the conversation's, or asks.",
		Params: map[string]any{"schema": map[string]any{
			"type":                 "object",
			"required":             []string{"namespace"},
			"additionalProperties": false,
			"properties": map[string]any{
				"namespace": map[string]any{"type": "string", "description": "A namespace of your own, or owner/namespace."},
				"username":  map[string]any{"type": "string", "description": "The owner, if namespace does not name it."},
			},
		}},
	}
}

// Dataset is a dataset as a skill of a namespace's card.
type Dataset struct {
	Name, Description string
	// Examples are questions about it, to be sent as they are.
	Examples []string
}

// ForNamespace changes the card of an agent to one for a namespace, "owner/name", alone: it
// has a skill for each dataset, and its interfaces have the namespace as their tenant.
// Clients of JSON-RPC that send no tenant name the namespace by the path.
func ForNamespace(card *a2a.AgentCard, namespace string, datasets []Dataset) *a2a.AgentCard {
	agent := card.Name
	card.Name = agent + "/" + namespace
	card.Description += " It answers from the namespace " + namespace + "."
	for _, i := range card.SupportedInterfaces {
		switch i.ProtocolBinding {
		case a2a.TransportProtocolGRPC:
			i.Tenant = agent + "/" + namespace
		case a2a.TransportProtocolJSONRPC:
			i.URL += "/" + namespace
			fallthrough
		default:
			i.Tenant = namespace
		}
	}
	card.Capabilities.Extensions = slices.DeleteFunc(card.Capabilities.Extensions, func(e a2a.AgentExtension) bool {
		return e.URI == NamespaceExtension
	})
	if len(datasets) == 0 {
		return card // which needs a skill
	}
	general := card.Skills[0]
	card.Skills = make([]a2a.AgentSkill, len(datasets))
	for i, dataset := range datasets {
		skill := general
		skill.ID, skill.Name, skill.Examples = dataset.Name, dataset.Name, dataset.Examples
		if skill.Description = dataset.Description; skill.Description == "" {
			skill.Description = "Answers questions about the dataset " + dataset.Name + "."
		}
		card.Skills[i] = skill
	}
	return card
}
