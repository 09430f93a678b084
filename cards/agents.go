package cards

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The names of the agents in paths, cards and the catalog.
const (
	NL2QLName     = "nl2ql"
	AssistantName = "assistant"
)

const (
	bearer a2a.SecuritySchemeName = "bearer"
	// access is what a token must be able to do, at least. Without it the list of a requirement
	// would be empty, and the SDKs leave out empty fields of a card before they check its
	// signatures: a card without the requirement would verify.
	access = "read"
)

// NL2QL makes the card of the agent that answers a question with one query and its rows.
// baseURL is the public URL of the API, including /api/v1; version is that of Parley.
func NL2QL(baseURL, version string) *a2a.AgentCard {
	return newCard(baseURL, version, NL2QLName,
		"Writes one read-only SQL query for a question about your data, runs it, and returns the query and its rows.",
		a2a.AgentSkill{
			ID:   NL2QLName,
			Name: "Question to query",
			Description: "Send a question as text, and optionally in the message's metadata.namespace the namespace to ask. " +
				"The artifact generated-query holds the SQL, result-data the rows as a data part.",
			Tags: []string{"query", "nl2ql"},
		})
}

// Assistant makes the card of the agent that plans several queries and answers in prose;
// see [NL2QL].
func Assistant(baseURL, version string) *a2a.AgentCard {
	return newCard(baseURL, version, AssistantName,
		"Plans the steps that a question about your data needs, queries for each, and answers in Markdown from what it found.",
		a2a.AgentSkill{
			ID:   AssistantName,
			Name: "Answers from your data",
			Description: "Send a question as text, and optionally in the message's metadata.namespace the namespace to ask. " +
				"Each query step is an artifact step-N with its SQL and rows; the artifact answer holds the reply.",
			Tags: []string{"assistant", "rag", "query"},
		})
}

// All makes the cards of all agents, in the order of the catalog.
func All(baseURL, version string) []*a2a.AgentCard {
	return []*a2a.AgentCard{NL2QL(baseURL, version), Assistant(baseURL, version)}
}

// attachmentTypes are the media types of files that questions may bring, each with the ends
// of their names.
var attachmentTypes = map[string][]string{
	"application/geo+json":           {".geojson"},
	"application/gzip":               {".gz"},
	"application/json":               {".json"},
	"application/jsonl":              {".jsonl"},
	"application/pdf":                {".pdf"},
	"application/vnd.apache.parquet": {".parquet"},
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       {".xlsx"},
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": {".docx"},
	"application/vnd.sqlite3":   {".sqlite", ".sqlite3", ".db"},
	"application/x-ndjson":      {".ndjson"},
	"application/zip":           {".zip"},
	"text/csv":                  {".csv"},
	"text/html":                 {".html", ".htm", ".xhtml"},
	"text/markdown":             {".md", ".markdown"},
	"text/plain":                {".txt", ".text"},
	"text/tab-separated-values": {".tsv", ".tab"},
}

// AttachmentTypes returns the media types of files that questions may bring, each with the
// ends of their names.
func AttachmentTypes() map[string][]string { return maps.Clone(attachmentTypes) }

func newCard(baseURL, version, name, description string, skill a2a.AgentSkill) *a2a.AgentCard {
	site := siteURL(baseURL)
	skill.InputModes = slices.Sorted(maps.Keys(attachmentTypes))
	return &a2a.AgentCard{
		Name:             name,
		Description:      description,
		Version:          version,
		Provider:         &a2a.AgentProvider{Org: "Parley", URL: site},
		DocumentationURL: site + "/docs",
		Capabilities: a2a.AgentCapabilities{
			Streaming:         true,
			PushNotifications: true,
			ExtendedAgentCard: true,
			Extensions:        []a2a.AgentExtension{namespaceExtension()},
		},
		DefaultInputModes:  []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain", "application/json"},
		Skills:             []a2a.AgentSkill{skill},
		SecuritySchemes: a2a.NamedSecuritySchemes{
			bearer: a2a.HTTPAuthSecurityScheme{Scheme: "bearer", BearerFormat: "JWT"},
		},
		SecurityRequirements: a2a.SecurityRequirementsOptions{{bearer: {access}}},
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(agentURL(baseURL, name), a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(agentURL(baseURL, name), a2a.TransportProtocolHTTPJSON),
			grpcInterface(baseURL, name),
		},
	}
}

// grpcInterface is that of gRPC. Clients take its URL for a target of gRPC, which has no
// scheme and no path: the tenant says which agent is called.
func grpcInterface(baseURL, name string) *a2a.AgentInterface {
	target := ""
	if base, err := url.Parse(baseURL); err == nil {
		port := cmp.Or(base.Port(), map[string]string{"https": "443", "http": "80"}[base.Scheme])
		target = net.JoinHostPort(base.Hostname(), port)
	}
	grpc := a2a.NewAgentInterface(target, a2a.TransportProtocolGRPC)
	grpc.Tenant = name
	return grpc
}

func agentURL(baseURL, name string) string {
	return strings.TrimRight(baseURL, "/") + "/a2a/" + name
}

// siteURL is the URL of the page and the documentation, without /api/v1.
func siteURL(baseURL string) string {
	return strings.TrimSuffix(strings.TrimRight(baseURL, "/"), "/api/v1")
}
