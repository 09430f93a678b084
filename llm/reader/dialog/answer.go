package dialog

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/llm"
	"parley/llm/reader/catalog"
)

// Limits of an answer.
const (
	maxAnswerRows    = 10
	maxAnswerColumns = 8
	maxCell          = 200
	maxPassage       = 800
	maxPassages      = 3
)

// Answer formats the results of the steps as sentences, and several rows as a short table.
// Each part cites its step as [step N]. Texts of the data are escaped, so that none becomes
// a link, an image or HTML.
func Answer(task llm.AnswerTask) llm.Answer {
	var parts []string
	for i, s := range task.Steps {
		text := answerStep(s, i+1)
		if len(task.Steps) > 1 && s.Failure == "" && s.Instruction != "" {
			text = escapeCell(s.Instruction) + " " + text
		}
		parts = append(parts, text+unusedSentence(s))
	}
	if len(parts) == 0 {
		parts = []string{"Nothing was looked up, so there is no answer."}
	}
	return llm.Answer{Markdown: strings.Join(parts, "\n\n")}
}

func answerStep(s llm.Step, n int) string {
	cite := fmt.Sprintf("[step %d]", n)
	if s.Failure != "" {
		return fmt.Sprintf("“%s” could not be answered: %s %s", escapeCell(s.Instruction), escapeMarkdown(s.Failure, maxPassage), cite)
	}
	columns, rows := rowTexts(s.Rows, func(value json.RawMessage) string { return escapeCell(shortNumber(value)) })
	switch {
	case len(rows) == 0 || len(columns) == 0:
		return "Nothing in the data matches that. " + cite
	case holdsPassages(columns):
		columns, rows = rowTexts(s.Rows, jsonText)
		return passagesAnswer(columns, rows, cite)
	case len(rows) == 1 && len(columns) == 1 && rows[0][0] == "":
		return "No " + columnName(columns[0]) + " is recorded for that. " + cite
	}
	measure, figures := measureOf(s.Rows)
	switch {
	case len(rows) == 1:
		return sentence(columns, rows[0]) + withMeasure(measure, figures) + ". " + cite
	case len(columns) == 1 && len(rows) <= maxAnswerRows && !s.Rows.Truncated:
		return listAnswer(columns[0], rows, measure, figures, cite)
	case measure != "":
		columns = append(columns, measure)
		for i := range rows {
			rows[i] = append(rows[i], figures[i].text)
		}
	}
	return tableAnswer(columns, rows, s.Rows.Truncated, cite)
}

// unusedSentence names the words of the question that a step does not use, from its
// reasoning.
func unusedSentence(s llm.Step) string {
	at := strings.LastIndex(s.Reasoning, unusedPrefix)
	if at < 0 || s.Failure != "" {
		return ""
	}
	return "\n\nI did not use: " + escapeMarkdown(s.Reasoning[at+len(unusedPrefix):], maxPassage)
}

func columnName(name string) string { return escapeCell(catalog.DisplayName(name)) }

// sentence formats one row as a sentence without the full stop.
func sentence(columns []string, row []string) string {
	var parts []string
	for i, c := range columns[:min(len(columns), maxAnswerColumns)] {
		value := "not recorded"
		if row[i] != "" {
			value = "**" + row[i] + "**"
		}
		parts = append(parts, "the "+columnName(c)+" is "+value)
	}
	return "T" + enumerate(parts)[1:]
}

// listAnswer lists the values of one column, with the measure by which they were selected.
func listAnswer(column string, rows [][]string, measure string, figures []measureValue, cite string) string {
	var list []string
	missing, with := 0, ""
	if measure != "" {
		with = ", with the " + columnName(measure) + " of each"
	}
	for i, row := range rows {
		if row[0] == "" {
			missing++
			continue
		}
		text := "**" + row[0] + "**"
		if measure != "" && figures[i].text != "" {
			text += " (" + figures[i].text + ")"
		}
		list = append(list, text)
	}
	if missing > 0 {
		list = append(list, fmt.Sprintf("%d not recorded", missing))
	}
	return fmt.Sprintf("There are %d %s%s: %s. %s", len(rows), catalog.Plural(columnName(column)), with, enumerate(list), cite)
}

func tableAnswer(columns []string, rows [][]string, truncated bool, cite string) string {
	var b strings.Builder
	shown := min(len(rows), maxAnswerRows)
	width := min(len(columns), maxAnswerColumns)
	switch {
	case truncated:
		fmt.Fprintf(&b, "There are more than %d rows; the first %d are: %s\n\n", len(rows), shown, cite)
	case shown < len(rows):
		fmt.Fprintf(&b, "There are %d rows; the first %d are: %s\n\n", len(rows), shown, cite)
	default:
		fmt.Fprintf(&b, "There are %d rows: %s\n\n", len(rows), cite)
	}
	for _, c := range columns[:width] {
		b.WriteString("| " + columnName(c) + " ")
	}
	b.WriteString("|\n" + strings.Repeat("| --- ", width) + "|")
	for _, row := range rows[:shown] {
		b.WriteString("\n")
		for _, v := range row[:width] {
			b.WriteString("| " + v + " ")
		}
		b.WriteString("|")
	}
	return b.String()
}

// rowTexts returns the columns and values of a result as texts, without internal columns.
func rowTexts(rows llm.Rows, text func(json.RawMessage) string) (columns []string, values [][]string) {
	for _, c := range rows.Columns {
		if !strings.HasPrefix(c, "__") {
			columns = append(columns, c)
		}
	}
	for _, raw := range rows.Rows {
		var row map[string]json.RawMessage
		if json.Unmarshal(raw, &row) != nil {
			continue
		}
		texts := make([]string, len(columns))
		for i, c := range columns {
			texts[i] = text(row[c])
		}
		values = append(values, texts)
	}
	return columns, values
}

// shortNumber is jsonText with rounded numbers.
func shortNumber(value json.RawMessage) string {
	var n float64
	_, decimals, _ := strings.Cut(string(value), ".")
	switch {
	case len(decimals) <= 4 || json.Unmarshal(value, &n) != nil, math.Abs(n) >= 1e15, math.Abs(n) < 1e-9:
		return jsonText(value)
	}
	digits := 2
	if math.Abs(n) < 1 {
		digits = 3 - int(math.Floor(math.Log10(math.Abs(n))))
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(n, 'f', digits, 64), "0"), ".")
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

// passagesAnswer quotes the best passages.
func passagesAnswer(columns []string, rows [][]string, cite string) string {
	at := map[string]int{}
	for i, c := range columns {
		at[c] = i
	}
	var b strings.Builder
	if len(rows) == 1 {
		b.WriteString("This passage matches best: " + cite)
	} else {
		b.WriteString("These passages match best: " + cite)
	}
	for i, row := range rows {
		if i == maxPassages {
			break
		}
		fmt.Fprintf(&b, "\n\n> %s\n>\n> — %s, passage %s",
			blockquote(row[at["text"]]), escapeCell(row[at["document"]]), escapeCell(row[at["passage"]]))
	}
	return b.String()
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
