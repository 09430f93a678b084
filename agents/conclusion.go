package agents

import (
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/llm"
)

// addStep adds the metadata of an artifact that holds a query.
func (w *Run) addStep(artifact *a2a.Artifact) {
	if id := string(artifact.ID); id == GeneratedQuery || strings.HasPrefix(id, stepPrefix) {
		w.steps = append(w.steps, artifact.Metadata)
	}
}

// conclusion returns the metadata of the final status: whether there is an answer, how sure
// it is, how the question was read, and what models took.
func (w *Run) conclusion(state a2a.TaskState) map[string]any {
	answered, least := false, 0.0
	var readings []string
	var offered []domain.InputOption
	for _, step := range w.steps {
		if found, ok := step["answered"].(bool); ok && !found {
			continue
		}
		answered = true
		confidence, alternatives := readCertainty(step)
		// An answer is as sure as its least sure step.
		if least == 0 || confidence > 0 && confidence < least {
			least = confidence
		}
		offered = append(offered, alternatives...)
		if reading, _ := step["reasoning"].(string); reading != "" {
			readings = append(readings, reading)
		}
	}
	metadata := map[string]any{
		"answered": answered && state == a2a.TaskStateCompleted,
		"reading":  clean(strings.Join(readings, "\n"), maxReason),
	}
	Found{Confidence: least, Alternatives: offered}.addCertainty(metadata)
	if !answered {
		metadata["confidence"] = 0.0
	}
	if w.question.Inferred {
		metadata["namespace"] = w.question.Namespace.String()
	}
	if w.usage.InputTokens+w.usage.OutputTokens > 0 { // the reader takes none
		metadata["usage"] = map[string]any{
			"model": w.usage.Model, "inputTokens": w.usage.InputTokens, "outputTokens": w.usage.OutputTokens,
		}
	}
	return metadata
}

// Remarks is what an answer says besides what was asked: which namespace it is about where the
// text of the question decided, how the question was read where that is only likely or there are
// other readings, and which rows joins repeat or leave out; "" for none.
func (w *Run) Remarks() string {
	var readings, notes []string
	if ref := w.question.Namespace; w.question.Inferred {
		name := ref.String()
		if ref.Owner == w.question.Caller.Username {
			name = ref.Name
		}
		readings = append(readings, "Answered from the namespace "+name+".")
	}
	for _, step := range w.steps {
		reading, _ := step["reasoning"].(string)
		assumed := step["alternatives"] != nil || step["certainty"] == likely
		if assumed {
			readings = append(readings, reading)
		}
		var of []string
		if decode(step["notes"], &of) == nil && !assumed { // a reading has its notes
			notes = append(notes, of...)
		}
	}
	text := llm.Plain(strings.Join(readings, " "))
	for i, note := range notes {
		if !slices.Contains(notes[:i], note) {
			text += " " + note
		}
	}
	return clean(strings.TrimSpace(text), maxReasoning)
}
