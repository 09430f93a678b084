package rules

import (
	"strings"

	"parley/llm"
)

// explain says in a sentence or two how the question was read.
func (r *reader) explain() string {
	var shown []string
	for _, i := range r.q.items {
		shown = append(shown, i.label())
	}
	what := strings.Join(shown, ", ")
	if r.q.star {
		what = "everything"
	}
	text := "Read as: " + what + " of " + r.q.main.name
	if len(r.notes) > 0 {
		text += "; " + strings.Join(r.notes, "; ")
	}
	text += "."
	if left := r.left(); len(left) > 0 {
		text += " Not used: " + quoteWords(left) + "."
	}
	return text
}

func quoteWords(words []string) string {
	if len(words) > 8 {
		words = words[:8]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "“" + w + "”"
	}
	return strings.Join(quoted, ", ")
}

// notUnderstood says what of a question was not understood, and what would be.
// What the data holds is said by those who ask.
func notUnderstood(readings []reading, tokens []token, datasets []llm.Dataset, again bool) error {
	about := examples(datasets)
	if again && len(readings) == 0 {
		return llm.Unanswerable("The question could not be looked up, and there is no other way to read it.%s", about)
	}
	var left []string
	if len(readings) > 0 {
		left = readings[0].left
	} else {
		for _, t := range tokens {
			if !t.mark && !stopWords[t.lower] {
				left = append(left, t.text)
			}
		}
	}
	if len(left) == 0 {
		return llm.Unanswerable("It is not clear what the question asks for.%s", about)
	}
	return llm.Unanswerable("Not understood: %s.%s", quoteWords(left), about)
}

// examples are questions that are understood, of the dataset that has most to ask
// about; "" when there is none.
func examples(datasets []llm.Dataset) string {
	best := ""
	for _, d := range datasets {
		t := newTable(d, 0)
		things := strings.Join(strings.Fields(strings.ReplaceAll(t.name, "_", " ")), " ")
		var figure, group *column
		for _, c := range t.columns {
			switch {
			case isKeyName(c) || len(c.words) == 0:
			case c.kind == kindNumber && figure == nil:
				figure = c
			case c.kind == kindText && !overlap(c.words, []string{"name", "email", "title", "phone", "address"}):
				group = c
			}
		}
		if best == "" {
			best = " You can ask, for example: “How many " + things + " are there?”"
		}
		if figure != nil && group != nil {
			return " You can ask, for example: “How many " + things + " are there for each " + spoken(group) + "?” or “What is the average " + spoken(figure) + " of " + things + "?”"
		}
	}
	return best
}

// spoken is the name of a column as people write it.
func spoken(c *column) string { return strings.ReplaceAll(c.name, "_", " ") }
