package rest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

type runStarted struct {
	RunID          string `json:"runId"`
	ConversationID string `json:"conversationId"`
}

type planEvent struct {
	Steps     []string `json:"steps"`
	Reasoning string   `json:"reasoning"`
}

type stepStartedEvent struct {
	Index       int    `json:"index"`
	Instruction string `json:"instruction"`
}

type queryExecutingEvent struct {
	Index int `json:"index"`
}

type stepEvent struct {
	Index       int               `json:"index"`
	Instruction string            `json:"instruction"`
	Query       string            `json:"query"`
	Reasoning   string            `json:"reasoning"`
	Data        []json.RawMessage `json:"data"`
}

type answerEvent struct {
	Response string `json:"response"`
}

type errorEvent struct {
	Message string `json:"message"`
}

// toEvent gives what an event says of some progress; its kind is the event's
// name.
func toEvent(p storage.Progress) any {
	switch p.Kind {
	case storage.Planned:
		return planEvent{Steps: orEmpty(p.Steps), Reasoning: p.Reasoning}
	case storage.StepStarted:
		return stepStartedEvent{Index: p.Index, Instruction: p.Step.Instruction}
	case storage.QueryExecuting:
		return queryExecutingEvent{Index: p.Index}
	case storage.StepDone:
		return stepEvent{
			Index:       p.Index,
			Instruction: p.Step.Instruction,
			Query:       p.Step.Query,
			Reasoning:   p.Step.Reasoning,
			Data:        orEmpty(p.Step.Data),
		}
	case storage.Answered:
		return answerEvent{Response: p.Text}
	case storage.RunHasFailed:
		return errorEvent{Message: p.Text}
	}
	return struct{}{}
}

// orEmpty gives a list that is [] in JSON when it has no entries.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// sendProgress answers with a stream of events, from the run's start to its
// end. A stream that cannot go on is broken off: it says that a run has failed
// only when it has.
func (s *Server) sendProgress(c *gin.Context, caller storage.Caller, started runStarted) error {
	c.Header("Content-Type", eventStream)
	c.Header("X-Accel-Buffering", "no") // proxies that gather answers would hold events back
	if err := sendEvent(c, "run-started", started); err != nil {
		return err
	}
	for progress, err := range s.cfg.Agents.Follow(c.Request.Context(), caller, started.RunID) {
		switch {
		case err != nil:
			return fmt.Errorf("follow run: %w", err)
		case progress.Kind == "":
			err = send(c, []byte(": keep-alive\n\n"))
		default:
			err = sendEvent(c, string(progress.Kind), toEvent(progress))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func sendEvent(c *gin.Context, name string, data any) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "event: %s\ndata: ", name)
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(data); err != nil { // on one line, with its end
		return fmt.Errorf("write event %s: %w", name, err)
	}
	text.WriteByte('\n')
	return send(c, text.Bytes())
}

func send(c *gin.Context, text []byte) error {
	if _, err := c.Writer.Write(text); err != nil {
		return fmt.Errorf("send event: %w", err)
	}
	c.Writer.Flush()
	return nil
}
