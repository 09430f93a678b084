package net

import (
	"parley/llm/reader/link"
	"parley/llm/reader/pieces"
)

// Limits of the word pieces of an input. Training data has the same.
const (
	maxWordPieces = 6
	maxNamePieces = 14
	// MaxBag is the maximum number of pieces of an item's values.
	MaxBag = 12
)

// Pieces are the word pieces of an input.
type Pieces struct {
	// Question is the question from [pieces.Begin] to [pieces.End], and Words has the item
	// of each of its pieces; -1 for the first and the last.
	Question []int32
	Words    []int
	// Names has the names of tables and columns, as sequences like the question; nil for
	// other items.
	Names [][]int32
	// Bags has the pieces of a value's text or of a column's values, in no order.
	Bags [][]int32
}

// PiecesOf splits the texts of an input into word pieces.
func PiecesOf(v *pieces.Vocabulary, in *link.Input) *Pieces {
	p := &Pieces{Question: []int32{pieces.Begin}, Words: []int{-1}, Names: make([][]int32, len(in.Items)), Bags: make([][]int32, len(in.Items))}
	for i := range in.Items {
		item := &in.Items[i]
		switch {
		case i < in.Question:
			p.Question = appendWords(v, p.Question, item.Words, min(maxWordPieces, maxPieces-1-len(p.Question)))
			for len(p.Words) < len(p.Question) {
				p.Words = append(p.Words, i)
			}
		case i < in.Question+in.Tables+len(in.Columns):
			name := appendWords(v, []int32{pieces.Begin}, item.Words, maxNamePieces)
			p.Names[i] = append(name, pieces.End)
			p.Bags[i] = appendWords(v, nil, item.Cells, MaxBag)
		default:
			p.Bags[i] = appendWords(v, nil, item.Words, MaxBag)
		}
	}
	p.Question, p.Words = append(p.Question, pieces.End), append(p.Words, -1)
	return p
}

func appendWords(v *pieces.Vocabulary, to []int32, words []string, limit int) []int32 {
	end := len(to) + limit
	for _, w := range words {
		to = v.Append(to, w, end-len(to))
	}
	return to
}
