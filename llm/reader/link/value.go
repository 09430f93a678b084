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

// How a value was found.
const (
	Quoted = iota
	WholeCell
	NumberText
	Capitalized
	PartOfCell
	Period
	DatePart
	Misspelled
	// Suggested values are cells of a column with few values that a word of the
	// question resembles.
	Suggested
	// Earlier values come from the question before.
	Earlier
	foundKinds
)

const (
	maxValues     = 26
	maxSpan       = 9
	maxCells      = 40
	maxPartCells  = 25
	minMisspelled = 5
)

// Found is a value that a question names, and where.
type Found struct {
	ir.Value
	// Start and End are tokens.
	Start, End int
	// How is one of the constants above.
	How int
}

// finder finds the values of one question.
type finder struct {
	tokens []Token
	cat    *catalog.Catalog
	index  *catalog.Index
	found  []Found
	// covered is the length of the longest value that was found at a token.
	covered []int
	// names has the stems of the words that tables and columns are called by.
	names map[string]bool
	// measured has the dimensions that some column is measured in.
	measured map[string]bool
}

// Values finds the values that a question names, in the order of the question.
func Values(tokens []Token, cat *catalog.Catalog, now time.Time) []Found {
	f := &finder{tokens: tokens, cat: cat, index: cat.Index(), covered: make([]int, len(tokens)), names: cat.NameStems(), measured: dimensions(cat)}
	f.quoted()
	f.wholeCells()
	f.periods(now)
	f.numbers()
	f.otherWords()
	f.letters()
	f.misspelled()
	f.capitalized()
	f.partsOfCells()
	f.suggested()
	return f.result()
}

func (f *finder) add(v ir.Value, start, end, how int) {
	f.found = append(f.found, Found{v, start, end, how})
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

// quoted finds what stands in quotation marks.
func (f *finder) quoted() {
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
				text := f.between(i+1, j)
				f.add(ir.Value{Text: text, Exact: true, Cells: cellsByColumn(f.index.FindExact(catalog.Key(catalog.ValueTokens(text))))}, i+1, j, Quoted)
			}
			i = j
			break
		}
	}
}

// between gives the text of tokens as it was written, with single blanks where there
// were any.
func (f *finder) between(start, end int) string {
	var b strings.Builder
	for i := start; i < end; i++ {
		if i > start && f.tokens[i].SpaceBefore {
			b.WriteByte(' ')
		}
		b.WriteString(f.tokens[i].Text)
	}
	return b.String()
}

// wholeCells finds the cells whose words stand in the question, the longest first.
func (f *finder) wholeCells() {
	n := len(f.tokens)
	for length := min(maxSpan, n); length > 0; length-- {
		for i := 0; i+length <= n; i++ {
			if f.longer(i, i+length, length) || f.idle(i, i+length) {
				continue
			}
			cells := f.cells(i, i+length)
			if len(cells) == 0 {
				continue
			}
			f.add(ir.Value{Text: cells[0].Value, Exact: true, Cells: cellsByColumn(cells)}, i, i+length, WholeCell)
			for k := i; k < i+length; k++ {
				f.covered[k] = max(f.covered[k], length+1)
			}
		}
	}
}

// cells finds the cells with just the words of some tokens. A sign that belongs to
// the last one is part of it: O+.
func (f *finder) cells(start, end int) []catalog.Cell {
	text := strings.TrimSuffix(f.between(start, end), "'s")
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

// longer reports whether a longer value was found at a token already.
func (f *finder) longer(start, end, length int) bool {
	for k := start; k < end; k++ {
		if f.covered[k] >= length+1 {
			return true
		}
	}
	return false
}

// idle reports whether tokens cannot be a value: words without meaning, single
// small letters, signs.
func (f *finder) idle(start, end int) bool {
	if end-start == 1 {
		t := f.tokens[start]
		if f.abbreviation(t) {
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

// abbreviation reports whether a word without meaning is written as a cell is, in capitals:
// AT for Austria, IT for a department.
func (f *finder) abbreviation(t Token) bool {
	if !catalog.StopWords[t.Lower] || !allUpper(t.Text) || f.allCapital() {
		return false
	}
	return slices.ContainsFunc(f.index.FindExact(catalog.Key([]string{t.Lower})), func(c catalog.Cell) bool { return c.Value == t.Text })
}

func (f *finder) periods(now time.Time) {
	for _, s := range periods(f.tokens, now) {
		f.add(s.value, s.start, s.end, Period)
		for k := s.start; k < s.end; k++ {
			f.covered[k] = max(f.covered[k], 2)
		}
	}
	for i := range f.tokens {
		if v, end := datePart(f.tokens, i); end > 0 {
			f.add(v, i, end, DatePart)
		}
	}
}

func (f *finder) otherWords() {
	for i, t := range f.tokens {
		words := otherWords[t.Lower]
		end := i + 1
		if i+1 < len(f.tokens) {
			if two := otherWords[t.Lower+" "+f.tokens[i+1].Lower]; two != nil {
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

// result merges values of the same text and keeps the likeliest ones.
func (f *finder) result() []Found {
	var all []Found
	byText := map[string]int{}
	for _, x := range f.found {
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
	slices.SortStableFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(weak(a), weak(b)), cmp.Compare(b.End-b.Start, a.End-a.Start))
	})
	all = all[:min(len(all), maxValues)]
	slices.SortStableFunc(all, func(a, b Found) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	return all
}

func weak(x Found) int {
	switch x.How {
	case PartOfCell, Misspelled:
		return 1
	case Suggested:
		return 2
	}
	return 0
}
