package cards_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cards"
	"parley/cmd/parley/e2e/helpers/golden"
)

const (
	base    = "https://parley.example/api/v1"
	version = "1.2.3"
)

func TestCardGolden(t *testing.T) {
	t.Parallel()
	for _, card := range cards.All(base, version) {
		golden.Assert(t, card.Name+".json", indented(t, cardJSON(t, card)))
	}
}

func TestAllIsInCatalogOrder(t *testing.T) {
	t.Parallel()
	var names []string
	for _, card := range cards.All(base, version) {
		names = append(names, card.Name)
	}
	if want := []string{"nl2ql", "assistant"}; !slices.Equal(names, want) {
		t.Errorf("names = %q, want %q", names, want)
	}
}

func TestTags(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		card *a2a.AgentCard
		want []string
	}{
		{cards.NL2QL(base, version), []string{"query", "nl2ql"}},
		{cards.Assistant(base, version), []string{"assistant", "rag", "query"}},
	} {
		if len(tc.card.Skills) != 1 {
			t.Fatalf("%s has %d skills, want 1", tc.card.Name, len(tc.card.Skills))
		}
		if got := tc.card.Skills[0].Tags; !slices.Equal(got, tc.want) {
			t.Errorf("tags of %s = %q, want %q", tc.card.Name, got, tc.want)
		}
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, base, agent, docs, site string }{
		{"plain", base, "https://parley.example/api/v1/a2a/nl2ql", "https://parley.example/docs", "https://parley.example"},
		{"trailing slash", base + "/", "https://parley.example/api/v1/a2a/nl2ql", "https://parley.example/docs", "https://parley.example"},
		{"below a path", "http://host:8080/tools/parley/api/v1", "http://host:8080/tools/parley/api/v1/a2a/nl2ql",
			"http://host:8080/tools/parley/docs", "http://host:8080/tools/parley"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			card := cards.NL2QL(tc.base, version)
			if got := card.SupportedInterfaces[0].URL; got != tc.agent {
				t.Errorf("interface = %q, want %q", got, tc.agent)
			}
			if got := card.DocumentationURL; got != tc.docs {
				t.Errorf("documentation = %q, want %q", got, tc.docs)
			}
			if got := card.Provider.URL; got != tc.site {
				t.Errorf("provider = %q, want %q", got, tc.site)
			}
		})
	}
}

func TestGRPCTarget(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://parley.example/api/v1":   "parley.example:443",
		"http://parley.example/x/api/v1":  "parley.example:80",
		"http://127.0.0.1:8080/api/v1":    "127.0.0.1:8080",
		"https://[2001:db8::1]/api/v1":    "[2001:db8::1]:443",
		"http://[2001:db8::1]:99/api/v1/": "[2001:db8::1]:99",
	} {
		card := cards.NL2QL(base, version)
		grpc := card.SupportedInterfaces[2]
		if grpc.ProtocolBinding != a2a.TransportProtocolGRPC || grpc.URL != want || grpc.Tenant != "nl2ql" {
			t.Errorf("%s: %+v, want %s", base, grpc, want)
		}
	}
}

func cardJSON(t *testing.T, card *a2a.AgentCard) []byte {
	t.Helper()
	data, err := cards.JSON(card)
	if err != nil {
		t.Fatalf("JSON: %v", err)
	}
	return data
}

func indented(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Indent(&buf, data, "", "  "); err != nil {
		t.Fatalf("indent: %v", err)
	}
	buf.WriteByte('\n')
	return buf.Bytes()
}
