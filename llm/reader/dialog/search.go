package dialog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// Limits of a search.
const (
	// searchLimit is the number of passages to find.
	searchLimit = 5
	// maxSearchedWords limits the words of a question that are searched in the passages of
	// at most maxSearchedDatasets, of at most maxSearchedRows each, to decide whether it is
	// a search.
	maxSearchedWords    = 12
	maxSearchedDatasets = 4
	maxSearchedRows     = 100_000
)

// Search makes a query for a question about documents: a search over datasets of passages,
// or the passages of a file that the question names. rows are the other datasets, which the
// question may be about instead. ok is false for a question about rows or aggregates, and
// if no passage has the words.
func Search(ctx context.Context, data llm.Data, tokens []link.Token, rows, passages []llm.Dataset) (llm.Query, bool, error) {
	if len(passages) == 0 || data == nil {
		return llm.Query{}, false, nil
	}
	s := newSearcher(tokens, rows)
	s.data = data
	passages = s.mostRelevant(passages)
	if q, ok, err := s.searchFile(ctx, passages); ok || err != nil {
		return q, ok, err
	}
	if len(s.stems) == 0 || s.asksForAggregate() || s.asksForRows() {
		return llm.Query{}, false, nil
	}
	best, most := "", 0
	for _, d := range passages {
		known, err := s.countFound(ctx, d)
		if err != nil {
			return llm.Query{}, false, err
		}
		if known > most && s.matchesEnough(known, s.countDescribed(d) > 0) {
			best, most = d.Name, known
		}
	}
	if most == 0 {
		return llm.Query{}, false, nil
	}
	words := s.searchWords()
	return llm.Query{
		Search:    &llm.Search{Dataset: best, Words: words, Limit: searchLimit},
		Reasoning: "Read as a question of text: the passages of " + best + " that match “" + words + "” best.",
	}, true, nil
}

// searcher searches passages for the words of a question.
type searcher struct {
	data   llm.Data
	tokens []link.Token
	// stems are patterns for the content words of the question.
	stems []string
	// aggregates says that the question asks for a superlative or an aggregate, which
	// documents rarely have.
	aggregates bool
	// rowStems has the stems of the names of datasets of rows, and namesRows says that the
	// question has one.
	rowStems  map[string]bool
	namesRows bool
}

func newSearcher(tokens []link.Token, rows []llm.Dataset) *searcher {
	s := &searcher{tokens: wordsOf(tokens), rowStems: map[string]bool{}}
	for _, d := range rows {
		for _, stem := range catalog.Stems(catalog.NameWords(d.Name)) {
			s.rowStems[stem] = true
		}
	}
	var names []string
	for i, t := range s.tokens {
		switch {
		case relativeDays[t.Lower]:
			s.stems = nil
			return s
		case s.rowStems[t.Stem]:
			s.namesRows = true
		case aggregateWords[t.Lower] || superlatives[t.Lower]:
			s.aggregates = true
		case isStopWord(s.tokens, i):
		case isNumber(t) || isCapitalized(t) && i > 0:
			names = append(names, stemPattern(t))
		default:
			s.stems = append(s.stems, stemPattern(t))
		}
	}
	// A document may be about the subject without the name: names count only if there is no
	// other word.
	if len(s.stems) == 0 && !s.namesRows {
		s.stems = names
	}
	s.stems = s.stems[:min(len(s.stems), maxSearchedWords)]
	return s
}

var (
	// relativeDays are words for days relative to today, which documents do not know.
	relativeDays = catalog.WordSet("today tomorrow yesterday tonight")
	// quarters are periods of a year, which figures are asked for.
	quarters = catalog.WordSet("q1 q2 q3 q4 quarter quarters")
	// aggregateWords ask for an aggregate, superlatives for an extreme.
	aggregateWords = catalog.WordSet("total sum average mean median trend growth develop developed grow grew grown increase increased decrease decreased distinct different share ratio percentage compare")
	superlatives   = catalog.WordSet(`most least fewest highest lowest largest smallest greatest biggest longest shortest oldest youngest newest latest earliest cheapest best worst
		maximum minimum max min top per`)
	// unitWords are units of numbers that a document may have.
	unitWords = catalog.WordSet("euro euros dollar dollars pound pounds cent cents percent second seconds minute minutes hour hours day days week weeks month months year years bar degrees gram grams kilo kilos kilogram kilograms meter meters metres kilometers kilometres mile miles liter liters litres")
	// searchStopWords are words without meaning for a search.
	searchStopWords = catalog.WordSet(`other another one ones such same own both either neither nor so if but then also just only out up down over under about between among during can could
		would will shall should may might must more less few fewer here want know like need see let say says said kind sort happened happen happens take takes
		took ever yet still currently first last next previous before after old new tell explain describe according document file mention mentions mentioned
		than been being ll ve re don doesn use used uses using via whether amount count information data exactly please`)
)

// isStopWord reports whether a word has no meaning for a search. "Return" at the start is a
// command; elsewhere it may mean goods that are sent back.
func isStopWord(words []link.Token, i int) bool {
	w := words[i].Lower
	if words[i].Stem == "return" {
		return i == 0 && len(words) > 1 && catalog.StopWords[words[1].Lower]
	}
	return catalog.StopWords[w] || searchStopWords[w] || questionWords[w] || conjunctions[w] || backReferences[w] || len(w) < 2
}

// stemPattern returns a pattern for the forms of a word: those that start with its stem.
func stemPattern(t link.Token) string {
	stem := t.Stem
	if len(stem) > 4 {
		stem = strings.TrimSuffix(stem, "y")
	}
	forms := regexp.QuoteMeta(stem)
	if !strings.HasPrefix(t.Lower, stem) {
		forms = "(" + forms + "|" + regexp.QuoteMeta(t.Lower) + ")"
	}
	return `(^|[^\p{L}\p{N}])` + forms
}

// asksForAggregate reports whether a question asks for a count, a sum or a trend, which a
// document does not answer. "How many days" asks for a number that a document may have.
func (s *searcher) asksForAggregate() bool {
	for i, t := range s.tokens {
		switch {
		case matchesPhrase(s.tokens, i, "how many|often"):
			if i+2 == len(s.tokens) || !unitWords[s.tokens[i+2].Lower] {
				return true
			}
		case quarters[t.Lower], aggregateWords[t.Lower], i == 0 && t.Lower == "count", matchesPhrase(s.tokens, i, "number|count of"), matchesPhrase(s.tokens, i, "over time"),
			matchesPhrase(s.tokens, i, "by|per|each|every day|week|month|quarter|year"):
			return true
		}
	}
	return false
}

// asksForRows reports whether a question asks for rows of a dataset: of one that it names,
// of a year, or with more or less than a number.
func (s *searcher) asksForRows() bool {
	if len(s.rowStems) == 0 {
		return false
	}
	for i, t := range s.tokens {
		if isNumber(t) && (s.namesRows || matchesPhrase(s.tokens, i-1, "than") || len(t.Lower) == 4 && (t.Lower[:2] == "19" || t.Lower[:2] == "20")) {
			return true
		}
	}
	return s.namesRows && (s.aggregates || matchesPhrase(s.tokens, 0, "list|show|give|find|display|get|which|who|count|top"))
}

func isNumber(t link.Token) bool { return t.Text[0] >= '0' && t.Text[0] <= '9' }

// searchWords returns the words to search for.
func (s *searcher) searchWords() string {
	var words []string
	for i, t := range s.tokens {
		if !isStopWord(s.tokens, i) {
			words = append(words, t.Text)
		}
	}
	return strings.Join(words, " ")
}

// countDescribed counts the words of the question in the name and description of a dataset.
func (s *searcher) countDescribed(d llm.Dataset) int {
	words := map[string]bool{}
	for _, t := range link.Tokenize(strings.ReplaceAll(d.Name, "_", " ") + " " + d.Description) {
		words[t.Stem] = true
	}
	n := 0
	for i, t := range s.tokens {
		if words[t.Stem] && !isStopWord(s.tokens, i) && !s.rowStems[t.Stem] {
			n++
		}
	}
	return n
}

// mostRelevant returns the datasets with the most matching descriptions.
func (s *searcher) mostRelevant(passages []llm.Dataset) []llm.Dataset {
	sorted := slices.Clone(passages)
	slices.SortStableFunc(sorted, func(a, b llm.Dataset) int { return cmp.Compare(s.countDescribed(b), s.countDescribed(a)) })
	return sorted[:min(len(sorted), maxSearchedDatasets)]
}

// matchesEnough reports whether passages have enough words of the question: most, all if
// the question asks for an aggregate, and one if the description of the dataset matches.
func (s *searcher) matchesEnough(known int, topical bool) bool {
	switch {
	case s.aggregates && !topical:
		return known == len(s.stems)
	case topical && !s.aggregates:
		return known > 0
	}
	return known*2 > len(s.stems)
}

// countFound counts the words of the question in the passages of a dataset and the names of
// their files.
func (s *searcher) countFound(ctx context.Context, d llm.Dataset) (int, error) {
	if d.Rows > maxSearchedRows {
		return min(s.countDescribed(d), len(s.stems)), nil
	}
	found := make([]string, len(s.stems))
	for i, p := range s.stems {
		found[i] = fmt.Sprintf("CAST(coalesce(bool_or(%s OR %s), false) AS INTEGER) AS w%d", matchCondition("text", p), matchCondition("document", p), i)
	}
	rows, err := s.query(ctx, "SELECT "+strings.Join(found, ", ")+" FROM "+ir.Ident(d.Name))
	n := 0
	for _, row := range rows {
		for _, cell := range row {
			if cell == "1" {
				n++
			}
		}
	}
	return n, err
}

func matchCondition(column, pattern string) string {
	return "regexp_matches(strip_accents(lower(" + column + ")), " + ir.Literal(pattern) + ")"
}

// query returns the cells of a result; none for an invalid query.
func (s *searcher) query(ctx context.Context, sql string) ([][]string, error) {
	rows, err := s.data.Query(ctx, sql)
	switch {
	case errors.Is(err, llm.ErrBadQuery):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look for words in passages: %w", err)
	}
	_, cells := rowTexts(rows, jsonText)
	return cells, nil
}
