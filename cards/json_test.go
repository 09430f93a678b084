package cards_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cards"
)

// The golden files can be rewritten; what the interface promises cannot.
func TestJSONFields(t *testing.T) {
	t.Parallel()
	promised := map[string]string{
		"version":              `"1.2.3"`,
		"provider":             `{"organization":"Parley","url":"https://parley.example"}`,
		"documentationUrl":     `"https://parley.example/docs"`,
		"defaultInputModes":    `["text/plain"]`,
		"defaultOutputModes":   `["text/plain","application/json"]`,
		"securitySchemes":      `{"bearer":{"httpAuthSecurityScheme":{"bearerFormat":"JWT","scheme":"bearer"}}}`,
		"securityRequirements": `[{"schemes":{"bearer":{"list":["read"]}}}]`,
	}
	for _, card := range cards.All(base, version) {
		t.Run(card.Name, func(t *testing.T) {
			t.Parallel()
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(cardJSON(t, card), &fields); err != nil {
				t.Fatal(err)
			}
			for name, want := range promised {
				if got := string(fields[name]); got != want {
					t.Errorf("%s = %s, want %s", name, got, want)
				}
			}
			wantEnd := `"uri":"` + cards.NamespaceExtension + `"}],"streaming":true,"pushNotifications":true,"extendedAgentCard":true}`
			if got := string(fields["capabilities"]); !strings.HasSuffix(got, wantEnd) {
				t.Errorf("capabilities = %s, want %s at the end", got, wantEnd)
			}
			for _, name := range []string{"name", "description", "skills", "supportedInterfaces"} {
				if len(fields[name]) <= len(`""`) {
					t.Errorf("%s = %s, want something", name, fields[name])
				}
			}
			url := `{"url":"` + base + "/a2a/" + card.Name + `","protocolBinding":`
			want := `[` + url + `"JSONRPC","protocolVersion":"1.0"},` + url + `"HTTP+JSON","protocolVersion":"1.0"},` +
				`{"url":"parley.example:443","protocolBinding":"GRPC","tenant":"` + card.Name + `","protocolVersion":"1.0"}]`
			if got := string(fields["supportedInterfaces"]); got != want {
				t.Errorf("supportedInterfaces = %s, want %s", got, want)
			}
		})
	}
}

func TestJSONWritesEveryRequirement(t *testing.T) {
	t.Parallel()
	card := cards.NL2QL(base, version)
	card.SecurityRequirements = a2a.SecurityRequirementsOptions{{"bearer": nil, "oauth": {"read", "write"}}, {}}
	card.Skills[0].SecurityRequirements = a2a.SecurityRequirementsOptions{{"mtls": {}}}

	data := cardJSON(t, card)
	for _, want := range []string{
		`"securityRequirements":[{"schemes":{"bearer":{"list":[]},"oauth":{"list":["read","write"]}}},{"schemes":{}}]`,
		`"securityRequirements":[{"schemes":{"mtls":{"list":[]}}}]`,
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %s in %s", want, data)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	unwritable := cards.NL2QL(base, version)
	unwritable.SecuritySchemes["none"] = nil
	for name, card := range map[string]*a2a.AgentCard{"no card": nil, "no scheme": unwritable} {
		if data, err := cards.JSON(card); err == nil {
			t.Errorf("%s: JSON gave %s, want an error", name, data)
		}
		if _, err := cards.WithExamples(card, nil); err == nil {
			t.Errorf("%s: WithExamples gave no error", name)
		}
	}
}
