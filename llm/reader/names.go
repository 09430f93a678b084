package reader

import (
	"cmp"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/profile"
)

// names has the words in the names and descriptions of a dataset and its columns.
type names struct {
	// table has the words of the dataset's name, in order; columns and hints those of
	// column names and of descriptions.
	table, columns, hints []string
	// references has the stems of what columns refer to by their names: customer for
	// customer_id.
	references []string
}

func newNames(d llm.Dataset) *names {
	n := &names{table: catalog.NameWords(cmp.Or(d.DisplayName, d.Name)), hints: catalog.Hints(d.Description)}
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
			n.references = append(n.references, strings.Join(stems, " "))
		}
		n.hints = append(n.hints, catalog.Hints(c.Description)...)
	}
	return n
}

// namesOf returns the names of a dataset, from the cache if possible.
func (r *Reader) namesOf(d llm.Dataset) *names {
	key := profile.KeyOf(d)
	if n, ok := r.names.Get(key); ok {
		return n
	}
	n := newNames(d)
	r.names.Put(key, n, n.size())
	return n
}

// size estimates the memory of names in bytes.
func (n *names) size() int {
	const word = 40
	return word * (4 + len(n.table) + len(n.columns) + len(n.hints) + len(n.references))
}
