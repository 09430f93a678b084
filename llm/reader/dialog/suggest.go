package dialog

import (
	"slices"
	"strings"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
)

var (
	// labelWords are last words in names of columns with a different text in each row.
	labelWords = catalog.WordSet("name names title description comment comments note notes text summary content first last surname firstname lastname")
)

const (
	// minGroups and maxGroups bound the distinct values of a column to group by.
	minGroups = 2
	maxGroups = 30
	// maxName limits the name of a column in a question, in characters.
	maxName = 40
	// maxQuestions is how many questions there are about a table.
	maxQuestions = 4
)

// Suggestions returns simple questions about a catalog, the best first: about the table that a
// question mentions, or else about each table in turn. The caller checks whether the reader
// understands them.
func Suggestions(tokens []link.Token, cat *catalog.Catalog) []string {
	s := suggester{cat: cat, asked: meaningfulStems(tokens)}
	type about struct {
		questions []string
		score     int
	}
	var all []about
	mentioned := false
	for t := range cat.Tables {
		questions, score, asked := s.questions(t)
		all, mentioned = append(all, about{questions, score}), mentioned || asked
	}
	slices.SortStableFunc(all, func(a, b about) int { return b.score - a.score })
	var questions []string
	if mentioned {
		questions, all = all[0].questions, all[1:]
	}
	for n := range maxQuestions {
		for _, a := range all {
			if n < len(a.questions) {
				questions = append(questions, a.questions[n])
			}
		}
	}
	return questions
}

// SharesWord reports whether a text has a word of a question that is not a stop word.
func SharesWord(question []link.Token, text string) bool {
	asked := meaningfulStems(question)
	return slices.ContainsFunc(wordsOf(link.Tokenize(text)), func(t link.Token) bool { return asked[t.Stem] })
}

// meaningfulStems returns the stems of the words that are not stop words.
func meaningfulStems(tokens []link.Token) map[string]bool {
	stems := map[string]bool{}
	for _, t := range wordsOf(tokens) {
		if !catalog.StopWords[t.Lower] {
			stems[t.Stem] = true
		}
	}
	return stems
}

type suggester struct {
	cat *catalog.Catalog
	// asked has the stems of the words of the question.
	asked map[string]bool
}

// questions returns the best questions about a table, their score, and whether the question
// mentions the table.
func (s *suggester) questions(t int) (questions []string, score int, asked bool) {
	table := &s.cat.Tables[t]
	rows := "rows"
	if noun := s.cat.Noun(t); noun != "" {
		rows = catalog.Plural(noun)
	}
	mentions := s.countAsked(table.Words)
	score = 4 * mentions
	add := func(fits func(i int) bool, question func(column int) string) {
		i := s.column(table, fits)
		if i < 0 {
			return
		}
		questions = append(questions, question(i))
		score += 2 + 2*s.countAsked(s.cat.Columns[i].Words)
		mentions += s.countAsked(s.cat.Columns[i].Words)
	}
	name := func(i int) string { return catalog.DisplayName(s.cat.Columns[i].Name) }
	add(s.canGroupBy, func(i int) string { return "How many " + rows + " are there for each " + name(i) + "?" })
	measure := s.measure(table)
	add(func(i int) bool { return i == measure }, func(i int) string {
		word, _ := s.aggregate(i)
		return "What is the " + word + " " + name(i) + " of " + rows + "?"
	})
	if s.column(table, s.hasPeriod) >= 0 {
		questions = append(questions, "How many "+rows+" are there per month?")
	}
	return append(questions, "How many "+rows+" are there?"), score, mentions > 0
}

// column returns the fitting column of a table with the most words in the question; -1 for
// none.
func (s *suggester) column(table *catalog.Table, fits func(i int) bool) int {
	best := -1
	for _, i := range table.Columns {
		if fits(i) && (best < 0 || s.countAsked(s.cat.Columns[i].Words) > s.countAsked(s.cat.Columns[best].Words)) {
			best = i
		}
	}
	return best
}

// countAsked counts the words of a name in the question.
func (s *suggester) countAsked(words []string) int {
	n := 0
	for _, w := range words {
		if s.asked[catalog.Stem(w)] {
			n++
		}
	}
	return n
}

// isPlainColumn reports whether a column is neither an identifier nor part of a link, and
// its name is no text.
func (s *suggester) isPlainColumn(i int) bool {
	c := &s.cat.Columns[i]
	last := c.Words[len(c.Words)-1]
	return utf8.RuneCountInString(c.Name) <= maxName && s.cat.Tables[c.Table].Key != i && !s.cat.IsReference(i) && !catalog.IdentifierWords[last] &&
		!slices.ContainsFunc(s.cat.Links, func(l catalog.Link) bool { return l.To == i })
}

// canGroupBy reports whether a column has few distinct texts to group by.
func (s *suggester) canGroupBy(i int) bool {
	c := &s.cat.Columns[i]
	return c.Kind == catalog.Text && s.isPlainColumn(i) && !labelWords[c.Words[len(c.Words)-1]] && c.Distinct >= minGroups && c.Distinct <= maxGroups && c.Distinct < c.Filled
}

// canMeasure reports whether a column has numbers with a useful sum or average.
func (s *suggester) canMeasure(i int) bool {
	c := &s.cat.Columns[i]
	return c.Kind == catalog.Number && !c.IsYear() && s.isPlainColumn(i) && !catalog.NotAveraged[c.Words[len(c.Words)-1]] && c.Filled > 0
}

// totalWords are words in names of numbers whose sum means something, the most useful first.
var totalWords = strings.Fields("revenue sales turnover amount total profit cost costs spend spending expenses budget consumption quantity")

// totalRank returns the place of a column in totalWords; their number for others.
func (s *suggester) totalRank(i int) int {
	at := slices.IndexFunc(totalWords, func(word string) bool { return slices.Contains(s.cat.Columns[i].Words, word) })
	if at < 0 {
		return len(totalWords)
	}
	return at
}

// measure returns the column with the main figure of a table: one that the question has, or else
// one that has a sum; -1 for none.
func (s *suggester) measure(table *catalog.Table) int {
	best := s.column(table, s.canMeasure)
	if best < 0 || s.countAsked(s.cat.Columns[best].Words) > 0 {
		return best
	}
	return s.column(table, func(i int) bool {
		return s.canMeasure(i) && !slices.ContainsFunc(table.Columns, func(other int) bool { return s.canMeasure(other) && s.totalRank(other) < s.totalRank(i) })
	})
}

// aggregate returns the word and the function of the main figure of a column of numbers.
func (s *suggester) aggregate(i int) (word, function string) {
	if s.totalRank(i) < len(totalWords) {
		return "total", "sum"
	}
	return "average", "avg"
}

// hasPeriod reports whether a column has the dates of events.
func (s *suggester) hasPeriod(i int) bool {
	c := &s.cat.Columns[i]
	return c.Kind == catalog.Date && c.Native && c.Least != c.Most && !slices.Contains(c.Words, "birth")
}
