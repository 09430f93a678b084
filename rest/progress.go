package rest

import (
	"encoding/json"
	"fmt"

	"parley/internal/domain"
	"parley/internal/jsontext"
	"parley/internal/sse"
)

type runStarted struct {
	RunID          string `json:"runId"`
	ConversationID string `json:"conversationId"`
}

type planEvent struct {
	Steps     []string `json:"steps"`
	Reasoning string   `json:"reasoning"`
}

type queryExecutingEvent struct {
	Index int `json:"index"`
}

type stepStartedEvent struct {
	Index       int    `json:"index"`
	Instruction string `json:"instruction"`
}

type stepEvent struct {
	stepStartedEvent
	Query     string            `json:"query"`
	Reasoning string            `json:"reasoning"`
	Data      []json.RawMessage `json:"data"`
	Columns   []string          `json:"columns,omitempty"`
	Chart     any               `json:"chart,omitempty"`
	Units     map[string]string `json:"units,omitempty"`
	Measure   string            `json:"measure,omitempty"`
	Verified  bool              `json:"verified,omitempty"`

	VerifiedBy string          `json:"verifiedBy,omitempty"`
	Sources    []domain.Source `json:"sources,omitempty"`
	certaintyJSON
}

// certaintyJSON says how certain the rows of a question are.
type certaintyJSON struct {
	Confidence   float64              `json:"confidence,omitempty"`
	Certainty    string               `json:"certainty,omitempty"`
	Alternatives []domain.InputOption `json:"alternatives,omitempty"`
}

func toCertainty(s domain.Step) certaintyJSON {
	return certaintyJSON{s.Confidence, s.Certainty, s.Alternatives}
}

type answerEvent struct {
	Response string `json:"response"`
}

type errorEvent struct {
	Message string `json:"message"`
}

// toEvent converts progress to the data of an event; its kind is the event's name.
func toEvent(p domain.Progress) any {
	step := stepStartedEvent{Index: p.Index, Instruction: p.Step.Instruction}
	switch p.Kind {
	case domain.Planned:
		return planEvent{Steps: orEmpty(p.Steps), Reasoning: p.Reasoning}
	case domain.StepStarted:
		return step
	case domain.QueryExecuting:
		return queryExecutingEvent{Index: p.Index}
	case domain.StepDone:
		return stepEvent{step, p.Step.Query, p.Step.Reasoning, orEmpty(p.Step.Data), p.Step.Columns, p.Step.Chart, p.Step.Units, p.Step.Measure, p.Step.Verified, p.Step.VerifiedBy, p.Step.Sources, toCertainty(p.Step)}
	case domain.Answered:
		return answerEvent{Response: p.Text}
	case domain.RunHasFailed:
		return errorEvent{Message: p.Text}
	case domain.InputRequired:
		return toInput(p.Input)
	}
	return struct{}{}
}

// sendProgress streams the progress of a run from its start to its end, or to a question
// that waits for its answer. The stream is
// aborted when it cannot continue: it reports a failed run only when the run failed.
func (s *Server) sendProgress(r *request, started runStarted) error {
	out := sse.NewWriter(r.Writer, s.cfg.WriteTimeout)
	defer out.Close()
	err := out.Start()
	if err == nil {
		err = sendEvent(out, "run-started", started)
	}
	if err != nil {
		return err
	}
	for progress, err := range s.cfg.Agents.Follow(r.ctx(), r.caller, started.RunID) {
		switch {
		case err != nil:
			return fmt.Errorf("follow run: %w", err)
		case progress.Kind == "":
			if err = out.KeepAlive(); err == nil {
				err = out.Flush()
			}
		default:
			err = sendEvent(out, string(progress.Kind), toEvent(progress))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sendEvent(out *sse.Writer, name string, data any) error {
	text, err := jsontext.Marshal(data)
	if err != nil {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	if err := out.Event(sse.NoID, name, text); err != nil {
		return err
	}
	return out.Flush()
}
