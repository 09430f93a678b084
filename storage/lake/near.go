package lake

import (
	"cmp"
	"slices"
	"strings"

	"parley/storage"
)

const (
	// maxNear is how many near misses a message names.
	maxNear = 3
	// maxNamed is how many sources of a query a message names.
	maxNamed = 5
	// maxCandidates is how many names are compared for near misses.
	maxCandidates = storage.MaxColumns
)

// near gives the candidates that someone who wrote name may have meant, the
// nearest first.
func near(name string, candidates []string) []string {
	wanted, ok := comparable(name)
	if !ok {
		return nil
	}
	type option struct {
		name     string
		distance int
	}
	var options []option
	for _, candidate := range candidates[:min(len(candidates), maxCandidates)] {
		c, ok := comparable(candidate)
		if !ok {
			continue
		}
		d := editDistance(wanted, c)
		a, b := string(wanted), string(c)
		switch {
		case d <= (min(len(wanted), len(c))+1)/3:
		case len(a) >= 3 && len(b) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)):
			// "customer" for "customer_id": likely, but after the typing errors.
			d += 3
		default:
			continue
		}
		options = append(options, option{candidate, d})
	}
	slices.SortFunc(options, func(a, b option) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
	})
	var names []string
	for _, o := range options[:min(len(options), maxNear)] {
		names = append(names, o.name)
	}
	return names
}

var joints = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// comparable gives a name as it is compared: in lower case, with what joins
// words left out. It is not ok when the name is too long for that.
func comparable(name string) (runes []rune, ok bool) {
	if len(name) > 4*maxWord {
		return nil, false
	}
	runes = []rune(joints.Replace(strings.ToLower(name)))
	return runes, len(runes) <= maxWord
}

// didYouMean is the end of a message about a name that does not exist: near
// misses, or, when there are none, the first of what exists under the heading.
func didYouMean(name string, candidates []string, heading string) string {
	if names := near(name, candidates); len(names) > 0 {
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
