package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/llm"
)

// maxLookups is how many phrases are looked for among values that are not kept.
const maxLookups = 24

// lookUp asks for words that stand for nothing known among the values of columns
// that have too many to be kept. It gives links for those that are there.
func lookUp(ctx context.Context, data llm.Data, tokens []token, tables []*table, links []*link) ([]*link, error) {
	phrases := openPhrases(tokens, links)
	if len(phrases) == 0 || data == nil {
		return nil, nil
	}
	var found []*link
	for _, t := range tables {
		var parts []string
		var columns []*column
		for _, c := range t.columns {
			if c.kind != kindText || c.complete || c.typed {
				continue
			}
			parts = append(parts, fmt.Sprintf("(SELECT DISTINCT %d AS c, %s AS v FROM %s WHERE %s LIMIT 50)",
				len(columns), ident(c.name), ident(t.name), isOneOf(ident(c.name), phrases)))
			columns = append(columns, c)
		}
		if len(parts) == 0 {
			continue
		}
		rows, err := data.Query(ctx, strings.Join(parts, " UNION ALL ")+" ORDER BY c, v")
		if err != nil {
			return nil, fmt.Errorf("look for values in %s: %w", t.name, err)
		}
		_, cells := cellsRaw(rows)
		for _, row := range cells {
			var n int
			if len(row) != 2 {
				continue
			}
			if _, err := fmt.Sscan(row[0], &n); err != nil || n >= len(columns) {
				continue
			}
			for _, p := range phrases {
				if p.text == strings.ToLower(strings.TrimSpace(row[1])) {
					found = append(found, &link{from: p.from, to: p.to, weight: float64(p.to-p.from) + 0.5,
						values: []valueMatch{{column: columns[n], exact: true, literal: []string{row[1]}}}})
				}
			}
		}
	}
	return found, nil
}

// isOneOf is a condition: that a column holds one of the phrases, in any case and
// with a space before or after it. Most values have another length, and that is
// seen much faster than what they are in lower case.
func isOneOf(column string, phrases []openPhrase) string {
	var list, lengths []string
	ascii := true
	for _, p := range phrases {
		list = append(list, literal(p.text))
		for spaces := range 3 {
			lengths = append(lengths, fmt.Sprint(len(p.text)+spaces))
		}
		// Elsewhere the length may depend on the case.
		ascii = ascii && !strings.ContainsFunc(p.text, func(r rune) bool { return r > unicode.MaxASCII })
	}
	condition := fmt.Sprintf("lower(trim(%s)) IN (%s)", column, strings.Join(list, ", "))
	if ascii {
		slices.Sort(lengths)
		condition = fmt.Sprintf("strlen(%s) IN (%s) AND %s", column, strings.Join(slices.Compact(lengths), ", "), condition)
	}
	return condition
}

type openPhrase struct {
	from, to int
	text     string
}

// openPhrases are the runs of words that no link explains, the longest first.
func openPhrases(tokens []token, links []*link) []openPhrase {
	taken := make([]bool, len(tokens))
	for _, k := range links {
		for i := k.from; i < k.to; i++ {
			// A part of a value may be part of another one.
			taken[i] = len(k.columns) > 0 || len(k.tables) > 0 || len(k.values) > 0 && k.values[0].exact
		}
	}
	var all []openPhrase
	for length := 5; length >= 1; length-- {
		for from := 0; from+length <= len(tokens) && len(all) < maxLookups; from++ {
			content := false
			var words []string
			for i := from; i < from+length; i++ {
				if taken[i] && length == 1 || tokens[i].mark {
					words = nil
					break
				}
				content = content || !taken[i] && !stopWords[tokens[i].lower] && !asksForFigure(tokens[i])
				words = append(words, strings.ToLower(tokens[i].text))
			}
			if len(words) == length && content && !stopWords[words[0]] && !stopWords[words[length-1]] && !quietWords[words[0]] {
				all = append(all, openPhrase{from, from + length, strings.Join(words, " ")})
			}
		}
	}
	return all
}

// asksForFigure reports whether a word is much more likely to say what is asked for
// than to be a value: "average", "highest".
func asksForFigure(t token) bool {
	_, greatest := superlatives[t.lower]
	_, one := aggregates[t.lower]
	return (greatest || one) && !t.capital && t.quote == 0
}
