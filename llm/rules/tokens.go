package rules

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of what is read of a text: longer ones are cut.
const (
	maxTextBytes = 4_000
	maxTokens    = 256
)

// token is a word, a number or a mark of punctuation.
type token struct {
	// text is as it was written; lower has its case and accents folded.
	text  string
	lower string
	lemma string
	// number is what the token says, when isNumber.
	number   float64
	isNumber bool
	// percent and money say what stood beside a number.
	percent bool
	mark    bool
	// quote numbers the quotation that the token is in, from 1.
	quote int
	// capital says that it starts with an upper-case letter.
	capital bool
}

// tokenize cuts a text into tokens.
func tokenize(text string) []token {
	text = cut(text, maxTextBytes)
	quotes := findQuotes(text)
	var tokens []token
	scan(text, func(t token, at int) {
		if len(tokens) < maxTokens {
			t.quote = quotes.at(at)
			t.lemma = lemma(t.lower)
			tokens = append(tokens, t)
		}
	})
	return tokens
}

// scan finds the tokens of a text, without lemmas and quotations.
func scan(text string, add func(t token, at int)) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unicode.IsDigit(r):
			end := numberEnd(text, i)
			if end < len(text) && wordRune(text, end) {
				end = wordEnd(text, end)
			}
			add(numberOrWord(text[i:end], text[end:]), i)
			i = end
		case unicode.IsLetter(r) || unicode.IsMark(r):
			end := wordEnd(text, i)
			if t := word(text[i:end]); t.lower != "" { // marks alone fold to nothing
				add(t, i)
			}
			i = possessiveEnd(text, end)
		case strings.ContainsRune(",.;:?!()/-–—&+%#$£€", r):
			add(token{text: text[i : i+size], lower: string(r), mark: true}, i)
			i += size
		default:
			i += size
		}
	}
}

// cut shortens a text to at most n bytes of whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func word(text string) token {
	lower := fold(text)
	r, _ := utf8.DecodeRuneInString(text)
	return token{text: text, lower: lower, capital: unicode.IsUpper(r)}
}

// numberOrWord makes a token of what starts with a digit: 12, 1,200 and 3.5 are
// numbers, 12th is a word that says a number, 3d is a word.
func numberOrWord(text, rest string) token {
	t := word(text)
	plain := strings.ReplaceAll(text, ",", "")
	switch t.lower[max(0, len(t.lower)-2):] {
	case "st", "nd", "rd", "th":
		plain = plain[:len(plain)-2]
	}
	if n, err := strconv.ParseFloat(plain, 64); err == nil {
		t.number, t.isNumber = n, true
	}
	t.percent = strings.HasPrefix(strings.TrimLeft(rest, " "), "%")
	return t
}

// numberEnd finds where the digits that start at i end, with separators of
// thousands and a decimal point.
func numberEnd(text string, i int) int {
	digits := func(j int) int {
		for j < len(text) && text[j] >= '0' && text[j] <= '9' {
			j++
		}
		return j
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	if r >= utf8.RuneSelf {
		return i + size
	}
	end := digits(i)
	if end-i <= 3 {
		for end < len(text) && text[end] == ',' && digits(end+1) == end+4 {
			end += 4
		}
	}
	if end < len(text) && text[end] == '.' {
		if e := digits(end + 1); e > end+1 {
			end = e
		}
	}
	return end
}

func wordRune(text string, i int) bool {
	r, _ := utf8.DecodeRuneInString(text[i:])
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

func wordEnd(text string, i int) int {
	for i < len(text) && wordRune(text, i) {
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return i
}

// possessiveEnd skips 's after a word.
func possessiveEnd(text string, i int) int {
	for _, mark := range []string{"'", "’"} {
		rest, ok := strings.CutPrefix(text[i:], mark)
		if !ok {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(rest); r == 's' || r == 'S' {
			if end := i + len(mark) + 1; end == len(text) || !wordRune(text, end) {
				return end
			}
		}
	}
	return i
}

// spans are byte ranges of a text.
type spans [][2]int

func (s spans) at(i int) int {
	for n, span := range s {
		if i > span[0] && i < span[1] {
			return n + 1
		}
	}
	return 0
}

// findQuotes finds what is in quotation marks. An apostrophe in or after a word
// is none.
func findQuotes(text string) spans {
	closing := map[rune]rune{'"': '"', '“': '”', '”': '”', '\'': '\'', '‘': '’', '`': '`'}
	var found spans
	previous := ' '
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end, ok := closing[r]
		if !ok || (r == '\'' || r == '‘') && (unicode.IsLetter(previous) || unicode.IsDigit(previous)) {
			previous = r
			i += size
			continue
		}
		stop := quoteEnd(text, i+size, end)
		if stop < 0 {
			i += size
			continue
		}
		found = append(found, [2]int{i, stop})
		i = stop + utf8.RuneLen(end)
		previous = end
	}
	return found
}

func quoteEnd(text string, from int, end rune) int {
	for i := from; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == end {
			next, _ := utf8.DecodeRuneInString(text[i+size:])
			inWord := end == '\'' && (unicode.IsLetter(next) || unicode.IsDigit(next))
			if i > from && !inWord {
				return i
			}
		}
		i += size
	}
	return -1
}

// fold makes a text lower case and takes its accents off.
func fold(text string) string {
	ascii := true
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return strings.ToLower(text)
	}
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// normalize writes the words and numbers of a text, folded, with single blanks
// between them: how texts are compared.
func normalize(text string) string {
	var b strings.Builder
	scan(cut(text, maxTextBytes), func(t token, _ int) {
		if t.mark {
			return
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(t.plain())
	})
	return b.String()
}

// plain is a token as it is compared: a number without its separators.
func (t token) plain() string {
	if t.isNumber {
		return strings.ReplaceAll(t.lower, ",", "")
	}
	return t.lower
}
