package rules

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/llm"
)

// Limits of a search.
const (
	// searchLimit is how many passages are looked for.
	searchLimit = 5
	// searchedWords is how many words of a question are looked up before it is
	// taken for a search, and searchedRows the most passages for that.
	searchedWords = 12
	searchedRows  = 100_000
)

// searchReading is how the reasoning of a search starts.
const searchReading = "Read as a question of text"

// searchFor makes a search of a question over datasets of passages. It is false
// where the passages do not speak of what is asked.
func searchFor(ctx context.Context, data llm.Data, tokens []token, plain, passages []llm.Dataset) (llm.Query, bool, error) {
	if len(passages) == 0 {
		return llm.Query{}, false, nil
	}
	var words []string
	for i, t := range tokens {
		if !t.mark && (!stopWords[t.lower] || t.quote != 0 || sendsBack(tokens, i)) {
			words = append(words, t.text)
		}
	}
	if len(words) == 0 {
		return llm.Query{}, false, nil
	}
	best, bestScore := passages[0], -1.0
	for _, d := range passages {
		if score := relevance(tokens, llm.Dataset{Name: d.Name, Description: d.Description}); score > bestScore {
			best, bestScore = d, score
		}
	}
	var rows []string // what rows tell of, and not texts
	for _, d := range plain {
		rows = append(rows, nameWords(d.Name)...)
	}
	about := without(nameWords(best.Name+" "+best.Description), rows)
	asked := slices.DeleteFunc(slices.Clone(tokens), func(t token) bool { return slices.Contains(rows, t.lemma) })
	if ok, err := speaksOf(ctx, data, best, about, asked); !ok || err != nil {
		return llm.Query{}, false, err
	}
	text := strings.Join(words, " ")
	return llm.Query{
		Search:     &llm.Search{Dataset: best.Name, Words: text, Limit: searchLimit},
		Reasoning:  searchReading + ": the passages of " + best.Name + " that match “" + text + "” best.",
		Confidence: 0.6,
	}, true, nil
}

// sendsBack reports whether "return" is what is asked about; at the start of a
// sentence it tells what to do.
func sendsBack(tokens []token, i int) bool {
	return tokens[i].lemma == "return" && (i > 0 || i+1 < len(tokens) && !stopWords[tokens[i+1].lower])
}

// fromToday are words that tell a time from today, which no text knows.
var fromToday = set("today tomorrow yesterday tonight")

// asksToCount reports whether a question asks for a count, a sum or a trend. A text
// that has its words is no answer to it. "How many days" asks for a measure, which a
// text may tell.
func asksToCount(tokens []token) bool {
	for i, t := range tokens {
		many := phrase(tokens, i, "how many|often")
		switch {
		case many > 0 && (many == len(tokens) || !units[tokens[many].lemma]):
			return true
		case figureWords[t.lemma], i == 0 && t.lower == "count":
			return true
		case phrase(tokens, i, "number|count of") > 0, phrase(tokens, i, "over time") > 0,
			phrase(tokens, i, "by|per|each|every day|week|month|quarter|year") > 0:
			return true
		}
	}
	return false
}

var (
	figureWords = set("total sum average mean median trend growth develop developed grow grew grown increase increased decrease decreased")
	units       = set("euro dollar pound cent percent second minute hour day week month year bar degree gram kilo kilogram meter kilometer mile liter")
)

// speaksOf reports whether passages have most of the words that say what a
// question is about: all of them where it asks for figures, which texts seldom
// tell, and fewer where the dataset is said to be about one of them. A word that is
// only similar is not looked for.
func speaksOf(ctx context.Context, data llm.Data, d llm.Dataset, about []string, tokens []token) (bool, error) {
	stems, figures := topics(tokens)
	if len(stems) == 0 || data == nil || d.Rows > searchedRows {
		return len(stems) > 0, nil
	}
	var anywhere []string
	for n, stem := range stems {
		pattern := `(^|[^\p{L}\p{N}])` + regexp.QuoteMeta(stem)
		anywhere = append(anywhere, fmt.Sprintf("CAST(coalesce(bool_or(regexp_matches(lower(text), %s)), false) AS INTEGER) AS w%d", literal(pattern), n))
	}
	rows, err := data.Query(ctx, "SELECT "+strings.Join(anywhere, ", ")+" FROM "+ident(d.Name))
	switch {
	case errors.Is(err, llm.ErrBadQuery):
		return true, nil // then the search itself will tell
	case err != nil:
		return false, fmt.Errorf("look for words in passages: %w", err)
	}
	known := 0
	if _, found := cells(rows); len(found) == 1 {
		for _, cell := range found[0] {
			if cell == "1" {
				known++
			}
		}
	}
	topical := slices.ContainsFunc(stems, func(s string) bool {
		return slices.ContainsFunc(about, func(w string) bool { return strings.HasPrefix(strings.ToLower(w), s) })
	})
	switch {
	case figures && !topical:
		return known == len(stems), nil
	case topical && !figures:
		return known > 0, nil
	}
	return known*2 > len(stems), nil
}

// topics are the beginnings of the words that say what a question is about, and
// whether it asks for figures. Names and numbers count where there is nothing
// else: a text may speak of a thing and not of the one that is asked about.
func topics(tokens []token) (stems []string, figures bool) {
	var names []string
	for i, t := range tokens {
		switch {
		case fromToday[t.lower]:
			return nil, false
		case quantityWord(t.lower) || phrase(tokens, i, "how many|often") > 0 || wordIs(t.lower, "per"):
			figures = true
		case t.mark || stopWords[t.lower] && !sendsBack(tokens, i) || crucial[t.lower] || quietWords[t.lower] && len(tokens) > 3:
		case t.isNumber || t.capital && i > 0:
			names = append(names, topic(t))
		default:
			stems = append(stems, topic(t))
		}
	}
	if len(stems) == 0 {
		stems = names
	}
	return first(stems, searchedWords), figures
}

// topic is the beginning of a word that its other forms share.
func topic(t token) string {
	stem := verbStem(t.lemma)
	if len(stem) > 4 {
		stem = strings.TrimRight(stem, "ey")
	}
	return strings.ToLower(stem)
}
