package eval

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Report collects the outcomes of a suite.
type Report struct {
	Score Score
	// Failures is how many wrong answers, and how many failures, the report shows.
	Failures int

	times []float64
	// wrong has the wrong answers with the highest confidence.
	wrong    []Outcome
	failed   []Outcome
	failures int
}

// Add adds an outcome.
func (r *Report) Add(o Outcome) {
	r.Score.add(o)
	r.times = append(r.times, o.MS)
	switch {
	case o.Failed:
		r.failures++
		if len(r.failed) < r.Failures {
			r.failed = append(r.failed, o)
		}
	case o.Error == "" && !o.Right:
		r.wrong = append(r.wrong, o)
		slices.SortStableFunc(r.wrong, func(a, b Outcome) int { return cmp.Compare(b.Confidence, a.Confidence) })
		r.wrong = r.wrong[:min(len(r.wrong), r.Failures)]
	}
}

// latency returns the time, in milliseconds, within which a share of the questions was
// answered.
func (r *Report) latency(share float64) float64 {
	if len(r.times) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r.times))
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Print writes the report: the score with the given pairs of tags, the latency, wrong
// answers and failures.
func (r *Report) Print(w io.Writer, pairs ...string) error {
	var text bytes.Buffer
	if err := r.Score.print(&text, pairs); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\nlatency p50 %.1f ms, p99 %.1f ms\n", r.latency(0.50), r.latency(0.99))
	if len(r.wrong) > 0 {
		fmt.Fprintf(&text, "\nanswered wrong: %d, the surest %d:\n", r.Score.All.Answered-r.Score.All.Right, len(r.wrong))
		for _, o := range r.wrong {
			confidence := ""
			if o.Confidence > 0 {
				confidence = fmt.Sprintf(", confidence %.2f", o.Confidence)
			}
			fmt.Fprintf(&text, "\n  %s in %s%s\n", o.ID, o.Namespace, confidence)
			printFields(&text, "question", o.Question.Question, "query", o.Query,
				"expected", rowsText(o.Question.Answer), "got", rowsText(o.Values))
		}
	}
	if r.failures > 0 {
		fmt.Fprintf(&text, "\nfailed: %d\n", r.failures)
		for _, o := range r.failed {
			fmt.Fprintf(&text, "\n  %s in %s\n", o.ID, o.Namespace)
			printFields(&text, "question", o.Question.Question, "query", cmp.Or(o.Query, "none"), "error", o.Error)
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

// maxField is how much of a field is shown, in characters.
const maxField = 240

// printFields writes names and texts, a line each. The texts are untrusted, so it removes
// control characters.
func printFields(w io.Writer, namesAndTexts ...string) {
	for pair := range slices.Chunk(namesAndTexts, 2) {
		text := strings.Join(strings.FieldsFunc(pair[1], unicode.IsControl), " ")
		if runes := []rune(text); len(runes) > maxField {
			text = string(runes[:maxField]) + "…"
		}
		fmt.Fprintf(w, "    %-9s %s\n", pair[0], text)
	}
}

// rowsText writes rows in a line, in the form of a suite.
func rowsText(rows [][]any) string {
	var text bytes.Buffer
	if err := encode(&text, rows); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(text.String())
}

// WriteResult writes an outcome as a line of results.jsonl.
func WriteResult(w io.Writer, o Outcome) error { return encode(w, o) }

func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
