package dialog

import (
	"cmp"
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

const (
	// maxCandidates limits the passages whose sentences are compared with a question: those that have most
	// of its words.
	maxCandidates = 64
	// maxSentences limits the sentences of these.
	maxSentences = 400
	// sureAnswer is the least similarity of a sentence that is shown alone, or where the words of a question are
	// not in the passages. leastAnswer is that where there are passages alone to ask about.
	sureAnswer  = 0.5
	leastAnswer = 0.3
	// maxAround limits what is quoted beside a sentence, on each side, in bytes.
	maxAround = 300
)

// Embed returns a vector for each text; those of texts of a similar meaning have a large product.
type Embed func(texts []string) ([][]float32, error)

// sentence is a sentence of a passage.
type sentence struct {
	row int
	// paragraph is the text that it stands in, without a heading, and from and to its bytes in it.
	paragraph string
	from, to  int
	// subject has the name of the document and the headings.
	subject string
	// similarity says how near its meaning is to that of the question, up to 1.
	similarity float32
}

var (
	headingLine = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.*)$`)
	emphasis    = strings.NewReplacer("**", "", "__", "")
	// paragraphEnd matches between paragraphs, and between items of a list.
	paragraphEnd = regexp.MustCompile(`\n[ \t]*\n|\n(?:[-*•]|[0-9]+[.)])[ \t]`)
	// sentenceEnd matches the end of a sentence and the beginning of the next.
	sentenceEnd = regexp.MustCompile(`[.!?]["”')]*\s+[\p{Lu}\p{Nd}"“(]`)
)

// SearchByMeaning finds the passages with the sentences nearest to a question, in the dataset that [Search]
// finds. If the question has no reading, it looks in the dataset whose description fits best, too. ok is
// false if none is near.
func SearchByMeaning(ctx context.Context, data llm.Data, embed Embed, tokens []link.Token, rows, passages []llm.Dataset, hasReading bool) (q llm.Query, ok bool, err error) {
	q, ok, err = Search(ctx, data, tokens, rows, passages)
	if err != nil || ok && q.Search == nil || len(passages) == 0 || data == nil {
		return q, ok, err
	}
	s := newSearcher(tokens, rows)
	s.data = data
	switch {
	case ok:
		return s.nearestPassages(ctx, embed, q.Search.Dataset, 0)
	case len(rows) == 0:
		return s.nearestPassages(ctx, embed, s.mostRelevant(passages)[0].Name, leastAnswer)
	case hasReading || len(s.stems) == 0 || s.asksForAggregate() || s.asksForRows():
		return q, false, nil
	}
	return s.nearestPassages(ctx, embed, s.mostRelevant(passages)[0].Name, sureAnswer)
}

// nearestPassages returns the query for the passages whose sentences are nearest to the question, if one is
// near enough.
func (s *searcher) nearestPassages(ctx context.Context, embed Embed, dataset string, least float32) (q llm.Query, ok bool, err error) {
	found := []string{"0"}
	for _, p := range s.stems {
		found = append(found, fmt.Sprintf("CAST(%s OR %s AS INTEGER)", matchCondition("text", p), matchCondition("document", p)))
	}
	const columns = `SELECT "document", "passage", "text"`
	rows, err := s.query(ctx, fmt.Sprintf("%s FROM %s ORDER BY %s DESC, document, passage LIMIT %d", columns, ir.Ident(dataset), strings.Join(found, " + "), maxCandidates))
	if err != nil || len(rows) == 0 {
		return q, false, err
	}
	var conditions, scores []string
	seen := map[int]bool{}
	nearest, err := nearestSentences(embed, questionText(s.tokens), rows, 0, 2)
	if err != nil || len(nearest) == 0 || nearest[0].similarity < least {
		return q, false, err
	}
	for _, s := range nearest {
		if row := rows[s.row]; !seen[s.row] && len(seen) < searchLimit {
			seen[s.row] = true
			condition := "document = " + ir.Literal(row[0]) + " AND CAST(passage AS VARCHAR) = " + ir.Literal(row[1])
			conditions = append(conditions, "("+condition+")")
			scores = append(scores, fmt.Sprintf("WHEN %s THEN %.3f", condition, max(s.similarity, 0.001)))
		}
	}
	return llm.Query{
		SQL:       fmt.Sprintf(`%s, CASE %s END AS "__score" FROM %s WHERE %s ORDER BY "__score" DESC`, columns, strings.Join(scores, " "), ir.Ident(dataset), strings.Join(conditions, " OR ")),
		Reasoning: "Read as a question of text: the passages of " + dataset + " that are nearest to it.",
	}, true, nil
}

// questionText returns the words of a question.
func questionText(tokens []link.Token) string {
	words := make([]string, len(tokens))
	for i, t := range tokens {
		words[i] = t.Text
	}
	return strings.Join(words, " ")
}

// passagesAnswer quotes the sentence that is nearest to a question, in bold within its paragraph, and
// names the other passages. If that is not sure, it quotes up to three.
func passagesAnswer(embed Embed, question string, columns []string, rows [][]string, cite string) string {
	document, passage, text := slices.Index(columns, "document"), slices.Index(columns, "passage"), slices.Index(columns, "text")
	source := func(row int) string {
		return escapeCell(rows[row][document]) + ", passage " + escapeCell(rows[row][passage])
	}
	var best []*sentence
	nearest, _ := nearestSentences(embed, question, rows, document, text) // the run has ended otherwise
	for _, s := range nearest {
		if !slices.ContainsFunc(best, func(b *sentence) bool { return b.row == s.row }) {
			best = append(best, s)
		}
	}
	if len(best) == 0 {
		return "The passages have no sentences. " + cite
	}
	shown, intro := best[:min(len(best), maxPassages)], "No sentence surely answers that. These are nearest: "
	switch {
	case best[0].similarity >= sureAnswer:
		shown, intro = best[:1], "This sentence answers best: "
	case len(best) == 1:
		intro = "No sentence surely answers that. This is nearest: "
	}
	var b strings.Builder
	b.WriteString(intro + cite)
	for _, s := range shown {
		fmt.Fprintf(&b, "\n\n> %s\n>\n> — %s", s.quote(), source(s.row))
	}
	var others []string
	for _, s := range best[len(shown):min(len(best), maxPassages)] {
		others = append(others, source(s.row))
	}
	if len(others) > 0 {
		b.WriteString("\n\nSee also " + enumerate(others) + ".")
	}
	return b.String()
}

// nearestSentences returns the sentences of passages, those first whose meaning is nearest to that of
// a question: with and without what the document and the headings say.
func nearestSentences(embed Embed, question string, rows [][]string, document, text int) (all []*sentence, err error) {
	for i, row := range rows {
		all = append(all, sentencesOf(i, row[document], row[text])...)
	}
	all = all[:min(len(all), maxSentences)]
	texts := []string{question}
	for _, s := range all {
		words := s.paragraph[s.from:s.to]
		texts = append(texts, words, s.subject+" "+words)
	}
	vectors, err := embed(texts)
	if err != nil {
		return nil, err
	}
	for i, s := range all {
		for k, x := range vectors[0] {
			s.similarity += x * (vectors[2*i+1][k] + vectors[2*i+2][k]) / 2
		}
	}
	slices.SortStableFunc(all, func(a, b *sentence) int { return cmp.Compare(b.similarity, a.similarity) })
	return all, nil
}

// sentencesOf splits a passage into its sentences.
func sentencesOf(row int, document, text string) (all []*sentence) {
	subject := strings.Join(catalog.NameWords(document), " ")
	for _, heading := range headingLine.FindAllStringSubmatch(text, 3) {
		subject += " " + heading[1]
	}
	for _, paragraph := range paragraphEnd.Split(headingLine.ReplaceAllString(text, "\n\n"), -1) {
		paragraph = strings.Join(strings.Fields(emphasis.Replace(paragraph)), " ")
		from := 0
		add := func(to int) {
			if words := paragraph[from:to]; strings.Contains(words, " ") && strings.ContainsFunc(words, unicode.IsLower) { // a heading has capitals alone
				all = append(all, &sentence{row: row, paragraph: paragraph, from: from, to: to, subject: subject})
			}
		}
		for _, end := range sentenceEnd.FindAllStringIndex(paragraph, -1) {
			to := strings.LastIndexByte(paragraph[:end[1]], ' ')
			add(to)
			from = to + 1
		}
		add(len(paragraph))
	}
	return all
}

// quote returns the sentence in bold, with what stands around it.
func (s *sentence) quote() string {
	before, after := s.paragraph[:s.from], s.paragraph[s.to:]
	if cut := len(before) - maxAround; cut > 0 {
		before = "…" + before[cut+max(strings.IndexByte(before[cut:], ' '), 0):]
	}
	return strings.TrimSpace(escapeMarkdown(before, 2*maxAround) + " **" + escapeMarkdown(s.paragraph[s.from:s.to], maxPassage) + "** " + escapeMarkdown(after, maxAround))
}
