// Package pieces splits words into the word pieces of the pretrained encoder (WordPiece):
// the longest piece of the vocabulary that a word begins with, then the longest one that
// goes on. It knows texts and numbers only.
package pieces

import (
	"cmp"
	"errors"
	"unicode"
	"unicode/utf8"

	"parley/llm/reader/catalog"
)

// The first pieces of a vocabulary: filling, a word without pieces, and the begin and the
// end of a sequence.
const (
	Filling = iota
	Unknown
	Begin
	End
	special
)

const (
	// continued is written before a piece that does not begin a word.
	continued = "##"
	// maxWord is the maximum length of a word with pieces, in bytes.
	maxWord = 100
)

// Vocabulary has the numbers of pieces. It is safe for concurrent use.
type Vocabulary struct {
	// first and next are the pieces that begin a word and that go on.
	first, next map[string]int32
	// longest is the length of the longest piece, in bytes.
	longest int
}

// New returns the vocabulary of a list of pieces.
func New(list []string) (*Vocabulary, error) {
	if len(list) <= special {
		return nil, errors.New("a vocabulary without pieces")
	}
	v := &Vocabulary{first: make(map[string]int32, len(list)), next: map[string]int32{}}
	for i, piece := range list[special:] {
		number := int32(i + special)
		if len(piece) > len(continued) && piece[:len(continued)] == continued {
			piece = piece[len(continued):]
			v.next[piece] = number
		} else {
			v.first[piece] = number
		}
		v.longest = max(v.longest, len(piece))
	}
	return v, nil
}

// Append appends the numbers of a text's pieces, at most limit of them. Letters and digits
// in a row are a word, and any other character is one of its own.
func (v *Vocabulary) Append(to []int32, text string, limit int) []int32 {
	text = catalog.Fold(text)
	end := len(to) + max(limit, 0)
	for len(text) > 0 && len(to) < end {
		n := wordLength(text)
		if r, _ := utf8.DecodeRuneInString(text); !unicode.IsSpace(r) {
			to = v.appendWord(to, text[:n])
		}
		text = text[n:]
	}
	return to[:min(len(to), end)]
}

// wordLength is the length of the first word of a text.
func wordLength(text string) int {
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			_, size := utf8.DecodeRuneInString(text)
			return cmp.Or(i, size)
		}
	}
	return len(text)
}

func (v *Vocabulary) appendWord(to []int32, word string) []int32 {
	if len(word) > maxWord {
		return append(to, Unknown)
	}
	start := len(to)
	known := v.first
	for len(word) > 0 {
		n := min(len(word), v.longest)
		for n > 0 {
			if number, ok := known[word[:n]]; ok {
				to = append(to, number)
				break
			}
			n--
		}
		if n == 0 {
			return append(to[:start], Unknown)
		}
		word, known = word[n:], v.next
	}
	return to
}
