package reader

import (
	"strings"
	"sync"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/profile"
)

// names are the words that a dataset and its columns are called by.
type names struct {
	// table are the words of the name, in order; columns and hints those of columns and
	// of descriptions, once each.
	table, columns, hints []string
	// refers are the columns whose names say that they refer to something, by its
	// stems: customer for customer_id.
	refers []string
}

func namesOf(d llm.Dataset) *names {
	n := &names{table: catalog.NameWords(d.Name), hints: catalog.Hints(d.Description)}
	seen := map[string]bool{}
	for _, c := range d.Columns {
		if strings.HasPrefix(c.Name, "__") {
			continue
		}
		words := catalog.NameWords(c.Name)
		for _, w := range words {
			if !seen[w] {
				seen[w] = true
				n.columns = append(n.columns, w)
			}
		}
		if stems, ok := catalog.Reference(words); ok {
			n.refers = append(n.refers, strings.Join(stems, " "))
		}
		n.hints = append(n.hints, catalog.Hints(c.Description)...)
	}
	return n
}

// maxNames is how many datasets' names are kept.
const maxNames = 2_000

// nameCache keeps the names of datasets. It is safe for concurrent use.
type nameCache struct {
	mu  sync.Mutex
	all map[profile.Key]*names
}

// get gives the names of a dataset.
func (c *nameCache) get(key profile.Key, d llm.Dataset) *names {
	c.mu.Lock()
	n, ok := c.all[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = namesOf(d)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= maxNames {
		c.all = map[profile.Key]*names{}
	}
	c.all[key] = n
	return n
}
