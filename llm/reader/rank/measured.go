package rank

import (
	"cmp"
	"slices"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

var (
	// measureCues are words before what is computed.
	measureCues = catalog.WordSet(`total totals sum average averages avg mean median highest lowest maximum minimum max min most least fewest
		largest smallest biggest greatest`)
	// generalMeasures are words for figures of any kind of thing. Other words mean figures of
	// certain things: fines are no fees, although both are money.
	generalMeasures = catalog.WordSet(`amount amounts value values worth number numbers figure figures total totals sum sums quantity quantities unit units piece pieces
		count volume volumes level levels measurement measurements money cash revenue revenues turnover income sales spend spending spent pay paid payment payments cost costs
		price prices charge charges bill bills length lengths duration durations time times distance distances km kilometre kilometres kilometer kilometers mile miles
		metre metres meter meters second seconds minute minutes hour hours day days week weeks month months year years
		weight weights kg kilograms height heights width depth size sizes area age ages score scores rating ratings grade grades rate rates percentage`)
)

// maxGuess is the highest confidence of a figure of something that the data does not have.
const maxGuess = 0.5

// minCount is the least confidence of a count of all rows whose question counts something that
// the query does not name: with less, it is often something else.
const minCount = 0.9

// unknownMeasure returns the words that say what is computed, as in "total bribes" and "total
// amount of bribes", if they are neither names in the query nor general; nil for none.
// Similar words are not enough: they are often other things of the same kind.
func (q *Question) unknownMeasure(tokens []ir.Token, used []bool) []int {
	if q.Input.Earlier > 0 || !q.computesUnnamed(tokens) {
		return nil
	}
	for i, t := range q.Tokens {
		if !measureCues[t.Lower] {
			continue
		}
		phrase := q.phraseAfter(i)
		if len(phrase) > 0 && !slices.ContainsFunc(phrase, func(word int) bool { return q.mayMeasure(word, used) }) {
			return phrase
		}
	}
	return nil
}

// computesUnnamed reports whether a query computes a figure of a column that no word names,
// or only a general word.
func (q *Question) computesUnnamed(tokens []ir.Token) bool {
	for i, t := range tokens {
		if t.Class != ir.ColumnRef || i == 0 || tokens[i-1].Class != ir.Keyword {
			continue
		}
		switch ir.Keywords[tokens[i-1].N] {
		case "sum", "avg", "median", "min", "max":
			if item := q.Input.ItemOf(t); item >= 0 && !q.isNamedSpecifically(item) {
				return true
			}
		}
	}
	return false
}

// isNamedSpecifically reports whether a word that is not general names an item.
func (q *Question) isNamedSpecifically(item int) bool {
	for word := range q.Input.Question {
		if q.relations(word, item)&namingRelations != 0 && !generalMeasures[q.Tokens[word].Lower] {
			return true
		}
	}
	return false
}

func (q *Question) relations(word, item int) uint64 {
	return q.Input.Relations[word*len(q.Input.Items)+item]
}

// phraseAfter returns the words that say what is computed, after a cue: bribes in "total of
// all bribes" and "total amount of bribes". A general word without "of" is enough.
func (q *Question) phraseAfter(cue int) []int {
	var phrase []int
	for i := cue + 1; i < len(q.Tokens); i++ {
		t := q.Tokens[i]
		isOf := i+1 < len(q.Tokens) && q.Tokens[i+1].Lower == "of"
		switch {
		case measureCues[t.Lower]:
			return phrase
		case len(phrase) == 0 && (beforeMeasure[t.Lower] || generalMeasures[t.Lower] && isOf):
		case q.isIgnored(i, t) || fillerWords[t.Lower]:
			return phrase
		default:
			phrase = append(phrase, i)
		}
	}
	return phrase
}

// beforeMeasure are words between a cue and what is computed.
var beforeMeasure = catalog.WordSet("of the a an all any our my your their its this these those single")

// mayMeasure reports whether a word can say what a query computes.
func (q *Question) mayMeasure(word int, used []bool) bool {
	lower := q.Tokens[word].Lower
	if generalMeasures[lower] || operationOf(lower) != "" {
		return true
	}
	for item := q.Input.Question; item < len(used); item++ {
		bits := q.relations(word, item)
		if used[item] && (bits&(namingRelations|1<<link.Described|1<<link.Prefix) != 0 || bits&(1<<link.Similar) != 0 && isSimilarToName(lower, q.Input.Items[item].Words)) {
			return true
		}
	}
	return false
}

// isSimilarToName reports whether a word is similar to a word of a name that is not general:
// nearly every noun of business is similar to "amount".
func isSimilarToName(word string, name []string) bool {
	return slices.ContainsFunc(name, func(w string) bool {
		return !generalMeasures[w] && vectors.Load().Similarity(word, w) > link.MinSimilar
	})
}

// unknownCount returns the words that say what is counted, as in "how many helmets" and
// "number of helmets", if a query counts all rows of a table and reflects none of the words;
// nil for none.
func (q *Question) unknownCount(tokens []ir.Token, keywords map[string]bool, unread []int) []int {
	isColumn := func(t ir.Token) bool { return t.Class == ir.ColumnRef }
	if q.Input.Earlier > 0 || len(tokens) > maxCountTokens || !keywords["count"] || slices.ContainsFunc(tokens, isColumn) {
		return nil
	}
	for i, t := range q.Tokens {
		isCue := t.Lower == "many" || (t.Lower == "number" || t.Lower == "count") && i+1 < len(q.Tokens) && q.Tokens[i+1].Lower == "of"
		if !isCue {
			continue
		}
		phrase := slices.DeleteFunc(q.phraseAfter(i), func(word int) bool { return operationOf(q.Tokens[word].Lower) != "" })
		if len(phrase) > 0 && !slices.ContainsFunc(phrase, func(word int) bool { return !slices.Contains(unread, word) }) {
			return phrase
		}
	}
	return nil
}

// isUnrelated reports whether words have none of some relations to any name or value.
func (q *Question) isUnrelated(words []int, relations uint64) bool {
	return !slices.ContainsFunc(words, func(word int) bool {
		return vectors.Load().Number(q.Tokens[word].Lower) < 0 || q.hasRelation(word, relations)
	})
}

// averagesUnnamed reports whether a query averages by group a column that no word has to do
// with: "average orders per month" may mean the average of counts.
func (q *Question) averagesUnnamed(tokens []ir.Token, keywords map[string]bool) bool {
	for i, t := range tokens[:max(0, len(tokens)-1)] {
		if c := tokens[i+1]; keywords["group"] && t.Is("avg") && c.Class == ir.ColumnRef && q.Input.Earlier == 0 && !q.isMeant(c) {
			return true
		}
	}
	return false
}

// isMeant reports whether a word has the name of a column, or a word that asks for no
// operation and names no table names or resembles a part of it.
func (q *Question) isMeant(column ir.Token) bool {
	item := q.Input.ItemOf(column)
	if item < 0 {
		return true
	}
	for word := range q.Input.Question {
		t, bits := q.Tokens[word], q.relations(word, item)
		isPlain := operationOf(t.Lower) == "" && !q.isIgnored(word, t) && !q.hasRelation(word, 1<<link.ExactTable)
		if bits&(1<<link.ExactColumn) != 0 || isPlain && bits&(namingRelations|similarRelations|weakRelations) != 0 {
			return true
		}
	}
	return false
}

// countsOtherUnit reports whether a question counts in one unit and the query adds up another:
// "how many sunny days" is no sum of sunshine hours.
func (q *Question) countsOtherUnit(tokens []ir.Token) bool {
	asked := ""
	for i, t := range q.Tokens[:max(0, len(q.Tokens)-1)] {
		if t.Lower == "many" {
			for _, next := range q.Tokens[i+1 : min(len(q.Tokens), i+1+maxCounted)] {
				asked = cmp.Or(asked, catalog.Unit(next.Lower))
			}
		}
	}
	for i, t := range tokens[:max(0, len(tokens)-1)] {
		if next := tokens[i+1]; asked != "" && t.Is("sum") && next.Class == ir.ColumnRef {
			if unit := q.Catalog.Columns[next.N].Unit; unit != "" && unit != asked {
				return true
			}
		}
	}
	return false
}

// maxCounted is how many words after "many" can be what is counted.
const maxCounted = 2

// durationUnit returns the first unit of time that the question names, of those that a duration
// between times can have; "" for none.
func (q *Question) durationUnit() string {
	for _, t := range q.Tokens {
		for _, unit := range []string{"second", "minute", "hour", "day"} {
			if t.Stem == catalog.Stem(unit) {
				return unit
			}
		}
	}
	return ""
}
