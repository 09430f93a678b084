package sqlstoretest

import (
	"context"
	"encoding/json"

	"parley/internal/domain"
)

// Holder is the host that holds the runs of Ask.
const Holder = "test"

// Log is a store, or a test's setup that has one.
type Log interface {
	ResolveRun(ctx context.Context, question *domain.Question) error
	Append(change domain.TaskChange, done func(error))
	Task(ctx context.Context, caller domain.Caller, agent, runID string, artifacts bool) (domain.Task, error)
}

// Append appends a change and waits until it is written, or not.
func Append(log Log, change domain.TaskChange) error {
	done := make(chan error, 1)
	log.Append(change, func(err error) { done <- err })
	return <-done
}

// Start is the change that makes a run for a question, without an event.
func Start(ctx context.Context, log Log, caller domain.Caller, question domain.Question) (domain.TaskChange, error) {
	question.RunID, question.Caller = domain.NewID(), caller
	return domain.TaskChange{
		RunID:    question.RunID,
		Start:    &question,
		Holder:   Holder,
		State:    "submitted",
		Snapshot: json.RawMessage(`{}`),
	}, log.ResolveRun(ctx, &question)
}

// Ask makes a run that answers a question.
func Ask(ctx context.Context, log Log, caller domain.Caller, question domain.Question) (domain.Question, error) {
	start, err := Start(ctx, log, caller, question)
	if err != nil {
		return domain.Question{}, err
	}
	return *start.Start, Append(log, start)
}

// Finish ends one of the caller's runs.
func Finish(ctx context.Context, log Log, caller domain.Caller, runID string, outcome domain.RunOutcome) error {
	task, err := log.Task(ctx, caller, "", runID, false)
	if err != nil {
		return err
	}
	return Append(log, domain.TaskChange{
		RunID:    runID,
		After:    task.LastEvent,
		State:    string(outcome.Status),
		Snapshot: task.Snapshot,
		Outcome:  &outcome,
	})
}
