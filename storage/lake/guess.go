package lake

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// guess gives the tables that a statement seems to name: those whose names are
// words or quoted names in it. What it truly reads is known when it is checked.
func (q Query) guess() []string {
	if q.Source == nil {
		return nil
	}
	tables := make(map[string]string, len(q.Tables))
	for _, t := range q.Tables {
		tables[strings.ToLower(t.Name)] = t.Name
	}
	var named []string
	for word := range words(q.SQL) {
		key := strings.ToLower(word)
		if name, ok := tables[key]; ok {
			named = append(named, name)
			delete(tables, key)
		}
	}
	return named
}

// words gives the words of a statement, and its texts in double quotes.
func words(sql string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for sql != "" {
			var word string
			if sql[0] == '"' {
				word, sql, _ = strings.Cut(sql[1:], `"`)
			} else {
				end := strings.IndexFunc(sql, func(r rune) bool {
					return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
				})
				switch {
				case end < 0:
					word, sql = sql, ""
				case end == 0:
					_, size := utf8.DecodeRuneInString(sql)
					sql = sql[size:]
					continue
				default:
					word, sql = sql[:end], sql[end:]
				}
			}
			if !yield(word) {
				return
			}
		}
	}
}
