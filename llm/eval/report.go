package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Report is what came of a suite, or of a part of it.
type Report struct {
	Score Score
	// Failures is how many outcomes are kept to be read.
	Failures int

	times  []float64
	wrong  []Outcome
	failed []Outcome
	// failures counts those that are not kept, too.
	failures int
}

// Add counts an outcome.
func (r *Report) Add(o Outcome) {
	r.Score.Add(o)
	r.times = append(r.times, o.MS)
	switch {
	case o.Failed:
		r.failures++
		if len(r.failed) < r.Failures {
			r.failed = append(r.failed, o)
		}
	case o.Error == "" && !o.Right:
		r.keep(o)
	}
}

// keep keeps the wrong answers of which the agent was surest: they are the ones
// to learn from.
func (r *Report) keep(o Outcome) {
	at, _ := slices.BinarySearchFunc(r.wrong, o, func(have, o Outcome) int {
		if have.Confidence >= o.Confidence {
			return -1
		}
		return 1
	})
	if r.wrong = slices.Insert(r.wrong, at, o); len(r.wrong) > r.Failures {
		r.wrong = r.wrong[:r.Failures]
	}
}

// Latency gives the time, in milliseconds, within which a share of the questions
// was answered.
func (r *Report) Latency(share float64) float64 {
	if len(r.times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r.times))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Print writes the report: the score with the pairs of tags named, the times and
// the failures worth reading.
func (r *Report) Print(w io.Writer, pairs ...string) error {
	var text bytes.Buffer
	if err := r.Score.Print(&text, pairs...); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nlatency p50 %.1f ms, p99 %.1f ms\n", r.Latency(0.50), r.Latency(0.99))
	if len(r.wrong) > 0 {
		fmt.Fprintf(&text, "\nanswered wrong: %d, the surest %d:\n", r.Score.All.Answered-r.Score.All.Right, len(r.wrong))
		for _, o := range r.wrong {
			printWrong(&text, o)
		}
	}
	if r.failures > 0 {
		fmt.Fprintf(&text, "\nfailed: %d\n", r.failures)
		for _, o := range r.failed {
			fmt.Fprintf(&text, "\n  %s in %s\n", o.ID, o.Namespace)
			printField(&text, "question", o.Question.Question)
			printField(&text, "query", cmp.Or(o.Query, "none"))
			printField(&text, "error", o.Error)
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

func printWrong(w io.Writer, o Outcome) {
	fmt.Fprintf(w, "\n  %s in %s, confidence %.2f\n", o.ID, o.Namespace, o.Confidence)
	printField(w, "question", o.Question.Question)
	printField(w, "query", o.Query)
	printField(w, "expected", rowsText(o.Question.Answer))
	printField(w, "got", rowsText(o.Values))
}

// maxField is how much of a field is shown, in characters.
const maxField = 240

// printField writes a field in a line. What is written may come from anywhere, so
// control characters do not get to the terminal.
func printField(w io.Writer, name, text string) {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }), " ")
	if runes := []rune(text); len(runes) > maxField {
		text = string(runes[:maxField]) + "…"
	}
	fmt.Fprintf(w, "    %-9s %s\n", name, text)
}

// rowsText writes rows in a line, as a suite does.
func rowsText(rows [][]any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(rows); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text.String())
}

// WriteResult writes an outcome as a line of results.jsonl.
func WriteResult(w io.Writer, o Outcome) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(o)
}
