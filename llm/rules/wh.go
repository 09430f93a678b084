package rules

import "slices"

// askedFor are the words of columns that a question word asks for, likeliest
// first.
var askedFor = map[string][]string{
	"who": {"name", "player", "athlete", "winner", "driver", "rider", "artist", "actor", "director", "candidate", "member", "representative", "author",
		"person", "president", "coach", "manager", "champion", "performer", "singer", "skipper", "nominee", "recipient", "incumbent", "officeholder", "wrestler",
		"team", "club", "opponent", "nation", "country"},
	"where": {"location", "venue", "place", "city", "site", "country", "stadium", "state", "town", "county", "region", "address", "course", "hometown"},
	"when":  {"date", "year", "season", "day", "time", "month", "released", "opened", "built", "established", "term", "founded"},
}

// askedColumn is the column that answers a question that names none.
func (r *reader) askedColumn(t *table) *column {
	taken := func(c *column) bool {
		return slices.ContainsFunc(r.q.conds, func(x cond) bool { return x.column == c && x.op == "in" && !x.negated && len(x.texts) == 1 })
	}
	for _, asks := range []string{"who", "where", "when"} {
		if !slices.ContainsFunc(r.tokens, func(t token) bool { return t.lower == asks || asks == "who" && t.lower == "whose" }) {
			continue
		}
		for _, w := range askedFor[asks] {
			for _, c := range t.columns {
				if slices.Contains(c.words, w) && !taken(c) && (asks == "when" || c.kind == kindText) {
					return c
				}
			}
		}
		if asks == "when" {
			for _, c := range t.columns {
				if c.kind == kindDate {
					return c
				}
			}
		}
	}
	if c := nameColumn(t); c != nil && !taken(c) {
		return c
	}
	var best *column
	for _, c := range t.columns {
		if c.kind == kindText && !taken(c) && (best == nil || c.distinct > best.distinct+best.distinct/4) {
			best = c
		}
	}
	if best == nil {
		return nameColumn(t)
	}
	return best
}

// asksYesNo reports whether the question wants yes or no.
func (r *reader) asksYesNo() bool {
	if len(r.tokens) == 0 || !wordIs(r.lower(0), "is", "are", "was", "were", "did", "does", "do", "has", "have", "had") {
		return false
	}
	return !slices.ContainsFunc(r.tokens, func(t token) bool { return wordIs(t.lower, "or", "how", "which", "what", "who") })
}
