package cards

const wellKnownPath = "/.well-known/agent-card.json"

// Entry is one agent in the catalog, as it is sent.
type Entry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// URL receives the agent's requests.
	URL string `json:"url"`
	// AgentCard is the URL of the agent's card.
	AgentCard string `json:"agentCard"`
}

// Catalog returns an entry for each agent; see [NL2QL] for baseURL.
func Catalog(baseURL string) []Entry {
	var entries []Entry
	for _, card := range All(baseURL, "") {
		url := agentURL(baseURL, card.Name)
		entries = append(entries, Entry{
			Name:        card.Name,
			Description: card.Description,
			URL:         url,
			AgentCard:   url + wellKnownPath,
		})
	}
	return entries
}
