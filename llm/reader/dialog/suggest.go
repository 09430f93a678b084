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
	// genericTableWords are names of tables that do not name the rows.
	genericTableWords = catalog.WordSet("data dataset table sheet file csv export import results result rows list tmp temp test")
)

const (
	// minGroups and maxGroups bound the distinct values of a column to group by.
	minGroups = 2
	maxGroups = 30
	// maxName limits the name of a column in a question, in characters.
	maxName = 40
)

// Suggestions returns a few simple questions about a catalog, the best first, about tables
// and columns that a question mentions if possible. The caller checks whether the reader
// understands them.
func Suggestions(tokens []link.Token, cat *catalog.Catalog) []string {
	s := suggester{cat: cat, asked: meaningfulStems(tokens)}
	var best []string
	most := -1
	for t := range cat.Tables {
		if questions, score := s.questions(t); score > most {
			best, most = questions, score
		}
	}
	return best
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

// questions returns the best questions about a table, and their score.
func (s *suggester) questions(t int) ([]string, int) {
	table := &s.cat.Tables[t]
	rows := "rows"
	if slices.ContainsFunc(table.Words, func(w string) bool { return len(w) > 2 && !genericTableWords[w] }) {
		rows = catalog.Plural(tableDisplayName(table))
	}
	var questions []string
	score := 4 * s.countAsked(table.Words)
	add := func(fits func(i int) bool, before, after string) {
		i := s.column(table, fits)
		if i < 0 {
			return
		}
		questions = append(questions, before+catalog.DisplayName(s.cat.Columns[i].Name)+after)
		score += 2 + 2*s.countAsked(s.cat.Columns[i].Words)
	}
	add(s.canGroupBy, "How many "+rows+" are there for each ", "?")
	add(s.canAverage, "What is the average ", " of "+rows+"?")
	return append(questions, "How many "+rows+" are there?"), score
}

// tableDisplayName returns the words of a table's name: employees for emp, pets for
// tbl_pets.
func tableDisplayName(table *catalog.Table) string {
	name := catalog.DisplayName(table.Name)
	if len(table.Words) == len(strings.Fields(name)) && catalog.ExpandAbbreviation(strings.ToLower(name)) == "" {
		return name
	}
	return strings.Join(table.Words, " ")
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

// canAverage reports whether a column has numbers with a useful average.
func (s *suggester) canAverage(i int) bool {
	c := &s.cat.Columns[i]
	return c.Kind == catalog.Number && s.isPlainColumn(i) && !catalog.NotAveraged[c.Words[len(c.Words)-1]] && c.Filled > 0
}
