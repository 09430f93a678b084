package rank

import (
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

// fillerWords are further words without meaning for a query: general verbs and words of
// emphasis. Right readings of training questions leave them out.
var fillerWords = catalog.WordSet(`use uses used using come comes came went take takes took taken bring brings brought give gave run runs ran keep kept put
	live lives living happen happens happened occur occurs occurred appear appears seen known noted measured covered filled entered handled represented
	anything anybody something everything everybody stuff single whole entire numbers counts often usually normally generally mostly roughly
	overall altogether once instead far here nowadays moment terms file sheet spreadsheet database i'd we'd you'd`)

// periodWords are words for a part of a date by the keywords that a query does it with.
var periodWords = map[string][]string{
	"weekday": {"weekday"}, "weekdays": {"weekday"}, "daily": {"day"}, "weekly": {"week"}, "monthly": {"month", "monthof"}, "quarterly": {"quarter"},
	"yearly": {"year"}, "annual": {"year"}, "annually": {"year"}, "hourly": {"hour"}, "decades": {"decade"},
}

// periodDone reports whether a query has the part of a date, or the age, that a word names.
func periodDone(word string, keywords map[string]bool) bool {
	if ageWords[word] && keywords["age"] {
		return true
	}
	for _, k := range periodWords[word] {
		if keywords[k] {
			return true
		}
	}
	return false
}

// normalizeCues replaces words that look like another operation: "at least 3" and "at most"
// ask for no extreme, "above 80 %" for no share, and "unpaid" means not paid.
func normalizeCues(tokens []link.Token) []link.Token {
	all := slices.Clone(tokens)
	for i := range all {
		before := ""
		if i > 0 {
			before = tokens[i-1].Lower
		}
		switch word := all[i].Lower; {
		case before == "at" && (word == "least" || word == "most"):
			all[i].Lower = "than"
		case (word == "%" || word == "percent") && before != "" && before[0] >= '0' && before[0] <= '9':
			all[i].Lower = "the"
		case isNegated(word):
			all[i].Lower = "not"
		}
	}
	return all
}

// isNegated reports whether a word is a negated participle: unpaid, unlabelled.
func isNegated(word string) bool {
	done, ok := strings.CutPrefix(word, "un")
	if !ok || len(done) < 4 || vectors.Load().Number(done) < 0 {
		return false
	}
	return strings.HasSuffix(done, "ed") || participles[done]
}

var participles = catalog.WordSet("paid sold sent known seen read done given taken written driven broken spent built bought")

// isSuperlative reports whether a word looks like a superlative, such as "busiest", and the
// query finds an extreme.
func isSuperlative(word string, keywords map[string]bool) bool {
	return len(word) > 5 && strings.HasSuffix(word, "est") && operationMet("extreme", keywords)
}
