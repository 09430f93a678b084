package reader

import (
	"context"
	"slices"
	"unicode"
	"unicode/utf8"

	"parley/internal/near"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
)

// maxCorrections limits the corrections of a question.
const maxCorrections = 2

// corrections returns a question with the words that were not understood replaced by similar
// names of tables and columns, and these names. Only questions that the reader answers with
// confidence are returned.
func (r *Reader) corrections(ctx context.Context, s *source, question string, unread []string) (questions, names []string, err error) {
	similar := map[string][]string{} // by the word that was not understood
	for _, word := range unread {
		if found := near.Names(word, s.names(), maxCorrections); len(found) > 0 {
			similar[word] = found
		}
	}
	for i := range maxCorrections {
		corrected, used := replaceWords(question, similar, i)
		if len(used) == 0 || slices.Contains(questions, corrected) {
			break
		}
		ok, err := r.answers(ctx, s, corrected)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			questions = append(questions, corrected)
			for _, name := range used {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return questions, names, nil
}

// names returns the names of the tables and columns as words.
func (s *source) names() []string {
	var names []string
	for i := range s.Tables {
		names = append(names, catalog.DisplayName(s.Tables[i].Name))
	}
	for i := range s.Columns {
		names = append(names, catalog.DisplayName(s.Columns[i].Name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// replaceWords replaces each word of a question that has similar names by the nth of them,
// or by the first, and returns the names that it used.
func replaceWords(question string, similar map[string][]string, n int) (text string, used []string) {
	end := 0
	for _, t := range link.Tokenize(question) {
		names := similar[t.Text]
		if len(names) == 0 || t.Start < end {
			continue
		}
		name := names[0]
		if n < len(names) {
			name = names[n]
		}
		text += question[end:t.Start] + name
		used, end = append(used, name), t.End
	}
	return text + question[end:], used
}

// answers reports whether the reader answers a question with confidence. One that cannot be
// read is not answered; the error is that of the context.
func (r *Reader) answers(ctx context.Context, s *source, question string) (bool, error) {
	result, err := r.read(ctx, question, s, nil)
	if err != nil {
		return false, ctx.Err()
	}
	return len(result.readings) > 0 && len(result.readings[0].Unread) == 0 && rank.IsSure(result.readings[0].Confidence), nil
}

// sentenceCase writes a text with a capital at its start.
func sentenceCase(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}
