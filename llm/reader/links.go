package reader

import (
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
)

// namedLinks converts the links of a task for a catalog.
func namedLinks(links []llm.Link) []catalog.NamedLink {
	named := make([]catalog.NamedLink, len(links))
	for i, l := range links {
		named[i] = catalog.NamedLink{
			From: l.From, Columns: l.Columns, To: l.To, ToColumns: l.ToColumns,
			ManyFrom: l.ManyFrom, ManyTo: l.ManyTo, Declared: l.Declared, Label: l.Label,
		}
	}
	return named
}

// isDeclared reports whether a user has declared a link from one dataset to another.
func isDeclared(links []llm.Link, from, to string) bool {
	for _, l := range links {
		if l.Declared && strings.EqualFold(l.From, from) && strings.EqualFold(l.To, to) {
			return true
		}
	}
	return false
}
