package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"parley/agents"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// askSession asks questions in one conversation.
type askSession struct {
	client *apiclient.Client
	agent  apiclient.Agent
	// question has all but the id and the text.
	question apiclient.Question
	env      command.Env
	json     bool
	verbose  bool
	// following says that there are more questions to come.
	following bool
}

// note prints a message to standard error, unless the output is JSON.
func (s *askSession) note(format string, args ...any) {
	if !s.json {
		fmt.Fprintln(s.env.Stderr, console.Line(fmt.Sprintf(format, args...)))
	}
}

// ask sends a question and shows the events. An interruption cancels the run. The error
// is why there is no answer.
func (s *askSession) ask(ctx context.Context, text string) error {
	question := s.question
	question.ID, question.Text = uuid.NewString(), text
	show := newAskView(s.env.Stdout, s.env.Stderr)
	show.quiet, show.verbose = s.json, s.verbose
	task := &apiclient.Task{History: []apiclient.Message{{Parts: apiclient.Parts{{Text: text}}}}}
	last, failed := s.events(ctx, question, task, show)
	for failed == nil && task.Status.State.Waits() {
		var answer string
		if answer, failed = s.answer(ctx, task, show); failed != nil {
			break
		}
		reply := apiclient.Question{ID: uuid.NewString(), Text: answer, TaskID: task.ID, After: last}
		last, failed = s.events(ctx, reply, task, show)
	}
	switch {
	case ctx.Err() != nil && !task.Status.State.Ended():
		failed = s.cancel(ctx, question, task)
	case errors.Is(failed, command.ErrInputRequired):
		failed = s.leave(ctx, task, failed)
	case failed != nil && task.ID != "" && apiclient.Unavailable(failed):
		failed = fmt.Errorf("%w; `parley tasks %s` shows the state of the question", failed, task.ID)
	case failed != nil:
		failed = s.explain(ctx, failed)
	default:
		failed = outcome(task)
		if !s.following && slices.ContainsFunc(task.Artifacts, func(a apiclient.Artifact) bool { return len(a.Metadata.Alternatives) > 0 }) {
			s.note("to choose the other reading: %s 1", s.goOn(task))
		}
	}
	if task.ContextID != "" {
		s.question.ContextID, s.question.Files = task.ContextID, nil // the conversation has them
		if !s.following {
			s.note("task %s, conversation %s", task.ID, task.ContextID)
		}
	}
	return s.report(task, failed)
}

// events sends a question or an answer and shows the events, to the end of the task or to a
// question to the user. It returns the number of the last event.
func (s *askSession) events(ctx context.Context, question apiclient.Question, task *apiclient.Task, show *askView) (last int64, failed error) {
	defer show.live.Clear()
	for event, err := range s.agent.Ask(ctx, question, show.broken) {
		if err != nil {
			return last, err
		}
		last = event.Number
		task.Apply(event)
		if err := show.event(event); err != nil {
			return last, err
		}
	}
	return last, nil
}

// cancelTimeout is how long a server may take to cancel a run.
const cancelTimeout = 5 * time.Second

func (s *askSession) cancel(ctx context.Context, question apiclient.Question, task *apiclient.Task) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer done()
	if task.ID == "" {
		found, err := s.agent.Find(ctx, question)
		switch {
		case err != nil:
			return fmt.Errorf("%w: the run may continue: %w", command.ErrInterrupted, err)
		case found == nil:
			return fmt.Errorf("%w before the run began", command.ErrInterrupted)
		}
		*task = *found
	}
	canceled, err := s.agent.Cancel(ctx, task.ID)
	var refused *apiclient.RPCError
	switch {
	case errors.As(err, &refused) && refused.Code == apiclient.TaskHasEnded:
		return fmt.Errorf("%w: the run had ended; `parley tasks %s` shows it", command.ErrInterrupted, task.ID)
	case err != nil:
		return fmt.Errorf("%w: the run %s continues because it could not be canceled: %w", command.ErrInterrupted, task.ID, err)
	}
	task.Status = canceled.Status
	return fmt.Errorf("%w: the run is canceled", command.ErrInterrupted)
}

// outcome is the error of a task without an answer; nil if it has one.
func outcome(task *apiclient.Task) error {
	switch state := task.Status.State; {
	case task.Status.Message.Parts.Data().Code == agents.NotUnderstood:
		return command.ErrUnanswered
	case state != apiclient.Completed && task.Status.Message.Parts.Text() != "":
		return fmt.Errorf("%w: the run %s: %s", command.ErrNoAnswer, state, task.Status.Message.Parts.Text())
	case state != apiclient.Completed:
		return fmt.Errorf("%w: the run is %s", command.ErrNoAnswer, state)
	case !answered(task):
		return command.ErrUnanswered
	}
	return nil
}

// answered reports whether a run has a result: the reader may not have understood the
// question, or the data may not have the answer.
func answered(task *apiclient.Task) bool {
	return slices.ContainsFunc(task.Artifacts, func(a apiclient.Artifact) bool {
		return a.ArtifactID != agents.AnswerText && a.ArtifactID != agents.GeneratedQuery && !a.Unanswered()
	})
}

// askReport is the JSON of a task.
type askReport struct {
	TaskID    string       `json:"taskId,omitempty"`
	ContextID string       `json:"contextId,omitempty"`
	State     string       `json:"state,omitempty"`
	Answered  bool         `json:"answered"`
	Answer    string       `json:"answer"`
	Steps     []stepReport `json:"steps"`
	Error     string       `json:"error,omitempty"`
	// Suggestions are questions to ask in place of one that was refused.
	Suggestions []string `json:"suggestions,omitempty"`
	// InputRequired is what the agent asks.
	InputRequired *inputReport `json:"inputRequired,omitempty"`
}

// stepReport is a step of it.
type stepReport struct {
	Instruction string            `json:"instruction"`
	Query       string            `json:"query"`
	Rows        []json.RawMessage `json:"rows"`
	RowCount    int               `json:"rowCount"`
	Truncated   bool              `json:"truncated"`
	TotalRows   int               `json:"totalRows,omitempty"`
	// Columns are those of a step without rows.
	Columns []string `json:"columns,omitempty"`
	apiclient.Certainty
}

// reportOf returns the report of a task, ended or not.
func reportOf(task *apiclient.Task, failed error) askReport {
	r := askReport{
		TaskID: task.ID, ContextID: task.ContextID, State: task.Status.State.String(), Steps: []stepReport{},
		Answered:      failed == nil && task.Status.State == apiclient.Completed,
		InputRequired: inputOf(task),
	}
	if failed != nil {
		r.Error = failed.Error()
	}
	if parts := task.Status.Message.Parts; parts.Data().Code == agents.NotUnderstood {
		r.Answer, r.Suggestions = parts.Text(), parts.Data().Suggestions
	}
	query := ""
	for _, artifact := range task.Artifacts {
		r.Suggestions = append(r.Suggestions, artifact.Metadata.Suggestions...)
		step := stepReport{Instruction: artifact.Metadata.Instruction, Query: artifact.Parts.Text(), Certainty: artifact.Metadata.Certainty}
		switch artifact.ArtifactID {
		case agents.GeneratedQuery:
			query = artifact.Parts.Text()
			continue
		case agents.AnswerText:
			r.Answer = artifact.Parts.Text()
			continue
		case agents.ResultData:
			r.Answer = artifact.Parts.Text()
			step.Instruction, step.Query = task.Question().Parts.Text(), query
		}
		data := artifact.Parts.Data()
		step.Rows, step.RowCount, step.Truncated, step.TotalRows, step.Columns = data.Rows, data.RowCount, data.Truncated, data.TotalRows, data.Columns
		if step.Rows == nil {
			step.Rows = []json.RawMessage{}
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

// report prints a task if the output is JSON, and returns the error.
func (s *askSession) report(task *apiclient.Task, failed error) error {
	if !s.json {
		return failed
	}
	if err := writeJSON(s.env.Stdout, reportOf(task, failed)); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
