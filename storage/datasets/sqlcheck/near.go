package sqlcheck

import (
	"strings"

	"parley/internal/domain"
	"parley/internal/near"
)

const (
	// maxNear is how many near misses a message names.
	maxNear = 3
	// maxNamed is how many sources of a query a message names.
	maxNamed = 5
	// maxCandidates is how many names are compared for near misses.
	maxCandidates = domain.MaxColumns
)

// didYouMean is the end of a message about a name that does not exist: near
// misses, or, when there are none, the first of what exists under the heading.
func didYouMean(name string, candidates []string, heading string) string {
	if names := near.Names(name, candidates[:min(len(candidates), maxCandidates)], maxNear); len(names) > 0 {
		return "; did you mean " + quoteAll(names, " or ") + "?"
	}
	if heading == "" || len(candidates) == 0 {
		return ""
	}
	const most = 20
	if len(candidates) > most {
		return "; " + heading + " " + quoteAll(candidates[:most], ", ") + " and more"
	}
	return "; " + heading + " " + quoteAll(candidates, ", ")
}

func quoteAll(names []string, between string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = "`" + name + "`"
	}
	return strings.Join(quoted, between)
}
