// Package link splits a question into tokens and connects them with a catalog (schema
// linking): values that it names, periods of time, names of tables and columns. The result
// is the input of the network and the values that its output refers to. It runs no query
// and leaves the choice among alternatives to packages net and rank.
package link

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a question.
const (
	maxQuestionBytes = 4_000
	// MaxTokens is the maximum number of tokens; the rest of a question is ignored.
	MaxTokens = 50
)

// Token is a word, a number or a sign of a question.
type Token struct {
	// Text is the token as it was written, Lower the folded text without 's, and Stem its
	// stem. Long is the stem of the word that an abbreviation means, and the stem of a word with a
	// doubled letter without it; "" for other words.
	Text, Lower, Stem, Long string
	// Start and End are byte positions in the question. The words for a comparison sign
	// have the position of the sign.
	Start, End int
	// SpaceBefore says that the token does not directly follow the one before it.
	SpaceBefore bool
}

// FitsLimit reports whether a question is within the limits.
func FitsLimit(question string) bool {
	return len(question) <= maxQuestionBytes && len(tokenize(question, MaxTokens+1)) <= MaxTokens
}

// Tokenize splits a question into tokens, [MaxTokens] at most.
func Tokenize(question string) []Token { return tokenize(question, MaxTokens) }

// signs are the comparison signs with the words for them. A sign that begins with
// another one comes before it.
var signs = [][2]string{{">=", " at least "}, {"≥", " at least "}, {"<=", " at most "}, {"≤", " at most "}, {">", " more than "}, {"<", " less than "}}

// expandedText is a question with words in place of comparison signs.
type expandedText struct {
	text []byte
	// starts and ends have, for each byte of the text, the positions in the question of
	// the byte or sign that it stands for.
	starts, ends []int
}

func (e *expandedText) add(text string, start, end int) {
	for i := range len(text) {
		e.text = append(e.text, text[i])
		e.starts, e.ends = append(e.starts, start), append(e.ends, end)
	}
}

// expandSigns writes words for the comparison signs in a question. It stops after
// maxQuestionBytes.
func expandSigns(question string) *expandedText {
	e := &expandedText{}
next:
	for i := 0; i < len(question) && len(e.text) <= maxQuestionBytes; {
		for _, s := range signs {
			if sign, words := s[0], s[1]; strings.HasPrefix(question[i:], sign) {
				e.add(words, i, i+len(sign))
				i += len(sign)
				continue next
			}
		}
		e.add(question[i:i+1], i, i+1)
		i++
	}
	return e
}

func tokenize(question string, limit int) []Token {
	e := expandSigns(question)
	text := string(e.text)
	if len(text) > maxQuestionBytes {
		end := maxQuestionBytes
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end]
	}
	var tokens []Token
	capitals := allUpper(question[:min(len(question), maxQuestionBytes)])
	for i, last := 0, 0; i < len(text) && len(tokens) < limit; {
		end := tokenEnd(text, i)
		plain := normalizeQuotes(text[i:end])
		if lower := foldWord(plain); strings.TrimSpace(lower) != "" {
			t := Token{Text: plain, Start: e.starts[i], End: e.ends[end-1], SpaceBefore: i > last}
			inside := len(tokens) > 0 && !isSentenceMark(tokens[len(tokens)-1].Text)
			t.setWord(correctSpelling(lower, inside && !capitals && unicode.IsUpper(firstRune(plain))))
			tokens = append(tokens, t)
			last = end
		}
		i = end
	}
	return trimCourtesy(tokens)
}

// normalizeQuotes replaces typographic quotation marks.
func normalizeQuotes(s string) string {
	switch s {
	case "“", "”", "„", "«", "»", "`", "″":
		return `"`
	}
	return strings.ReplaceAll(s, "’", "'")
}

// tokenEnd finds the end of the token that starts at i.
func tokenEnd(s string, i int) int {
	r, size := utf8.DecodeRuneInString(s[i:])
	switch {
	case '0' <= r && r <= '9':
		return numberEnd(s, i)
	case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return wordEnd(s, i)
	}
	return i + size
}

func isDigit(s string, i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }

func digitsEnd(s string, i int) int {
	for isDigit(s, i) {
		i++
	}
	return i
}

// numberEnd finds the end of a date, a number with separators, or a word that starts
// with digits.
func numberEnd(s string, i int) int {
	end := digitsEnd(s, i)
	if end-i <= 3 {
		if grouped := dotGroupsEnd(s, end); grouped > 0 {
			return grouped
		}
	}
	if date := dateEnd(s, i); date > 0 {
		return date
	}
	if end-i <= 3 {
		for end < len(s) && s[end] == ',' && digitsEnd(s, end+1) == end+4 {
			end += 4
		}
	}
	// 100 000 is one number, 2024 100 are two.
	if end-i <= 3 {
		for end < len(s) && s[end] == ' ' && digitsEnd(s, end+1) == end+4 && !isLetterAt(s, end+4) {
			end += 4
		}
	}
	if end < len(s) && s[end] == '.' && isDigit(s, end+1) {
		return digitsEnd(s, end+1)
	}
	// 12,50 is twelve and a half.
	if end < len(s) && s[end] == ',' && isDigit(s, end+1) && digitsEnd(s, end+1) <= end+3 && !isLetterAt(s, digitsEnd(s, end+1)) {
		return digitsEnd(s, end+1)
	}
	if isLetterAt(s, end) {
		return wordEnd(s, end)
	}
	return end
}

// dotGroupsEnd finds the end of a number with dots as thousands separators, from the end of
// its first digits: 1.250,50 and 1.250.000. It returns 0 for other numbers: 1.250 alone has
// a fraction.
func dotGroupsEnd(s string, first int) int {
	end := first
	for end < len(s) && s[end] == '.' && digitsEnd(s, end+1) == end+4 {
		end += 4
	}
	switch fraction := digitsEnd(s, min(end+1, len(s))); {
	case end > first && end < len(s) && s[end] == ',' && fraction > end+1 && fraction <= end+3:
		return fraction
	case end > first+4:
		return end
	}
	return 0
}

func isLetterAt(s string, i int) bool {
	r, _ := utf8.DecodeRuneInString(s[min(i, len(s)):])
	return r != utf8.RuneError && unicode.IsLetter(r)
}

// dateEnd finds the end of 2024-03-15, 2024-03, 15.03.2024 and 3/15/2024, or returns 0.
func dateEnd(s string, i int) int {
	for _, sep := range []byte{'-', '.', '/'} {
		end, parts := i, 0
		for {
			next := digitsEnd(s, end)
			if next == end || next-end > 4 {
				break
			}
			parts++
			end = next
			if parts == 3 || end >= len(s) || s[end] != sep || !isDigit(s, end+1) {
				break
			}
			end++
		}
		first := digitsEnd(s, i) - i
		if parts == 3 && !isDigit(s, end) || parts == 2 && sep == '-' && first == 4 && end-i == 7 {
			return end
		}
	}
	return 0
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_':
			i += size
		case (r == '\'' || r == '’') && isLetterAt(s, i+size) && isContraction(s[i+size:]):
			i += size
		default:
			return i
		}
	}
	return i
}

// isContraction reports whether the text after an apostrophe is a short ending of the same
// word: 's, n't, 've.
func isContraction(rest string) bool {
	n := 0
	for n < len(rest) && rest[n] >= 'a' && rest[n] <= 'z' {
		n++
	}
	return n > 0 && n <= 2
}
