package dialog

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/vectors"
)

const (
	// maxSentences limits the sentences that are compared with a question.
	maxSentences = 200
	// leastAnswer is the least score of a sentence that is shown as the answer.
	leastAnswer = 0.5
	// leastSimilar is the least similarity of vectors for words that mean nearly the same.
	leastSimilar = 0.5
	// maxAround limits what is quoted beside the answer, in bytes.
	maxAround = 400
)

// sentence is a sentence of a passage.
type sentence struct {
	row int
	// paragraph are the bytes of the text that it stands in, without a heading, and from and to its
	// own in these.
	paragraph string
	from, to  int
	words     []link.Token
	// subject are the words of the document's name and of the headings, before those of the sentence
	// before.
	subject, before []link.Token
	score           float64
}

var (
	headingLine = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.*)$`)
	blankLines  = regexp.MustCompile(`\n[ \t]*\n|\n(?:[-*•]|[0-9]+[.)])[ \t]`)
	// sentenceEnd matches the end of a sentence, before the next.
	sentenceEnd = regexp.MustCompile(`[.!?]["”')]*\s+[\p{Lu}\p{Nd}"“(]`)
	// numberAsked matches questions whose answer has a number, or a date or time.
	numberAsked = regexp.MustCompile(`(?i)\b(?:how (?:long|many|much|often|old|soon|fast|far|late|early|big|large|high|heavy)|when|what time|until|cost|costs|price|fee|percent|percentage|rate|temperature|deadline|number of|at what)\b`)
	hasNumber   = regexp.MustCompile(`(?i)[0-9]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|twelve|once|twice|free|daily|weekly|monthly|yearly|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b`)
)

// passagesAnswer quotes the sentence that answers a question best, in bold within its paragraph, and
// names the other passages; or else the best passages.
func passagesAnswer(question string, columns []string, rows [][]string, cite string) string {
	at := map[string]int{}
	for i, c := range columns {
		at[c] = i
	}
	source := func(row []string) string {
		return escapeCell(row[at["document"]]) + ", passage " + escapeCell(row[at["passage"]])
	}
	if best := bestSentence(question, rows, at["document"], at["text"]); best != nil {
		text := fmt.Sprintf("This sentence answers best: %s\n\n> %s\n>\n> — %s", cite, best.quote(), source(rows[best.row]))
		var others []string
		for i, row := range rows {
			if i != best.row && len(others) < maxPassages-1 {
				others = append(others, source(row))
			}
		}
		if len(others) > 0 {
			text += "\n\nSee also " + enumerate(others) + "."
		}
		return text
	}
	var b strings.Builder
	if len(rows) == 1 {
		b.WriteString("This passage matches best: " + cite)
	} else {
		b.WriteString("These passages match best: " + cite)
	}
	for i, row := range rows[:min(len(rows), maxPassages)] {
		fmt.Fprintf(&b, "\n\n> %s\n>\n> — %s", blockquote(row[at["text"]]), source(rows[i]))
	}
	return b.String()
}

// bestSentence returns the sentence of some passages that answers a question best; nil if none has
// enough of its words.
func bestSentence(question string, rows [][]string, document, text int) *sentence {
	var asked []link.Token
	tokens := wordsOf(link.Tokenize(question))
	for i, t := range tokens {
		if !isStopWord(tokens, i) && !slices.ContainsFunc(asked, func(a link.Token) bool { return a.Stem == t.Stem }) {
			asked = append(asked, t)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	var all []*sentence
	for i, row := range rows {
		all = append(all, sentencesOf(i, row[document], row[text])...)
	}
	all = all[:min(len(all), maxSentences)]
	total, weights := 0.0, make([]float64, len(asked))
	for i, a := range asked {
		found := 0
		for _, s := range all {
			if has(s.words, a) == 1 {
				found++
			}
		}
		weights[i] = math.Sqrt(math.Log(1 + float64(len(all))/float64(1+found)))
		total += weights[i]
	}
	var best *sentence
	number := numberAsked.MatchString(question)
	for _, s := range all {
		for i, a := range asked {
			subject := has(s.subject, a)
			s.score += weights[i] / total * (max(has(s.words, a), 0.7*subject, 0.5*has(s.before, a)) + 0.3*subject)
		}
		if number {
			if !hasNumber.MatchString(s.paragraph[s.from:s.to]) {
				s.score -= 0.3
			} else {
				s.score += 0.1
			}
		}
		if best == nil || s.score > best.score {
			best = s
		}
	}
	if best == nil || best.score < leastAnswer {
		return nil
	}
	return best
}

// has returns how surely some words have one: 1 for a form of it, less for one of a similar meaning.
func has(words []link.Token, asked link.Token) float64 {
	most := float32(0)
	vec := vectors.Load()
	number := vec.Number(asked.Lower)
	for _, w := range words {
		if w.Stem == asked.Stem {
			return 1
		}
		if number >= 0 && len(w.Lower) > 2 && !catalog.StopWords[w.Lower] {
			most = max(most, vec.Cosine(number, vec.Number(w.Lower)))
		}
	}
	if most < leastSimilar {
		return 0
	}
	return float64(most)
}

// sentencesOf splits a passage into its sentences.
func sentencesOf(row int, document, text string) (all []*sentence) {
	subject := wordsOf(link.Tokenize(strings.Join(catalog.NameWords(strings.TrimSuffix(document, ".md")), " ")))
	for _, heading := range headingLine.FindAllStringSubmatch(text, 3) {
		subject = append(subject, wordsOf(link.Tokenize(heading[1]))...)
	}
	text = headingLine.ReplaceAllString(text, "\n\n")
	for _, paragraph := range blankLines.Split(text, -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		from := 0
		var before []link.Token
		add := func(to int) {
			if words := wordsOf(link.Tokenize(paragraph[from:to])); len(words) > 2 {
				all = append(all, &sentence{row: row, paragraph: paragraph, from: from, to: to, words: words, subject: subject, before: before})
				before = words
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

// blockquote returns a passage on one line, with its heading, if any, in bold.
func blockquote(text string) string {
	marks := len(text) - len(strings.TrimLeft(text, "#"))
	heading, rest, _ := strings.Cut(text[marks:], "\n")
	heading = strings.TrimSpace(heading)
	if marks == 0 || heading == "" {
		return escapeMarkdown(text, maxPassage)
	}
	return strings.TrimSpace("**" + escapeCell(heading) + "** " + escapeMarkdown(strings.TrimSpace(rest), maxPassage))
}
