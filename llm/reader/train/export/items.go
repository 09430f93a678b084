package main

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/train/dataset"
	"parley/llm/reader/train/synth"
)

// The origin of an item.
const (
	fromPeople = iota
	fromTemplate
	fromElsewhere
)

// item is a question with its query, whose values are literals; unanswerable says that the
// data has no answer.
type item struct {
	question     string
	query        *ir.Query
	unanswerable bool
	origin       int
	// before is the previous question of a follow-up, with its query.
	before *item
}

func seedOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// templatesPerDatabase is the number of template questions for a database, by its set.
var templatesPerDatabase = map[string]int{"spider": 500, "own": 500, "public": 500, "wtq": 60}

func (s *source) templateItems() []item {
	if dataset.Part(s.name) != dataset.Train {
		return nil
	}
	set, _, _ := strings.Cut(s.name, "/")
	var all []item
	for _, q := range synth.New(s.cat, templatesPerDatabase[set], seedOf(s.name)) {
		one := item{question: q.Text, query: q.Query, origin: fromTemplate}
		if q.Before != nil {
			one.before = &item{question: q.Before.Text, query: q.Before.Query}
		}
		all = append(all, one)
	}
	return all
}

// exampleItems returns the items of a database's examples.
func (s *source) exampleItems() []item {
	byQuestion := map[string]*item{}
	var all []item
	for i := range s.examples {
		all = append(all, s.items(s.examples[i:i+1], byQuestion)...)
	}
	return all
}

// itemsWithOtherValues returns the items of a database's examples with other values.
func (s *source) itemsWithOtherValues(rng *rand.Rand) []item {
	var others []dataset.Example
	for i := range s.examples {
		if e, ok := withOtherValues(s.examples[i], s.cat, rng); ok {
			others = append(others, e)
		}
	}
	return s.items(others, map[string]*item{})
}

// items converts examples. byQuestion has the items before, for follow-ups.
func (s *source) items(examples []dataset.Example, byQuestion map[string]*item) []item {
	var all []item
	for i := range examples {
		e := &examples[i]
		one := item{question: e.Question, unanswerable: e.IR == ""}
		if !one.unanswerable {
			q, err := e.Query()
			if err != nil {
				continue
			}
			one.query = q
		}
		if len(e.After) > 0 {
			one.before = byQuestion[e.After[len(e.After)-1]]
			if one.before == nil || one.before.unanswerable {
				continue
			}
		}
		copied := one
		byQuestion[e.Question] = &copied
		all = append(all, one)
	}
	return all
}

// variants returns a question and informal spellings of it, for training.
func variants(one item, rng *rand.Rand) []item {
	all := []item{one, informal(one, rng), informal(one, rng)}
	return all
}

// informal returns a question in informal spelling: in lower case, without punctuation and
// some small words.
func informal(one item, rng *rand.Rand) item {
	if strings.ContainsAny(one.question, `"'“”`) {
		one.question = strings.TrimRight(one.question, "?. ")
		return one
	}
	if rng.Float64() < 0.5 {
		one.question = strings.ToLower(one.question)
	}
	var words []string
	for _, w := range strings.Fields(strings.TrimRight(one.question, "?. ")) {
		if smallWords[strings.ToLower(w)] && rng.Float64() < 0.15 {
			continue
		}
		words = append(words, w)
	}
	one.question = strings.Join(words, " ")
	return one
}

var smallWords = map[string]bool{"the": true, "a": true, "of": true, "all": true, "please": true, "an": true, "for": true, "are": true, "is": true, "me": true}

// example makes the input and the target of an item; ok is false if the question lacks a
// value of the query.
func example(one item, cat *catalog.Catalog) (in *link.Input, target []ir.Token, ok bool) {
	tokens := link.Tokenize(one.question)
	if len(tokens) == 0 {
		return nil, nil, false
	}
	found := link.Values(tokens, cat, dataset.Now)
	var earlier *link.EarlierQuery
	values := found
	if one.before != nil {
		words := link.Tokenize(one.before.question)
		before := link.Values(words, cat, dataset.Now)
		t, err := dataset.Tokens(one.before.query, before, cat)
		if err != nil {
			return nil, nil, false
		}
		earlier = &link.EarlierQuery{Tokens: t, Values: before}
		values = append(slices.Clip(values), before...)
	}
	var keep []int
	if !one.unanswerable {
		t, err := dataset.Tokens(one.query, values, cat)
		if err != nil {
			return nil, nil, false
		}
		target = t
		for _, x := range t {
			if x.Class == ir.ColumnRef {
				keep = append(keep, x.N)
			}
		}
	}
	return link.New(tokens, cat, found, earlier, keep), target, true
}
