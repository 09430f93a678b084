package link

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
)

// findLetters finds single letters: the letter w.
func (f *valueFinder) findLetters() {
	for i := 1; i < len(f.tokens); i++ {
		if w := f.tokens[i-1].Lower; (w == "letter" || w == "character") && utf8.RuneCountInString(f.tokens[i].Lower) == 1 && isWord(f.tokens[i].Lower) {
			f.add(ir.Value{Text: f.tokens[i].Text}, i, i+1, Quoted)
		}
	}
}

// findCapitalized finds runs of capitalized words, which may be names that are not a whole
// cell.
func (f *valueFinder) findCapitalized() {
	if f.allCapitalized() {
		return
	}
	for i := 0; i < len(f.tokens); {
		if !f.isCapitalized(i) || i == 0 && !allUpper(f.tokens[i].Text) || i > 0 && strings.Contains(".?!", f.tokens[i-1].Text) {
			i++
			continue
		}
		end := i + 1
		for end < len(f.tokens) && (f.isCapitalized(end) || end+1 < len(f.tokens) && nameParticles[f.tokens[end].Lower] && f.isCapitalized(end+1)) {
			end++
		}
		if _, month := months[f.tokens[i].Lower]; !month && !f.isMatched(i, end) {
			f.add(ir.Value{Text: f.textOf(i, end), Cells: cellsByColumn(f.cellsContaining(i, end))}, i, end, Capitalized)
		}
		i = end
	}
}

// minTitleWords is the minimum number of words for title case.
const minTitleWords = 4

// allCapitalized reports whether all words are capitalized, so that capitals do not
// indicate names: HOW MANY ORDERS, and How Many Orders Are There.
func (f *valueFinder) allCapitalized() bool {
	words, shouted := 0, true
	for i, t := range f.tokens {
		if !isWord(t.Lower) {
			continue
		}
		if !f.isCapitalized(i) {
			return false
		}
		words++
		shouted = shouted && strings.ToUpper(t.Text) == t.Text
	}
	return words >= minTitleWords || words > 1 && shouted
}

var nameParticles = map[string]bool{"of": true, "the": true, "de": true, "&": true, "-": true, "'": true, "and": true}

func (f *valueFinder) isCapitalized(i int) bool {
	r, _ := utf8.DecodeRuneInString(f.tokens[i].Text)
	return unicode.IsUpper(r)
}

func allUpper(s string) bool { return len(s) > 1 && strings.ToUpper(s) == s }

// isMatched reports whether tokens are part of a match.
func (f *valueFinder) isMatched(start, end int) bool {
	return slices.ContainsFunc(f.matches, func(x ValueMatch) bool { return x.Start <= start && x.End >= end })
}

// cellsContaining returns the cells that contain all words of some tokens.
func (f *valueFinder) cellsContaining(start, end int) []catalog.Cell {
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

// findPhrases finds several words that some cells contain, also in the singular: members of lists in
// cells, and parts of names.
func (f *valueFinder) findPhrases() {
	for i := 0; i+1 < len(f.tokens); i++ {
		for end := min(i+maxPhrase, len(f.tokens)); end > i+1; end-- {
			if !f.isPhrase(i, end) {
				continue
			}
			text := f.textOf(i, end)
			cells := f.cellsWithPhrase(text)
			if singular, ok := strings.CutSuffix(text, "s"); ok && len(cells) == 0 {
				text, cells = singular, f.cellsWithPhrase(singular)
			}
			if len(cells) > 0 {
				v := ir.Value{Text: text}
				if len(cells) <= maxPartCells {
					v.Cells = cellsByColumn(cells)
				}
				f.add(v, i, end, PartOfCell)
				i = end - 1
				break
			}
		}
	}
}

// isPhrase reports whether tokens can be part of a cell: words of which none is in a match, the first
// and last no stop words, and not all in names.
func (f *valueFinder) isPhrase(start, end int) bool {
	named := true
	for k := start; k < end; k++ {
		t := f.tokens[k]
		if f.coveredLength[k] > 0 || !isWord(t.Lower) || f.isMatched(k, k+1) || questionWords[t.Lower] {
			return false
		}
		named = named && f.names[t.Stem]
	}
	short := func(t Token) bool { return len(t.Lower) < 3 || catalog.StopWords[t.Lower] }
	return !named && !short(f.tokens[start]) && !short(f.tokens[end-1])
}

// cellsWithPhrase returns the cells that contain words one after the other.
func (f *valueFinder) cellsWithPhrase(text string) []catalog.Cell {
	words := catalog.ValueTokens(text)
	if len(words) < 2 {
		return nil
	}
	phrase := " " + strings.Join(words, " ") + " "
	return slices.DeleteFunc(slices.Clone(f.index.FindContaining(words[len(words)-1])), func(c catalog.Cell) bool {
		return !strings.Contains(" "+strings.Join(catalog.ValueTokens(c.Value), " ")+" ", phrase)
	})
}

// findPartsOfCells finds words that cells contain, also in the singular. If many do, they are part of
// the value of none.
func (f *valueFinder) findPartsOfCells() {
	for i, t := range f.tokens {
		if f.coveredLength[i] > 0 || len(t.Lower) < 3 || len(t.Lower) == 3 && (questionWords[t.Lower] || shortWords[t.Lower] || f.names[t.Stem]) || catalog.StopWords[t.Lower] || !isWord(t.Lower) || f.isMatched(i, i+1) {
			continue
		}
		text := strings.TrimSuffix(t.Text, "'s")
		cells := f.index.FindContaining(t.Lower)
		if singular, ok := strings.CutSuffix(t.Lower, "s"); ok && len(cells) == 0 && len(singular) > 3 {
			text, cells = singular, f.index.FindContaining(singular)
		}
		switch {
		case len(cells) > maxPartCells && !f.names[t.Stem]:
			f.add(ir.Value{Text: text}, i, i+1, PartOfCell)
		case len(cells) > 0 && len(cells) <= maxPartCells:
			f.add(ir.Value{Text: text, Cells: cellsByColumn(cells)}, i, i+1, PartOfCell)
		}
	}
}

// shortWords are common words of three letters in questions.
var shortWords = catalog.WordSet("are was had has did who why how all any and but nor not the its our out off own per via one two six ten day top get got let say see ask put set use new old big low few far age sum avg sex pay buy yes now too")

// findMisspelled finds words that are one edit away from a cell and neither an English word
// nor in a name.
func (f *valueFinder) findMisspelled() {
	for i, t := range f.tokens {
		if f.coveredLength[i] > 0 || len(t.Lower) < minMisspelled || catalog.StopWords[t.Lower] || !isWord(t.Lower) || f.isMatched(i, i+1) || f.names[t.Stem] || isEnglishWord(t.Lower) {
			continue
		}
		var best []catalog.Cell
		for _, key := range f.index.FindNear(t.Stem) {
			best = append(best, f.index.FindExact(key)...)
		}
		if len(best) > 0 {
			f.add(ir.Value{Text: best[0].Value, Exact: true, Cells: cellsByColumn(best)}, i, i+1, Misspelled)
			f.coveredLength[i] = 1
		}
	}
}
