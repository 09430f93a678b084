package agents

import (
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/llm"
)

// look notes the metadata of an artifact that holds a query.
func (w *Run) look(artifact *a2a.Artifact) {
	if id := string(artifact.ID); id == GeneratedQuery || strings.HasPrefix(id, stepPrefix) {
		w.looked = append(w.looked, artifact.Metadata)
	}
}

// conclusion gives the metadata of the final status: whether there is an answer, how sure
// it is, how the question was read, and what models took.
func (w *Run) conclusion(state a2a.TaskState) map[string]any {
	answered, confidence := false, 1.0
	var readings []string
	for _, step := range w.looked {
		if found, ok := step["answered"].(bool); ok && !found {
			continue
		}
		answered = true
		// An answer is as sure as its least sure step.
		sure, _ := step["confidence"].(float64)
		confidence = min(confidence, sure)
		if reading, _ := step["reasoning"].(string); reading != "" {
			readings = append(readings, reading)
		}
	}
	if !answered {
		confidence = 0
	}
	metadata := map[string]any{
		"answered":   answered && state == a2a.TaskStateCompleted,
		"confidence": confidence,
		"reading":    clean(strings.Join(readings, "\n"), maxReason),
	}
	if w.usage.InputTokens+w.usage.OutputTokens > 0 { // the reader takes none
		metadata["usage"] = map[string]any{
			"model": w.usage.Model, "inputTokens": w.usage.InputTokens, "outputTokens": w.usage.OutputTokens,
		}
	}
	return metadata
}

// Assumed says how the question was read where it has another reading that is about as
// likely, and its asker must not be asked; "" otherwise.
func (w *Run) Assumed() string {
	var readings []string
	for _, step := range w.looked {
		reading, _ := step["reasoning"].(string)
		if _, ok := step["alternative"]; ok {
			readings = append(readings, reading)
		}
	}
	return clean(llm.Plain(strings.Join(readings, " ")), maxReasoning)
}
