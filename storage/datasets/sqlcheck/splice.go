package sqlcheck

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a quoted text or one other character of a statement. Blanks and comments
// are between tokens.
type token struct {
	start, end int
	// depth counts the open brackets around it. A bracket is inside its own pair.
	depth int
	// word is a word in upper case or another character, "" for a quoted text.
	word string
}

// tokenize returns the tokens of a statement. It need not follow all rules of DuckDB, which
// confirms the result.
func tokenize(sql string) []token {
	var tokens []token
	depth := 0
	for at := 0; at < len(sql); {
		size, kind := nextToken(sql[at:])
		t := token{start: at, end: at + size, depth: depth}
		at += size
		switch kind {
		case tokenBlank:
			continue
		case tokenPlain:
			t.word = strings.ToUpper(sql[t.start:t.end])
		}
		switch t.word {
		case "(", "[", "{":
			depth++
			t.depth = depth
		case ")", "]", "}":
			depth--
		}
		tokens = append(tokens, t)
	}
	return tokens
}

// plainSpaces replaces spaces that are not ASCII, as DuckDB does before it parses: the
// offsets in its trees refer to that text.
func plainSpaces(sql string) string {
	var plain strings.Builder
	for at := 0; at < len(sql); {
		size, kind := nextToken(sql[at:])
		if kind == tokenBlank && sql[at] >= utf8.RuneSelf {
			plain.WriteByte(' ')
		} else {
			plain.WriteString(sql[at : at+size])
		}
		at += size
	}
	return plain.String()
}

type tokenKind int

const (
	tokenBlank tokenKind = iota
	tokenPlain
	tokenQuoted
)

// nextToken returns the length and kind of the first token.
func nextToken(text string) (size int, kind tokenKind) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case unicode.IsSpace(r):
		return size, tokenBlank
	case strings.HasPrefix(text, "--"):
		return through(text, 2, "\n"), tokenBlank
	case strings.HasPrefix(text, "/*"):
		return blockComment(text), tokenBlank
	case r == '\'' || r == '"':
		return through(text, 1, text[:1]), tokenQuoted
	case (r == 'e' || r == 'E') && strings.HasPrefix(text[1:], "'"):
		return escapedText(text), tokenQuoted
	case r == '$':
		if tag := 1 + wordLength(text[1:]); strings.HasPrefix(text[tag:], "$") {
			return through(text, tag+1, text[:tag+1]), tokenQuoted
		}
	}
	word := wordLength(text)
	for word > 0 && strings.HasPrefix(text[word:], "$") {
		word += 1 + wordLength(text[word+1:])
	}
	return max(size, word), tokenPlain
}

func wordLength(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if end < 0 {
		return len(text)
	}
	return end
}

// through returns the length up to and with the first mark after an offset.
func through(text string, from int, mark string) int {
	if i := strings.Index(text[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(text)
}

// blockComment returns the length of a comment, in which others may be nested.
func blockComment(text string) int {
	depth := 0
	for i := 0; i < len(text); {
		switch {
		case strings.HasPrefix(text[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(text[i:], "*/"):
			depth--
			i += 2
		default:
			i++
		}
		if depth == 0 {
			return i
		}
	}
	return len(text)
}

// escapedText returns the length of a text such as E'it\'s'.
func escapedText(text string) int {
	for i := 2; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return i + 1
		}
	}
	return len(text)
}

// afterList are the words that end the list of a SELECT that has no groups.
var afterList = map[string]bool{
	"FROM": true, "WHERE": true, "WINDOW": true, "QUALIFY": true, "ORDER": true, "LIMIT": true, "OFFSET": true, "USING": true, ";": true,
	")": true, // of a whole statement in parentheses
}

// addItem adds an item to the list of the outermost SELECT, or a list to FROM alone. It
// returns "" when it finds neither.
func addItem(sql string, tokens []token, item string) string {
	from, end, selected, before := -1, 0, false, ""
	outermost := 0
	for outermost < len(tokens) && tokens[outermost].word == "(" {
		outermost++
	}
	for _, t := range tokens {
		switch name := before == "." || before == "AS"; {
		case t.depth != outermost || name:
		case t.word == "SELECT":
			selected = true
		case selected && afterList[t.word] && before != "DISTINCT":
			return insertItem(sql, end, before, item)
		case !selected && from < 0 && t.word == "FROM":
			from = t.start
		}
		end, before = t.end, t.word
	}
	switch {
	case selected:
		return insertItem(sql, end, before, item)
	case from >= 0:
		return sql[:from] + "SELECT *, " + item + " " + sql[from:]
	}
	return ""
}

func insertItem(sql string, at int, before, item string) string {
	comma := ", "
	if before == "," {
		comma = " "
	}
	return sql[:at] + comma + item + sql[at:]
}

// callAt returns the text of the function call at an offset, "" without one.
func callAt(sql string, tokens []token, offset int) string {
	i, found := slices.BinarySearchFunc(tokens, offset, func(t token, offset int) int { return t.start - offset })
	if !found || i+1 == len(tokens) || tokens[i+1].word != "(" {
		return ""
	}
	for _, t := range tokens[i+1:] {
		if t.word == ")" && t.depth == tokens[i+1].depth {
			return sql[offset:t.end]
		}
	}
	return ""
}
