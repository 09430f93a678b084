package dialog

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
)

// textWords indicate a question about the text of a document.
var textWords = catalog.WordSet("say says said state states according document file page read written write mention mentions mentioned explain explains describe describes")

// searchFile makes a query for the passages of a file that the question names; false if it
// names none.
func (s *searcher) searchFile(ctx context.Context, passages []llm.Dataset) (llm.Query, bool, error) {
	asked := " " + plainWords(s.tokens) + " "
	for _, d := range passages {
		rows, err := s.query(ctx, fmt.Sprintf(`SELECT document FROM (SELECT DISTINCT document, %s AS name FROM %s) AS files `+
			`WHERE length(name) > 2 AND contains(%s, concat(' ', name, ' ')) ORDER BY length(name) DESC, document LIMIT %d`,
			plainName("document"), ir.Ident(d.Name), ir.Literal(asked), searchLimit))
		if err != nil {
			return llm.Query{}, false, err
		}
		for _, row := range rows {
			if name := row[0]; s.namesFile(name) {
				return s.fileQuery(d.Name, name), true, nil
			}
		}
	}
	return llm.Query{}, false, nil
}

// plainName prints the SQL for the words of a file name without folder and extension.
func plainName(column string) string {
	base := "regexp_replace(regexp_replace(" + column + `, '^.*[/\\]', ''), '[.][A-Za-z0-9]{1,5}$', '')`
	return "trim(regexp_replace(strip_accents(lower(" + base + `)), '[^\p{L}\p{N}]+', ' ', 'g'))`
}

// plainWords returns the words of a question with single blanks.
func plainWords(tokens []link.Token) string {
	var words []string
	for _, t := range tokens {
		words = append(words, strings.FieldsFunc(t.Lower, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })...)
	}
	return strings.Join(words, " ")
}

// namesFile reports whether a question with the words of a file name means the file: always
// with the extension; for a name of several words if it does not ask for rows or
// aggregates; for a single word if it also has one of textWords.
func (s *searcher) namesFile(file string) bool {
	base := file[strings.LastIndexAny(file, `/\`)+1:]
	words := catalog.ValueTokens(base)
	if strings.Contains(base, ".") && strings.Contains(" "+plainWords(s.tokens)+" ", " "+strings.Join(words, " ")+" ") {
		return true
	}
	if s.asksForAggregate() || s.asksForRows() {
		return false
	}
	if dot := strings.LastIndexByte(base, '.'); dot > 0 {
		words = catalog.ValueTokens(base[:dot])
	}
	return len(words) > 1 || slices.ContainsFunc(s.tokens, func(t link.Token) bool { return textWords[t.Lower] })
}

// fileQuery returns a query for the passages of a file with most of the other words.
func (s *searcher) fileQuery(dataset, file string) llm.Query {
	var hits []string
	for _, p := range s.stems {
		if found, err := regexp.MatchString(p, catalog.Fold(file)); err == nil && !found {
			hits = append(hits, "CAST("+matchCondition("text", p)+" AS INTEGER)")
		}
	}
	order := ""
	if len(hits) > 0 {
		order = strings.Join(hits, " + ") + " DESC, "
	}
	return llm.Query{
		SQL: fmt.Sprintf("SELECT document, passage, text FROM %s WHERE document = %s ORDER BY %spassage LIMIT %d",
			ir.Ident(dataset), ir.Literal(file), order, searchLimit),
		Reasoning: "Read as a question of text: the passages of the file " + file + " that fit best.",
	}
}
