package link

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// Kinds of matches: how a value was found.
const (
	Quoted = iota
	WholeCell
	NumberText
	Capitalized
	PartOfCell
	Period
	DatePart
	Misspelled
	// Suggested is a cell of a column with few values that is similar to a word of the
	// question.
	Suggested
	// Earlier is a value of the previous question.
	Earlier
	matchKinds
)

const (
	maxValues     = 26
	maxSpan       = 9
	maxCells      = 40
	maxPartCells  = 25
	minMisspelled = 5
	maxPhrase     = 4
)

// ValueMatch is a value that a question names. Golden files have its field names.
type ValueMatch struct {
	ir.Value
	// Start and End are token positions.
	Start, End int
	// How is the kind of match: one of the constants above.
	How int
}

// valueFinder finds the values of one question.
type valueFinder struct {
	tokens  []Token
	cat     *catalog.Catalog
	index   *catalog.Index
	matches []ValueMatch
	// coveredLength is 0 for a token in no match; for tokens of a whole cell it is one more
	// than the cell's number of tokens.
	coveredLength []int
	// names has the stems of the words in the names of tables and columns.
	names map[string]bool
	// dimensions has the dimensions of the units of all columns.
	dimensions map[string]bool
}

// Values finds the values that a question names, in the order of the question.
func Values(tokens []Token, cat *catalog.Catalog, now time.Time) []ValueMatch {
	tokens = restoreWords(tokens, cat)
	f := &valueFinder{tokens: tokens, cat: cat, index: cat.Index(), coveredLength: make([]int, len(tokens)), names: cat.NameStems(), dimensions: measuredDimensions(cat)}
	f.findQuoted()
	f.findWholeCells()
	f.findPeriods(now)
	f.findNumbers()
	f.findSynonyms()
	f.findLetters()
	f.findMisspelled()
	f.findCapitalized()
	f.findPhrases()
	f.findPartsOfCells()
	f.findSuggestions()
	f.dropWithinNames()
	return f.mergeMatches()
}

func (f *valueFinder) add(v ir.Value, start, end, how int) {
	f.matches = append(f.matches, ValueMatch{v, start, end, how})
}

// cellsByColumn groups cells by their columns.
func cellsByColumn(cells []catalog.Cell) map[int][]string {
	if len(cells) == 0 {
		return nil
	}
	all := map[int][]string{}
	for _, c := range cells[:min(len(cells), maxCells)] {
		all[c.Column] = append(all[c.Column], c.Value)
	}
	return all
}

// findQuoted finds quoted texts.
func (f *valueFinder) findQuoted() {
	for i := 0; i < len(f.tokens); i++ {
		mark := f.tokens[i].Text
		if mark != `"` && mark != "'" {
			continue
		}
		for j := i + 1; j < min(len(f.tokens), i+14); j++ {
			if f.tokens[j].Text != mark {
				continue
			}
			if j > i+1 {
				text := f.textOf(i+1, j)
				f.add(ir.Value{Text: text, Exact: true, Cells: cellsByColumn(f.index.FindExact(catalog.Key(catalog.ValueTokens(text))))}, i+1, j, Quoted)
			}
			i = j
			break
		}
	}
}

// textOf returns the text of tokens as it was written, with single blanks.
func (f *valueFinder) textOf(start, end int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		if i > start && f.tokens[i].SpaceBefore {
			b.WriteByte(' ')
		}
		b.WriteString(f.tokens[i].Text)
	}
	return b.String()
}

// findWholeCells finds cells whose words are all in the question, the longest first.
func (f *valueFinder) findWholeCells() {
	n := len(f.tokens)
	for length := min(maxSpan, n); length > 0; length-- {
		for i := 0; i+length <= n; i++ {
			if f.hasLongerMatch(i, i+length, length) || f.cannotBeValue(i, i+length) {
				continue
			}
			cells := f.cellsEqual(i, i+length)
			if len(cells) == 0 {
				continue
			}
			f.add(ir.Value{Text: cells[0].Value, Exact: true, Cells: cellsByColumn(cells)}, i, i+length, WholeCell)
			for k := i; k < i+length; k++ {
				f.coveredLength[k] = max(f.coveredLength[k], length+1)
			}
		}
	}
}

// cellsEqual returns the cells with exactly the words of some tokens. A sign directly after
// the last token is part of it: O+.
func (f *valueFinder) cellsEqual(start, end int) []catalog.Cell {
	text := strings.TrimSuffix(f.textOf(start, end), "'s")
	if end < len(f.tokens) && !f.tokens[end].SpaceBefore {
		if s := f.tokens[end].Text; s == "+" || s == "-" {
			if cells := f.index.FindExact(catalog.Key(catalog.ValueTokens(text + s))); len(cells) > 0 {
				return cells
			}
		}
	}
	words := catalog.ValueTokens(text)
	if len(words) == 0 {
		return nil
	}
	return f.index.FindExact(catalog.Key(words))
}

// hasLongerMatch reports whether one of the tokens is part of a longer match.
func (f *valueFinder) hasLongerMatch(start, end, length int) bool {
	for k := start; k < end; k++ {
		if f.coveredLength[k] >= length+1 {
			return true
		}
	}
	return false
}

// cannotBeValue reports whether tokens are no value: stop words, single lower-case letters,
// signs.
func (f *valueFinder) cannotBeValue(start, end int) bool {
	if end-start == 1 {
		t := f.tokens[start]
		if f.isAbbreviation(t) {
			return false
		}
		r, _ := utf8.DecodeRuneInString(t.Text)
		return catalog.StopWords[t.Lower] || utf8.RuneCountInString(t.Lower) < 2 && !unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	for _, t := range f.tokens[start:end] {
		if !catalog.StopWords[t.Lower] {
			return false
		}
	}
	return true
}

// isAbbreviation reports whether a stop word in capitals equals a cell: AT for Austria, IT
// for a department.
func (f *valueFinder) isAbbreviation(t Token) bool {
	if !catalog.StopWords[t.Lower] || !allUpper(t.Text) || f.allCapitalized() {
		return false
	}
	return slices.ContainsFunc(f.index.FindExact(catalog.Key([]string{t.Lower})), func(c catalog.Cell) bool { return c.Value == t.Text })
}

func (f *valueFinder) findPeriods(now time.Time) {
	for _, s := range periods(f.tokens, now) {
		f.add(s.value, s.start, s.end, Period)
		for k := s.start; k < s.end; k++ {
			f.coveredLength[k] = max(f.coveredLength[k], 2)
		}
	}
	for i := range f.tokens {
		v, end := datePart(f.tokens, i)
		if end == 0 {
			continue
		}
		if v.Kind == ir.QuarterValue {
			if cells := f.quarterCells(v.Text); len(cells) > 0 {
				v.Cells = cellsByColumn(cells)
				f.add(ir.Value{Text: cells[0].Value, Exact: true, Cells: cellsByColumn(cells)}, i, end, WholeCell)
			}
		}
		f.add(v, i, end, DatePart)
	}
}

// quarterCells returns the cells for a quarter, such as Q3, in columns named quarter.
func (f *valueFinder) quarterCells(number string) []catalog.Cell {
	cells := append(f.index.FindExact(catalog.Key([]string{"q" + number})), f.index.FindExact(catalog.Key([]string{number}))...)
	return slices.DeleteFunc(cells, func(c catalog.Cell) bool {
		column := &f.cat.Columns[c.Column]
		return column.Kind != catalog.Text || !slices.Contains(column.Words, "quarter")
	})
}

func (f *valueFinder) findSynonyms() {
	for i, t := range f.tokens {
		words := synonyms[t.Lower]
		end := i + 1
		if i+1 < len(f.tokens) {
			if two := synonyms[t.Lower+" "+f.tokens[i+1].Lower]; two != nil {
				words, end = two, i+2
			}
		}
		for _, w := range words {
			if cells := f.index.FindExact(catalog.Key(strings.Fields(w))); len(cells) > 0 {
				f.add(ir.Value{Text: cells[0].Value, Exact: true, Cells: cellsByColumn(cells)}, i, end, WholeCell)
			}
		}
	}
}

func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// mergeMatches merges matches of the same text and limits their number, weak ones last.
func (f *valueFinder) mergeMatches() []ValueMatch {
	var all []ValueMatch
	byText := map[string]int{}
	for _, x := range f.matches {
		key := strings.ToLower(x.Text) + "\x00" + strconv.Itoa(int(x.Kind)) + x.Unit
		n, seen := byText[key]
		if !seen {
			byText[key] = len(all)
			all = append(all, x)
			continue
		}
		if x.How == WholeCell {
			all[n].How = WholeCell
		}
		for column, cells := range x.Cells {
			if all[n].Cells == nil {
				all[n].Cells = map[int][]string{}
			}
			if len(all[n].Cells[column]) == 0 {
				all[n].Cells[column] = cells
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ValueMatch) int {
		return cmp.Or(cmp.Compare(matchRank(a), matchRank(b)), cmp.Compare(b.End-b.Start, a.End-a.Start))
	})
	all = all[:min(len(all), maxValues)]
	slices.SortStableFunc(all, func(a, b ValueMatch) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	return all
}

func matchRank(x ValueMatch) int {
	switch x.How {
	case PartOfCell, Misspelled:
		return 1
	case Suggested:
		return 2
	}
	return 0
}
