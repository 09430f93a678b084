package datasets

import (
	"fmt"
	"strings"

	"parley/internal/sqltext"
	"parley/storage/datasets/match"
)

// The usual constants of BM25, k1 and b.
const (
	bm25Saturation = 1.2
	bm25Length     = 0.75
)

// passagesSQL ranks the passages of a table by BM25, best first. The score is a share of
// the highest possible one. The 1 in the logarithm lets frequent words count a little. One
// row more than the limit shows whether there are more. To count the words twice costs less
// than to hold every passage in memory.
func passagesSQL(table Table, words string, limit int) string {
	var m match.Matcher
	m.SetWords(words)
	var found, idf, ideal, score []string
	for i := range m.Words() {
		found = append(found, fmt.Sprintf("count(*) FILTER (terms[%d] > 0) AS found%d", i+2, i))
		idf = append(idf, fmt.Sprintf("ln(1 + (n - found%d + 0.5) / (found%d + 0.5)) AS idf%d", i, i, i))
		ideal = append(ideal, fmt.Sprintf("idf%d", i))
		score = append(score, fmt.Sprintf(
			"idf%d * terms[%d] * %g / (terms[%d] + %g * (%g + %g * terms[1] / length))",
			i, i+2, bm25Saturation+1, i+2, bm25Saturation, 1-bm25Length, bm25Length))
	}
	if m.Words() == 0 {
		return "SELECT document, passage, text, 0.0 AS __score FROM " + sqltext.Name(table.Name) + " WHERE false"
	}
	return fmt.Sprintf(`WITH counted AS NOT MATERIALIZED (
  SELECT document, passage, text, %s(text, %s) AS terms
  FROM %s
), totals AS (
  SELECT count(*) AS n, greatest(avg(terms[1]), 1) AS length, %s
  FROM counted
), weights AS (
  SELECT length, %s
  FROM totals
)
SELECT document, passage, text, (%s) / (%g * (%s)) AS __score
FROM counted, weights
WHERE __score > 0
ORDER BY __score DESC, document, passage
LIMIT %d`,
		match.TermsFunction, sqltext.Text(words), sqltext.Name(table.Name),
		strings.Join(found, ", "), strings.Join(idf, ", "),
		strings.Join(score, " + "), bm25Saturation+1, strings.Join(ideal, " + "), limit+1)
}
