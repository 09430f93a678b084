package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"parley/cards"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// inputReport is a question to the user in JSON.
type inputReport struct {
	Question string             `json:"question"`
	Options  []apiclient.Option `json:"options"`
}

// inputOf returns what a task asks the user; nil if it does not wait. The text of the
// message lists the options, too, for clients that read nothing else.
func inputOf(task *apiclient.Task) *inputReport {
	if !task.Status.State.Waits() {
		return nil
	}
	parts := task.Status.Message.Parts
	input := &inputReport{Question: parts.Text(), Options: []apiclient.Option{}}
	if options := parts.Data().Options; len(options) > 0 {
		input.Question, _, _ = strings.Cut(parts.Text(), "\n")
		input.Options = options
	}
	return input
}

// answer asks the user at a prompt. Elsewhere it shows the question; the error is
// ErrInputRequired.
func (s *askSession) answer(ctx context.Context, task *apiclient.Task, show *askView) (string, error) {
	input := inputOf(task)
	lines, atPrompt := newLineReader("answer")
	if s.json || !atPrompt {
		if !s.json {
			writeInput(s.env.Stdout, show.resultStyle, input)
		}
		return "", command.ErrInputRequired
	}
	fmt.Fprintln(s.env.Stderr)
	writeInput(s.env.Stderr, show.progressStyle, input)
	for {
		text, err := nextLine(ctx, lines)
		if errors.Is(err, io.EOF) {
			err = command.ErrInputRequired
		}
		if text = strings.TrimSpace(text); err != nil || text != "" {
			return text, err
		}
	}
}

func writeInput(w io.Writer, style console.Style, input *inputReport) {
	fmt.Fprintln(w, style.Bold(console.Line(input.Question)))
	for _, option := range input.Options {
		fmt.Fprintf(w, "  %s. %s\n", console.Line(option.ID), console.Line(option.Label))
	}
}

// leave leaves a question to the user unanswered. Among questions that follow each other, the
// next would be taken for its answer: there the run is canceled.
func (s *askSession) leave(ctx context.Context, task *apiclient.Task, unanswered error) error {
	if s.following {
		if _, err := s.agent.Cancel(ctx, task.ID); err != nil {
			return fmt.Errorf("%w: the run %s could not be canceled: %w", unanswered, task.ID, err)
		}
		return fmt.Errorf("%w: the run is canceled", unanswered)
	}
	s.note("to answer: %s ANSWER", s.goOn(task))
	return unanswered
}

// goOn is the command that goes on with the conversation of a task, without the text.
func (s *askSession) goOn(task *apiclient.Task) string {
	agent := ""
	if s.agent.Name != cards.AssistantName {
		agent = " --agent " + s.agent.Name
	}
	return "parley ask" + agent + s.inNamespace() + " --context " + task.ContextID
}
