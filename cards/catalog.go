package cards

const wellKnownPath = "/.well-known/agent-card.json"

// Entry is one agent in the catalog. Its JSON is the wire's. Both URLs are
// absolute when the base URL is.
type Entry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// URL is where the agent takes requests.
	URL string `json:"url"`
	// AgentCard is where the agent's card is read.
	AgentCard string `json:"agentCard"`
}

// Catalog returns an entry for each agent, in order, as seen below baseURL,
// which is that of [NL2QL].
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
