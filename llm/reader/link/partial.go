package link

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

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
	if f.allCapital() {
		return
	}
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

// titleWords is the fewest words of a question in which capitals begin all words.
const titleWords = 4

// allCapital reports whether capitals tell no names from other words: HOW MANY ORDERS, and
// How Many Orders Are There.
func (f *finder) allCapital() bool {
	words, shouted := 0, true
	for i, t := range f.tokens {
		if !isWord(t.Lower) {
			continue
		}
		if !f.capital(i) {
			return false
		}
		words++
		shouted = shouted && strings.ToUpper(t.Text) == t.Text
	}
	return words >= titleWords || words > 1 && shouted
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
		if len(t.Lower) < 3 || catalog.StopWords[t.Lower] {
			continue
		}
		with := f.index.FindContaining(t.Lower)
		if first {
			cells, first = slices.Clone(with), false
			continue
		}
		cells = slices.DeleteFunc(cells, func(c catalog.Cell) bool { return !slices.Contains(with, c) })
	}
	return cells
}

// partsOfCells finds words that few cells contain, in the singular too.
func (f *finder) partsOfCells() {
	for i, t := range f.tokens {
		if f.covered[i] > 0 || len(t.Lower) < 3 || len(t.Lower) == 3 && (asking[t.Lower] || shortWords[t.Lower] || f.names[t.Stem]) || catalog.StopWords[t.Lower] || !isWord(t.Lower) || f.inside(i, i+1) {
			continue
		}
		text := strings.TrimSuffix(t.Text, "'s")
		cells := f.index.FindContaining(t.Lower)
		if singular, ok := strings.CutSuffix(t.Lower, "s"); ok && len(cells) == 0 && len(singular) > 3 {
			text, cells = singular, f.index.FindContaining(singular)
		}
		if len(cells) > 0 && len(cells) <= maxPartCells {
			f.add(ir.Value{Text: text, Cells: cellsByColumn(cells)}, i, i+1, PartOfCell)
		}
	}
}

// shortWords are words of three letters that questions are made of.
var shortWords = words("are was had has did who why how all any and but nor not the its our out off own per via one two six ten day top get got let say see ask put set use new old big low few far age sum avg sex pay buy yes now too")

// misspelled finds words that are one letter off a cell's, where no name or known
// word is written so.
func (f *finder) misspelled() {
	for i, t := range f.tokens {
		if f.covered[i] > 0 || len(t.Lower) < minMisspelled || catalog.StopWords[t.Lower] || !isWord(t.Lower) || f.inside(i, i+1) || f.names[t.Stem] || known(t.Lower) {
			continue
		}
		var best []catalog.Cell
		for _, key := range f.index.FindNear(t.Stem) {
			best = append(best, f.index.FindExact(key)...)
		}
		if len(best) > 0 {
			f.add(ir.Value{Text: best[0].Value, Exact: true, Cells: cellsByColumn(best)}, i, i+1, Misspelled)
			f.covered[i] = 1
		}
	}
}
