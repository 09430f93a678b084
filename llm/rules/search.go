package rules

import (
	"strings"

	"parley/llm"
)

// searchLimit is how many passages are looked for.
const searchLimit = 5

// searchReading is how the reasoning of a search starts.
const searchReading = "Read as a question of text"

// searchFor makes a search of a question over datasets of passages.
func searchFor(tokens []token, passages []llm.Dataset) (llm.Query, bool) {
	if len(passages) == 0 {
		return llm.Query{}, false
	}
	var words []string
	for i, t := range tokens {
		// "return" tells what to do only at the start.
		if !t.mark && (!stopWords[t.lower] || t.quote != 0 || i > 0 && t.lemma == "return") {
			words = append(words, t.text)
		}
	}
	if len(words) == 0 {
		return llm.Query{}, false
	}
	best, bestScore := passages[0], -1.0
	for _, d := range passages {
		if score := relevance(tokens, llm.Dataset{Name: d.Name, Description: d.Description}); score > bestScore {
			best, bestScore = d, score
		}
	}
	text := strings.Join(words, " ")
	return llm.Query{
		Search:     &llm.Search{Dataset: best.Name, Words: text, Limit: searchLimit},
		Reasoning:  searchReading + ": the passages of " + best.Name + " that match “" + text + "” best.",
		Confidence: 0.6,
	}, true
}
