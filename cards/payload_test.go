package cards_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/cards"
)

func TestPayloads(t *testing.T) {
	t.Parallel()
	const interfaces = `"supportedInterfaces":[{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"u"}]`
	const others = `"defaultInputModes":[],"defaultOutputModes":[],`
	for name, test := range map[string]struct {
		document string
		want     map[cards.Form]string
	}{
		// The example of section 8.4.1: required fields stay, optional ones that are set
		// stay, empty lists go.
		"the specification's": {
			`{"name":"Example Agent","description":"","capabilities":{"streaming":false,"pushNotifications":false,"extensions":[]},"skills":[],` + interfaces + `}`,
			map[cards.Form]string{
				cards.FormStandard: `{"capabilities":{"pushNotifications":false,"streaming":false},` + others + `"description":"","name":"Example Agent","skills":[],` + interfaces + `,"version":""}`,
				cards.FormSDK:      `{"capabilities":{"pushNotifications":false,"streaming":false},"name":"Example Agent",` + interfaces + `}`,
				cards.FormDocument: `{"capabilities":{"extensions":[],"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[],` + interfaces + `}`,
			},
		},
		"signatures are left out": {
			`{"supportedInterfaces":[],"signatures":[{"protected":"x","signature":"y"}]}`,
			map[cards.Form]string{
				cards.FormStandard: `{"capabilities":{},` + others + `"description":"","name":"","skills":[],"supportedInterfaces":[],"version":""}`,
				cards.FormSDK:      `{}`,
				cards.FormDocument: `{"supportedInterfaces":[]}`,
			},
		},
		"maps, nulls, free JSON and later fields": {
			`{"name":"n","description":"d","version":"1","defaultInputModes":["a"],"defaultOutputModes":["b"],` + interfaces + `,"documentationUrl":"","iconUrl":null,
			  "capabilities":{"extensions":[{"uri":"x","required":false,"description":"","params":{"zero":0,"none":null,"empty":{},"b":[{}]}}]},
			  "skills":[{"id":"i","name":"n","description":"d","tags":["t"],"examples":[]}],
			  "securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer","description":""}}},
			  "securityRequirements":[{"schemes":{"b":{"list":[]}}}],"later":{"flag":false}}`,
			map[cards.Form]string{
				cards.FormStandard: `{"capabilities":{"extensions":[{"params":{"b":[{}],"empty":{},"none":null,"zero":0},"uri":"x"}]},"defaultInputModes":["a"],"defaultOutputModes":["b"],"description":"d","documentationUrl":"","later":{"flag":false},"name":"n",` +
					`"securityRequirements":[{"schemes":{"b":{}}}],"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},` +
					`"skills":[{"description":"d","id":"i","name":"n","tags":["t"]}],` + interfaces + `,"version":"1"}`,
				cards.FormSDK: `{"capabilities":{"extensions":[{"params":{"zero":0},"uri":"x"}]},"defaultInputModes":["a"],"defaultOutputModes":["b"],"description":"d","later":{"flag":false},"name":"n",` +
					`"securitySchemes":{"b":{"httpAuthSecurityScheme":{"scheme":"bearer"}}},` +
					`"skills":[{"description":"d","id":"i","name":"n","tags":["t"]}],` + interfaces + `,"version":"1"}`,
				cards.FormDocument: `{"capabilities":{"extensions":[{"description":"","params":{"b":[{}],"empty":{},"none":null,"zero":0},"required":false,"uri":"x"}]},"defaultInputModes":["a"],"defaultOutputModes":["b"],"description":"d","documentationUrl":"","iconUrl":null,"later":{"flag":false},"name":"n",` +
					`"securityRequirements":[{"schemes":{"b":{"list":[]}}}],"securitySchemes":{"b":{"httpAuthSecurityScheme":{"description":"","scheme":"bearer"}}},` +
					`"skills":[{"description":"d","examples":[],"id":"i","name":"n","tags":["t"]}],` + interfaces + `,"version":"1"}`,
			},
		},
		"a card before 1.0": {
			`{"url":"u","protocolVersion":"0.3.0","security":[{"bearer":[]}],"signatures":[]}`,
			map[cards.Form]string{
				cards.FormDocument: `{"protocolVersion":"0.3.0","security":[{"bearer":[]}],"url":"u"}`,
			},
		},
		"one form": {`{"url":"u"}`, map[cards.Form]string{cards.FormDocument: `{"url":"u"}`}},
	} {
		got, err := cards.Payloads([]byte(test.document))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (- want, + got):\n%s", name, diff)
		}
	}
	for _, document := range []string{``, `null`, `[]`, `"card"`, `{"name":1,"name":2}`, "{\"name\":\"\xff\"}", `{"supportedInterfaces":1e999}`} {
		if got, err := cards.Payloads([]byte(document)); err == nil {
			t.Errorf("%s: %v", document, got)
		}
	}
}
