package cards

import (
	"net/netip"
	"net/url"
)

// AICatalog lists the agents for registries and crawlers, in the format of
// github.com/Agent-Card/ai-catalog, version 1.0. Entries refer to the signed cards instead
// of holding them. They repeat name and description, which the format leaves to the card:
// readers of its drafts require them, and a list can be shown without reading the cards.
type AICatalog struct {
	SpecVersion string          `json:"specVersion"`
	Host        AICatalogHost   `json:"host"`
	Entries     []AICatalogItem `json:"entries"`
}

// AICatalogHost is who offers the agents.
type AICatalogHost struct {
	DisplayName      string `json:"displayName"`
	DocumentationURL string `json:"documentationUrl"`
}

// AICatalogItem is one agent.
type AICatalogItem struct {
	Identifier  string   `json:"identifier"`
	DisplayName string   `json:"displayName"`
	Type        string   `json:"type"`
	URL         string   `json:"url"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Version     string   `json:"version"`
}

// cardMediaType is what the format calls a card.
const cardMediaType = "application/a2a-agent-card+json"

// NewAICatalog makes the catalog; see [NL2QL] for the parameters.
func NewAICatalog(baseURL, version string) AICatalog {
	catalog := AICatalog{SpecVersion: "1.0"}
	for _, card := range All(baseURL, version) {
		catalog.Host = AICatalogHost{DisplayName: card.Provider.Org, DocumentationURL: card.DocumentationURL}
		catalog.Entries = append(catalog.Entries, AICatalogItem{
			Identifier:  identifier(baseURL, card.Name),
			DisplayName: card.Name,
			Type:        cardMediaType,
			URL:         agentURL(baseURL, card.Name) + wellKnownPath,
			Description: card.Description,
			Tags:        card.Skills[0].Tags,
			Version:     card.Version,
		})
	}
	return catalog
}

// identifier names an agent as the format recommends, by the domain of its publisher; by
// its address where that has no domain.
func identifier(baseURL, agent string) string {
	address, err := url.Parse(baseURL)
	if err != nil || address.Hostname() == "" {
		return agentURL(baseURL, agent)
	}
	if _, err := netip.ParseAddr(address.Hostname()); err == nil {
		return agentURL(baseURL, agent)
	}
	return "urn:air:" + address.Hostname() + ":a2a:" + agent
}
