package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"parley/llm"
)

// Limits of an answer.
const (
	maxAnswerRows    = 10
	maxAnswerColumns = 8
	maxCell          = 200
	maxPassage       = 800
	maxPassages      = 3
)

// Answer puts what the steps gave into sentences, with a short table where there
// are several rows.
func (r *Rules) Answer(_ context.Context, task llm.AnswerTask) (llm.Answer, error) {
	var parts []string
	for i, s := range task.Steps {
		parts = append(parts, answerStep(s, i+1)+tablesHint(s, task.Datasets))
	}
	if len(parts) == 0 {
		parts = []string{"Nothing was looked up, so there is nothing to say."}
	}
	return llm.Answer{Markdown: strings.Join(parts, "\n\n")}, nil
}

// tablesHint says what can be asked of the tables where a question was looked up
// in texts, because it was not understood as one about tables; else "".
func tablesHint(s llm.Step, datasets []llm.Dataset) string {
	tables, _ := split(datasets)
	hint := examples(tables)
	if s.Failure != "" || hint == "" || !strings.HasPrefix(s.Reasoning, searchReading) {
		return ""
	}
	return "\n\nIt was not understood as a question about the tables. " + plain(hint, maxPassage)
}

func answerStep(s llm.Step, n int) string {
	cite := fmt.Sprintf("[step %d]", n)
	if s.Failure != "" {
		return fmt.Sprintf("“%s” could not be looked up: %s %s", plainCell(s.Instruction), plain(s.Failure, maxPassage), cite)
	}
	columns, rows := cells(s.Rows)
	switch {
	case len(rows) == 0:
		return "Nothing in the data matches that. " + cite
	case holdsPassages(columns):
		_, rows = cellsRaw(s.Rows)
		return passagesAnswer(columns, rows, cite)
	case len(rows) == 1 && len(columns) == 1 && rows[0][0] == "":
		return "There is no value for " + columnName(columns[0]) + " in the rows that match. " + cite
	case len(rows) == 1 && len(columns) == 1:
		return fmt.Sprintf("The %s is **%s**. %s", columnName(columns[0]), rows[0][0], cite)
	case len(rows) == 1:
		return sentence(columns, rows[0]) + " " + cite
	case len(columns) == 1 && len(rows) <= maxAnswerRows && !s.Rows.Truncated:
		var list []string
		for _, row := range rows {
			list = append(list, "**"+row[0]+"**")
		}
		return fmt.Sprintf("There are %d values of %s: %s. %s", len(rows), columnName(columns[0]), enumerate(list), cite)
	}
	return tableAnswer(columns, rows, s.Rows.Truncated, cite)
}

func columnName(name string) string { return plainCell(strings.ReplaceAll(name, "_", " ")) }

// sentence says one row in words.
func sentence(columns []string, row []string) string {
	var parts []string
	for i, c := range columns {
		if i == maxAnswerColumns {
			break
		}
		value := row[i]
		if value == "" {
			value = "not given"
		}
		parts = append(parts, columnName(c)+" is **"+value+"**")
	}
	return "The " + enumerate(parts) + "."
}

func enumerate(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
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
		b.WriteString("| " + plainCell(c) + " ")
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

// cells are the values of a result as texts that are safe in Markdown.
func cells(rows llm.Rows) (columns []string, values [][]string) {
	return texts(rows, func(value json.RawMessage) string { return plainCell(shortNumber(value)) })
}

// cellsRaw are the values of a result as texts.
func cellsRaw(rows llm.Rows) (columns []string, values [][]string) { return texts(rows, jsonText) }

func texts(rows llm.Rows, text func(json.RawMessage) string) (columns []string, values [][]string) {
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

// shortNumber is jsonText with figures as people write them. The rows have all of
// their digits.
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

// jsonText is a JSON value as text; null is none.
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

// plainCell makes a text that Markdown shows as it is: it cannot become a link,
// an image or HTML.
func plainCell(text string) string { return plain(text, maxCell) }

func plain(text string, most int) string {
	short := cut(text, most)
	if short != text {
		short += "…"
	}
	return strings.TrimSpace(escapes.Replace(short))
}

func holdsPassages(columns []string) bool {
	found := 0
	for _, c := range columns {
		if wordIs(c, "document", "passage", "text") {
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
	b.WriteString("The passages that match best: " + cite)
	for i, row := range rows {
		if i == maxPassages {
			break
		}
		fmt.Fprintf(&b, "\n\n> %s\n>\n> — %s, passage %s",
			quoted(row[at["text"]]), plainCell(row[at["document"]]), plainCell(row[at["passage"]]))
	}
	return b.String()
}

// quoted is a passage on one line, with its heading, where it begins with one, in
// bold.
func quoted(text string) string {
	marks := len(text) - len(strings.TrimLeft(text, "#"))
	heading, rest, _ := strings.Cut(text[marks:], "\n")
	heading = strings.TrimSpace(heading)
	if marks == 0 || heading == "" {
		return plain(text, maxPassage)
	}
	return strings.TrimSpace("**" + plainCell(heading) + "** " + plain(strings.TrimSpace(rest), maxPassage))
}
