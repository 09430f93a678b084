package reader

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

// Limits of the datasets that are part of a question's catalog.
const (
	// maxUnfiltered is the number of datasets up to which all are used; of more,
	// maxSelected at most are selected, and maxLinkTables that connect them.
	maxUnfiltered = 12
	maxSelected   = 5
	minSelected   = 2
	maxLinkTables = 2
	// minScoreShare is the part of the best score that a dataset needs to be selected.
	minScoreShare = 0.4
)

// Weights of a word by where the dataset has it.
const (
	inTable   = 1.0
	inColumn  = 0.8
	inHint    = 0.5
	hintToken = 0.5
)

// Similarities of two words: equal, one is a prefix of the other, similar and fairly
// similar vectors.
const (
	sameWord    = 1.0
	prefixWord  = 0.6
	similarWord = 0.7
	weakWord    = 0.3
)

// datasetSelector scores datasets for a question by their names and descriptions alone: the
// selection must not depend on earlier questions.
type datasetSelector struct {
	tokens []link.Token
	// weights has the weight of each token.
	weights []float64
	vec     *vectors.Vectors
	// similarities caches, for each word of a name, the similarity with each token.
	similarities map[string][]float64
}

// selectDatasets returns the datasets that are most relevant to a question, in their order.
// named are earlier queries of the conversation, which name relevant datasets.
func (r *Reader) selectDatasets(question string, task llm.Task, named []turn, datasets []llm.Dataset) []llm.Dataset {
	if len(datasets) <= maxUnfiltered {
		return datasets
	}
	c := newDatasetSelector(question, task.Hints)
	all := make([]*names, len(datasets))
	matches := make([][]float64, len(datasets))
	for i, d := range datasets {
		all[i] = r.namesOf(d)
		matches[i] = c.match(all[i])
	}
	scores := c.scores(all, matches)
	for i, d := range datasets {
		for _, t := range named {
			if strings.Contains(t.sql, ir.Ident(d.Name)) {
				scores[i] += float64(len(c.tokens))
			}
		}
	}
	var chosen []llm.Dataset
	declared := func(from, to int) bool { return isDeclared(task.Links, datasets[from].Name, datasets[to].Name) }
	for _, i := range addLinkTables(topScores(scores), all, declared) {
		chosen = append(chosen, datasets[i])
	}
	return chosen
}

// Fit returns how well each dataset fits a question by its names and descriptions; 0 is not at
// all.
func Fit(question string, datasets []llm.Dataset) []float64 {
	c := newDatasetSelector(question, "")
	all := make([]*names, len(datasets))
	matches := make([][]float64, len(datasets))
	for i, d := range datasets {
		all[i] = newNames(d)
		matches[i] = c.match(all[i])
	}
	return c.scores(all, matches)
}

func newDatasetSelector(question, hints string) *datasetSelector {
	c := &datasetSelector{vec: vectors.Load(), similarities: map[string][]float64{}}
	add := func(text string, weight float64) {
		for _, t := range link.Tokenize(text) {
			if catalog.StopWords[t.Lower] || len(t.Lower) < 2 {
				continue
			}
			c.tokens = append(c.tokens, t)
			c.weights = append(c.weights, weight)
		}
	}
	add(question, 1)
	add(hints, hintToken)
	return c
}

// match returns how well a dataset matches each token.
func (c *datasetSelector) match(n *names) []float64 {
	found := make([]float64, len(c.tokens))
	take := func(words []string, share float64) {
		for _, w := range words {
			for i, a := range c.wordSimilarities(w) {
				found[i] = max(found[i], share*a)
			}
		}
	}
	take(n.table, inTable)
	take(n.columns, inColumn)
	for i, t := range c.tokens {
		if found[i] < inHint && slices.Contains(n.hints, t.Stem) {
			found[i] = inHint
		}
	}
	return found
}

// wordSimilarities returns the similarity of each token with a word of a name.
func (c *datasetSelector) wordSimilarities(word string) []float64 {
	if known, ok := c.similarities[word]; ok {
		return known
	}
	var all []float64
	if !catalog.StopWords[word] && len(word) > 1 {
		all = make([]float64, len(c.tokens))
		stem := catalog.Stem(word)
		for i, t := range c.tokens {
			all[i] = c.similarity(t, word, stem)
		}
	}
	c.similarities[word] = all
	return all
}

func (c *datasetSelector) similarity(t link.Token, word, stem string) float64 {
	switch {
	case t.Stem == stem:
		return sameWord
	case len(word) >= 3 && len(t.Lower) >= 3 && (strings.HasPrefix(t.Lower, word) || strings.HasPrefix(word, t.Lower)):
		return prefixWord
	}
	switch s := c.vec.Similarity(t.Lower, word); {
	case s > link.MinSimilar:
		return similarWord
	case s > link.MinFairlySimilar:
		return weakWord
	}
	return 0
}

// scores sums the matches of each dataset. Words that many datasets have count less, and a
// name whose words are all in the question counts more.
func (c *datasetSelector) scores(all []*names, matches [][]float64) []float64 {
	scores := make([]float64, len(all))
	for t := range c.tokens {
		having := 0
		for _, m := range matches {
			if m[t] >= inHint {
				having++
			}
		}
		rarity := math.Log(1+float64(len(all))/float64(1+having)) / math.Log(1+float64(len(all)))
		for i, m := range matches {
			scores[i] += c.weights[t] * rarity * m[t]
		}
	}
	for i, n := range all {
		joined := strings.Join(n.table, "")
		if len(n.table) > 1 && slices.ContainsFunc(c.tokens, func(t link.Token) bool { return strings.ReplaceAll(t.Lower, "_", "") == joined }) {
			scores[i]++
		}
		said := 0.0
		for _, w := range n.table {
			if known := c.wordSimilarities(w); known != nil {
				said += slices.Max(append([]float64{0}, known...))
			}
		}
		scores[i] += said / float64(max(len(n.table), 1)) / 2
	}
	return scores
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

// topScores returns the indexes of the datasets with the highest scores.
func topScores(scores []float64) []int {
	order := make([]int, len(scores))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	n := 0
	for n < maxSelected && scores[order[n]] > 0 && (n < minSelected || scores[order[n]] >= minScoreShare*scores[order[0]]) {
		n++
	}
	return order[:n]
}

// addLinkTables adds datasets that connect the chosen ones: those that refer to two of
// them, or refer to one and are referred to by another, by their names or by a declared link.
// The result is sorted.
func addLinkTables(chosen []int, all []*names, declared func(from, to int) bool) []int {
	called := func(i int) string { return strings.Join(catalog.Stems(all[i].table), " ") }
	added := 0
	for i := range all {
		if slices.Contains(chosen, i) || added == maxLinkTables {
			continue
		}
		there, back := 0, 0
		for _, c := range chosen {
			switch {
			case slices.Contains(all[i].references, called(c)) || declared(i, c):
				there++
			case slices.Contains(all[c].references, called(i)) || declared(c, i):
				back++
			}
		}
		if there >= 2 || there+back >= 2 && there > 0 {
			chosen = append(chosen, i)
			added++
		}
	}
	slices.Sort(chosen)
	return chosen
}
