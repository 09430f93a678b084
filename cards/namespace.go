package cards

import "github.com/a2aproject/a2a-go/v2/a2a"

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
