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

var numberWords = func() map[string]int {
	all := map[string]int{"once": 1, "twice": 2, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100, "dozen": 12}
	for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
		all[w] = i
	}
	return all
}()

var scales = map[string]float64{"hundred": 100, "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}

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
				f.add(ir.Value{Text: text, Exact: true, Cells: cellsByColumn(f.index.Whole(catalog.Key(catalog.ValueTokens(text))))}, i+1, j, Quoted)
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
		if i > start && f.tokens[i].Start > f.tokens[i-1].End {
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
	if end < len(f.tokens) && f.tokens[end].Start == f.tokens[end-1].End {
		if s := f.tokens[end].Text; s == "+" || s == "-" {
			if cells := f.index.Whole(catalog.Key(catalog.ValueTokens(text + s))); len(cells) > 0 {
				return cells
			}
		}
	}
	words := catalog.ValueTokens(text)
	if len(words) == 0 {
		return nil
	}
	return f.index.Whole(catalog.Key(words))
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
		r, _ := utf8.DecodeRuneInString(t.Text)
		return catalog.Stop[t.Lower] || utf8.RuneCountInString(t.Lower) < 2 && !unicode.IsUpper(r) || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	for _, t := range f.tokens[start:end] {
		if !catalog.Stop[t.Lower] {
			return false
		}
	}
	return true
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
			if cells := f.index.Whole(catalog.Key(strings.Fields(w))); len(cells) > 0 {
				f.add(ir.Value{Text: cells[0].Value, Exact: true, Cells: cellsByColumn(cells)}, i, end, WholeCell)
			}
		}
	}
}

// letters finds single letters that the question speaks of: the letter w.
func (f *finder) letters() {
	for i := 1; i < len(f.tokens); i++ {
		if w := f.tokens[i-1].Lower; (w == "letter" || w == "character") && utf8.RuneCountInString(f.tokens[i].Lower) == 1 && isWord(f.tokens[i].Lower) {
			f.add(ir.Value{Text: f.tokens[i].Text}, i, i+1, Quoted)
		}
	}
}

// capitalized finds runs of words that begin with capital letters, which may be names
// that no cell has as a whole.
func (f *finder) capitalized() {
	for i := 0; i < len(f.tokens); {
		if !f.capital(i) || i == 0 && !allUpper(f.tokens[i].Text) || i > 0 && strings.Contains(".?!", f.tokens[i-1].Text) {
			i++
			continue
		}
		end := i + 1
		for end < len(f.tokens) && (f.capital(end) || end+1 < len(f.tokens) && joinsNames[f.tokens[end].Lower] && f.capital(end+1)) {
			end++
		}
		if _, month := months[f.tokens[i].Lower]; !month && !f.inside(i, end) {
			f.add(ir.Value{Text: f.between(i, end), Cells: cellsByColumn(f.containing(i, end))}, i, end, Capitalized)
		}
		i = end
	}
}

var joinsNames = map[string]bool{"of": true, "the": true, "de": true, "&": true, "-": true, "'": true, "and": true}

func (f *finder) capital(i int) bool {
	r, _ := utf8.DecodeRuneInString(f.tokens[i].Text)
	return unicode.IsUpper(r)
}

func allUpper(s string) bool { return len(s) > 1 && strings.ToUpper(s) == s }

// inside reports whether tokens are part of a value that was found.
func (f *finder) inside(start, end int) bool {
	return slices.ContainsFunc(f.found, func(x Found) bool { return x.Start <= start && x.End >= end })
}

// containing finds the cells that contain all words of some tokens.
func (f *finder) containing(start, end int) []catalog.Cell {
	var cells []catalog.Cell
	first := true
	for _, t := range f.tokens[start:end] {
		if len(t.Lower) < 3 || catalog.Stop[t.Lower] {
			continue
		}
		with := f.index.Containing(t.Lower)
		if first {
			cells, first = slices.Clone(with), false
			continue
		}
		cells = slices.DeleteFunc(cells, func(c catalog.Cell) bool { return !slices.Contains(with, c) })
	}
	return cells
}

// partsOfCells finds words that few cells contain.
func (f *finder) partsOfCells() {
	for i, t := range f.tokens {
		if f.covered[i] > 0 || len(t.Lower) < 4 || catalog.Stop[t.Lower] || !isWord(t.Lower) || f.inside(i, i+1) {
			continue
		}
		if cells := f.index.Containing(t.Lower); len(cells) > 0 && len(cells) <= maxPartCells {
			f.add(ir.Value{Text: strings.TrimSuffix(t.Text, "'s"), Cells: cellsByColumn(cells)}, i, i+1, PartOfCell)
		}
	}
}

func isWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// misspelled finds words that are one letter off a cell's, where no name or known
// word is written so.
func (f *finder) misspelled() {
	for i, t := range f.tokens {
		if f.covered[i] > 0 || len(t.Lower) < minMisspelled || catalog.Stop[t.Lower] || !isWord(t.Lower) || f.inside(i, i+1) || f.names[t.Stem] || known(t.Lower) {
			continue
		}
		var best []catalog.Cell
		for _, key := range f.index.Near(t.Stem) {
			best = append(best, f.index.Whole(key)...)
		}
		if len(best) > 0 {
			f.add(ir.Value{Text: best[0].Value, Exact: true, Cells: cellsByColumn(best)}, i, i+1, Misspelled)
			f.covered[i] = 1
		}
	}
}

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
