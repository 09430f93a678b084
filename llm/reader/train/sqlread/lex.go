// Package sqlread parses the SQL of training questions into the language of llm/reader/ir:
// the part of SQL that questions need, in the dialects of SQLite and DuckDB.
package sqlread

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a token of SQL: a word in lower case, an operator, a quoted name or a literal.
type token struct {
	text string
	// kind is 'w' for a word, 'n' for a number, 's' for a text, 'q' for a quoted name and
	// 'o' for an operator.
	kind byte
}

func lex(sql string) ([]token, error) {
	var tokens []token
	for i := 0; i < len(sql); {
		r, size := utf8.DecodeRuneInString(sql[i:])
		switch {
		case unicode.IsSpace(r) || r == ';':
			i += size
		case r == '\'' || r == '"' || r == '`':
			text, end, err := quoted(sql, i)
			if err != nil {
				return nil, err
			}
			kind := byte('q')
			if r == '\'' {
				kind = 's'
			}
			tokens = append(tokens, token{text, kind})
			i = end
		case r >= '0' && r <= '9' || r == '.' && i+1 < len(sql) && sql[i+1] >= '0' && sql[i+1] <= '9':
			end := i
			for end < len(sql) && (sql[end] >= '0' && sql[end] <= '9' || sql[end] == '.') {
				end++
			}
			tokens = append(tokens, token{sql[i:end], 'n'})
			i = end
		case unicode.IsLetter(r) || r == '_':
			end := i
			for end < len(sql) {
				r, size := utf8.DecodeRuneInString(sql[end:])
				if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
					break
				}
				end += size
			}
			tokens = append(tokens, token{strings.ToLower(sql[i:end]), 'w'})
			i = end
		default:
			n := size
			for _, two := range []string{"<=", ">=", "!=", "<>", "==", "::", "//", "||"} {
				if strings.HasPrefix(sql[i:], two) {
					n = 2
				}
			}
			text := sql[i : i+n]
			switch text {
			case "<>":
				text = "!="
			case "==":
				text = "="
			}
			tokens = append(tokens, token{text, 'o'})
			i += n
		}
	}
	return tokens, nil
}

// quoted reads a text or name in quotes that starts at i.
func quoted(sql string, i int) (text string, end int, err error) {
	mark := sql[i]
	var b strings.Builder
	for j := i + 1; j < len(sql); j++ {
		if sql[j] != mark {
			b.WriteByte(sql[j])
			continue
		}
		if j+1 < len(sql) && sql[j+1] == mark {
			b.WriteByte(mark)
			j++
			continue
		}
		return b.String(), j + 1, nil
	}
	return "", 0, fmt.Errorf("no end of %c", mark)
}
