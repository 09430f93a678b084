package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/agents"
	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// askSession asks questions, one after the other, in one conversation.
type askSession struct {
	client *apiclient.Client
	agent  apiclient.Agent
	// question has everything but the text.
	question apiclient.Question
	env      command.Env
	json     bool
	// following says that there are more questions to come.
	following bool
}

// note tells something beside the answer.
func (s *askSession) note(format string, args ...any) {
	if !s.json {
		fmt.Fprintln(s.env.Stderr, console.Line(fmt.Sprintf(format, args...)))
	}
}

// ask asks and shows what comes. When it is interrupted it cancels the run. The
// error says why there is no answer.
func (s *askSession) ask(ctx context.Context, text string) error {
	asked := apiclient.NewQuestion(text, s.question.Namespace)
	asked.ContextID, asked.Provider, asked.Model = s.question.ContextID, s.question.Provider, s.question.Model
	show := newAskView(s.env.Stdout, s.env.Stderr)
	show.quiet = s.json
	task := &apiclient.Task{History: []apiclient.Message{{Parts: apiclient.Parts{{Text: text}}}}}
	var failed error
	for event, err := range s.agent.Ask(ctx, asked, show.broken) {
		if failed = err; err == nil {
			task.Apply(event)
			failed = show.event(event)
		}
		if failed != nil {
			break
		}
	}
	show.live.Clear()
	switch {
	case ctx.Err() != nil && !task.Status.State.Ended():
		failed = s.cancel(ctx, asked, task)
	case failed != nil && task.ID != "" && apiclient.Unavailable(failed):
		failed = fmt.Errorf("%w; `parley tasks %s` shows what has become of the question", failed, task.ID)
	case failed != nil:
		failed = s.explain(ctx, failed)
	default:
		failed = outcome(task)
	}
	if task.ContextID != "" {
		s.question.ContextID = task.ContextID
		if !s.following {
			s.note("task %s, conversation %s", task.ID, task.ContextID)
		}
	}
	return s.report(task, failed)
}

// cancelTimeout is how long a server may take to cancel a run.
const cancelTimeout = 5 * time.Second

// cancel cancels the run of a question when it was interrupted.
func (s *askSession) cancel(ctx context.Context, asked apiclient.Question, task *apiclient.Task) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer done()
	if task.ID == "" {
		found, err := s.agent.Find(ctx, asked)
		switch {
		case err != nil:
			return fmt.Errorf("%w: perhaps the run goes on: %w", command.ErrInterrupted, err)
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
		return fmt.Errorf("%w: the run %s goes on, for it could not be canceled: %w", command.ErrInterrupted, task.ID, err)
	}
	task.Status = canceled.Status
	return fmt.Errorf("%w: the run is canceled", command.ErrInterrupted)
}

// outcome gives why a task has no answer, nil when it has one.
func outcome(task *apiclient.Task) error {
	switch state := task.Status.State; {
	case state != apiclient.Completed && task.Status.Message.Parts.Text() != "":
		return fmt.Errorf("%w: the run %s: %s", command.ErrNoAnswer, state, task.Status.Message.Parts.Text())
	case state != apiclient.Completed:
		return fmt.Errorf("%w: the run is %s", command.ErrNoAnswer, state)
	case !answered(task):
		return command.ErrUnanswered
	}
	return nil
}

// answered reports whether a run has looked anything up: the reader may not
// have understood the question, or the data does not hold what was asked for.
func answered(task *apiclient.Task) bool {
	for _, made := range task.Artifacts {
		if made.ArtifactID != agents.AnswerText && made.ArtifactID != agents.GeneratedQuery && !made.Unanswered() {
			return true
		}
	}
	return false
}

// askReport is a task for scripts.
type askReport struct {
	TaskID    string       `json:"taskId,omitempty"`
	ContextID string       `json:"contextId,omitempty"`
	State     string       `json:"state,omitempty"`
	Answered  bool         `json:"answered"`
	Answer    string       `json:"answer"`
	Steps     []stepReport `json:"steps"`
	Error     string       `json:"error,omitempty"`
}

// stepReport is a step of it.
type stepReport struct {
	Instruction string            `json:"instruction"`
	Query       string            `json:"query"`
	Rows        []json.RawMessage `json:"rows"`
	RowCount    int               `json:"rowCount"`
	Truncated   bool              `json:"truncated"`
}

// reportOf makes a report of a task that has come so far.
func reportOf(task *apiclient.Task, failed error) askReport {
	r := askReport{
		TaskID: task.ID, ContextID: task.ContextID, State: task.Status.State.String(), Steps: []stepReport{},
		Answered: failed == nil && task.Status.State == apiclient.Completed,
	}
	if failed != nil {
		r.Error = failed.Error()
	}
	query := ""
	for _, made := range task.Artifacts {
		step := stepReport{Instruction: made.Metadata.Instruction, Query: made.Parts.Text()}
		switch made.ArtifactID {
		case agents.GeneratedQuery:
			query = made.Parts.Text()
			continue
		case agents.AnswerText:
			r.Answer = made.Parts.Text()
			continue
		case agents.ResultData:
			r.Answer = made.Parts.Text()
			step.Instruction, step.Query = task.Question().Parts.Text(), query
		}
		data := made.Parts.Data()
		step.Rows, step.RowCount, step.Truncated = data.Rows, data.RowCount, data.Truncated
		if step.Rows == nil {
			step.Rows = []json.RawMessage{}
		}
		r.Steps = append(r.Steps, step)
	}
	return r
}

// report prints a task as JSON, if that is wanted, and hands the error on.
func (s *askSession) report(task *apiclient.Task, failed error) error {
	if !s.json {
		return failed
	}
	if err := writeJSON(s.env.Stdout, reportOf(task, failed)); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}
