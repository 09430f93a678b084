package dialog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/catalog"
)

// Limits of an answer.
const (
	maxAnswerRows    = 10
	maxAnswerColumns = 8
	maxExamples      = 3
	maxCell          = 200
	maxPassage       = 800
	maxPassages      = 3
)

// Answer formats the results of the steps as sentences: the finding, and not the rows, which
// stand beside the answer. Each part cites its step as [step N]. Texts of the data are escaped, so that none becomes
// a link, an image or HTML. Numbers have the separators of the reader. An overview ends with
// examples of questions.
func Answer(task llm.AnswerTask, embed Embed, numbers locale.Numbers, examples func() []string) llm.Answer {
	var parts []string
	for i, s := range task.Steps {
		text := answerStep(s, i+1, embed, numbers)
		if s.Failure == "" && isOverview(s.Rows.Columns) {
			var escaped []string
			for _, example := range examples() {
				escaped = append(escaped, escapeMarkdown(example, maxPassage))
			}
			text += canAsk(escaped)
		}
		if len(task.Steps) > 1 && s.Failure == "" && s.Instruction != "" {
			text = escapeCell(s.Instruction) + " " + text
		}
		parts = append(parts, text+combinedSentence(s)+unusedSentence(s))
	}
	if len(parts) == 0 {
		parts = []string{"Nothing was looked up, so there is no answer."}
	}
	return llm.Answer{Markdown: strings.Join(parts, "\n\n")}
}

func answerStep(s llm.Step, n int, embed Embed, numbers locale.Numbers) string {
	cite := fmt.Sprintf("[step %d]", n)
	if s.Failure != "" {
		return fmt.Sprintf("“%s” could not be answered: %s %s", escapeCell(s.Instruction), escapeMarkdown(s.Failure, maxPassage), cite)
	}
	r := newAnswerResult(s, numbers)
	switch {
	case r.rows == 0 || len(r.columns) == 0:
		return none(s.Reasoning) + " " + cite
	case isOverview(s.Rows.Columns):
		return r.overview() + cite
	case holdsPassages(s.Rows.Columns):
		columns, rows := rowTexts(s.Rows, jsonText)
		return passagesAnswer(embed, s.Instruction, columns, rows, cite)
	case r.rows == 1:
		return r.sentence() + ". " + cite
	}
	text := r.finding()
	if text == "" {
		text = r.list()
	}
	return text + ". " + cite
}

var readAs = regexp.MustCompile(`^(?:R|I r)ead (?:[^:]* )?as: (?:all columns of )?(.+?)\.(?: [A-Z]|$)`)

// none says that there are no rows, and of what, from the reading of the question.
func none(reasoning string) string {
	found := readAs.FindStringSubmatch(reasoning)
	if found == nil {
		return "None: nothing in the data matches that."
	}
	return "None: no " + escapeMarkdown(found[1], maxPassage) + "."
}

// unusedSentence names the words of the question that a step does not use, from its
// reasoning.
func unusedSentence(s llm.Step) string {
	return sentenceOf(s, unusedPrefix, "I did not use: ")
}

// combinedSentence names the datasets whose rows a step combines, from its reasoning.
func combinedSentence(s llm.Step) string {
	return sentenceOf(s, combinedPrefix, "Combined datasets: ")
}

// sentenceOf returns the sentence of a step's reasoning that has a prefix, with another one; "" for
// none.
func sentenceOf(s llm.Step, prefix, shown string) string {
	_, rest, ok := strings.Cut(s.Reasoning, prefix)
	if !ok || s.Failure != "" {
		return ""
	}
	rest, _, _ = strings.Cut(rest, ". ")
	return "\n\n" + shown + escapeMarkdown(strings.TrimSuffix(rest, ".")+".", maxPassage)
}

func columnName(name string) string { return escapeCell(catalog.DisplayName(name)) }

// sentence formats one row. What it was selected by follows what it shows.
func (r answerResult) sentence() string {
	shown, with := r.columns, ""
	if last := r.columns[len(r.columns)-1]; last.added {
		shown, with = r.columns[:len(r.columns)-1], withMeasure(last)
	}
	switch {
	case len(shown) == 1 && shown[0].text(0) == "":
		return "No " + shown[0].name + " is recorded for that"
	case len(shown) == 1 && with != "":
		return "**" + shown[0].text(0) + "**" + with
	}
	var parts []string
	for _, c := range shown[:min(len(shown), maxAnswerColumns)] {
		value := "not recorded"
		if text := c.text(0); text != "" {
			value = "**" + text + "**"
		}
		parts = append(parts, "the "+c.name+" "+c.verb()+" "+value)
	}
	return "T" + enumerate(parts)[1:] + with + r.comparison()
}

// comparison names the figures that the only value compares, and by how many percent they differ if
// that is not the value.
func (r answerResult) comparison() string {
	if r.compared == nil {
		return ""
	}
	of, to := r.compared[0], r.compared[1]
	against := "against"
	if to.conditions == "in all" {
		against = "of"
	}
	text := fmt.Sprintf(": **%s** %s %s **%s** %s", of.text(0), of.conditions, against, to.text(0), to.conditions)
	if change := percent(to.numbers[0], of.numbers[0]); change != "" && strings.HasPrefix(r.columns[0].name, "difference") {
		text = ", or " + change + text
	}
	return text
}

// verb returns is or are for the name of a column.
func (c answerColumn) verb() string {
	if head, _, _ := strings.Cut(c.name, " of "); strings.HasSuffix(head, "s") && catalog.Plural(head) == head {
		return "are"
	}
	return "is"
}

// withMeasure formats the measure by which a single row was selected.
func withMeasure(c answerColumn) string {
	text := c.text(0)
	switch {
	case text == "":
		return ""
	case c.numbers == nil:
		return ", with " + c.name + " **" + text + "**"
	case strings.IndexAny(c.name, "aeiou") == 0:
		return ", with an " + c.name + " of **" + text + "**"
	}
	return ", with a " + c.name + " of **" + text + "**"
}

// list says how many rows there are. It names the values of one column: all, or some of
// many. The rows themselves are beside the answer.
func (r answerResult) list() string {
	count := r.format.Int(int64(r.rows))
	switch {
	case r.total > 0:
		count = r.format.Int(r.total)
	case r.truncated:
		count = "more than " + count
	}
	c := r.columns[0]
	if len(r.columns) > 1 {
		var names []string
		for _, c := range r.columns[:min(len(r.columns), maxAnswerColumns)] {
			names = append(names, c.name)
		}
		return "There are **" + count + "** rows, with " + enumerate(names)
	}
	missing, named := 0, []string{}
	for i := range c.values {
		if text := c.text(i); text != "" {
			named = append(named, text)
		} else {
			missing++
		}
	}
	such, all := ": ", !r.truncated && r.rows <= maxAnswerRows
	if !all {
		such, named = ", such as ", named[:min(len(named), maxExamples)]
	}
	for i := range named {
		named[i] = "**" + named[i] + "**"
	}
	if missing > 0 && all {
		named = append(named, fmt.Sprintf("%d not recorded", missing))
	}
	if len(named) == 0 {
		such = ""
	}
	return "There are " + count + " " + catalog.Plural(c.name) + such + enumerate(named)
}

// rowTexts returns the columns and values of a result as texts, without columns whose name starts with __.
func rowTexts(rows llm.Rows, text func(json.RawMessage) string) (columns []string, values [][]string) {
	for _, c := range rows.Columns {
		if !strings.HasPrefix(c, "__") {
			columns = append(columns, c)
		}
	}
	for _, row := range rowMembers(rows) {
		texts := make([]string, len(columns))
		for i, c := range columns {
			texts[i] = text(row[c])
		}
		values = append(values, texts)
	}
	return columns, values
}

// jsonText returns a JSON value as text; "" for null.
func jsonText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

var escapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "|", `\|`,
	"!", `\!`, "#", `\#`, "~", `\~`, "&", "&amp;", "://", `:\//`, "www.", `www\.`, "@", `\@`, "\n", " ", "\r", " ", "\t", " ")

// escapeCell escapes a text for Markdown, so that it cannot become a link, an image or
// HTML.
func escapeCell(text string) string { return escapeMarkdown(text, maxCell) }

func escapeMarkdown(text string, most int) string {
	short := text
	if len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		short = text[:end] + "…"
	}
	return strings.TrimSpace(escapes.Replace(short))
}

func holdsPassages(columns []string) bool {
	found := 0
	for _, c := range columns {
		if c == "document" || c == "passage" || c == "text" {
			found++
		}
	}
	return found == 3
}
