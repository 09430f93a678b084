package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/domain"
	"parley/internal/retry"
)

// fail records that a run failed. It retries while the log is unavailable, until the
// host stops; then another host finds the run.
func (r *run) fail(cause error, status domain.RunStatus) {
	lastEvent := func(task *a2a.Task) a2a.Event { return failedEvent(task, cause) }
	policy := retry.Policy{Initial: time.Second, Max: time.Second, Retryable: func(err error) bool {
		return !errors.Is(err, domain.ErrConflict) && !errors.Is(err, domain.ErrNotFound)
	}}
	_ = retry.Do(r.host.ctx, policy, func() error {
		_, err := r.host.endRun(r.host.ctx, r.agent, r.question.Caller, r.question.RunID, runEnding{holder: r.host.id, status: status, last: lastEvent})
		return err
	})
}

// failedEvent is the final event of a failed run. The cause is logged and not sent to
// the client.
func failedEvent(task *a2a.Task, cause error) a2a.Event {
	code, reason := "INTERNAL", "Something went wrong while this question was being answered. Please ask again."
	switch {
	case errors.Is(cause, errTooLong):
		code, reason = "TIMEOUT", "The question took too long to answer. Please ask for less at once."
	case errors.Is(cause, errAbandoned):
		code, reason = "INTERNAL", "The service stopped several times while this question was being answered. Please ask again."
	case errors.Is(cause, errInputTimeout):
		code, reason = "INPUT_TIMEOUT", "The question back was not answered in time. Please ask again."
	case errors.Is(cause, errExpired):
		code, reason = "EXPIRED", "The service was unavailable for too long to continue this question. Please ask again."
	}
	data, _ := json.Marshal(map[string]string{"code": code}) // of texts alone
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart(reason), a2a.NewDataPart(json.RawMessage(data)))
	return a2a.NewStatusUpdateEvent(task, a2a.TaskStateFailed, message)
}

// runEnding says how to end a run: last makes its final event. holder is set when a host
// ends its own run, which fails once another host owns it; "" ends a run of any host.
type runEnding struct {
	holder string
	status domain.RunStatus
	last   func(task *a2a.Task) a2a.Event
}

// endRun ends a run. ErrConflict when it has ended already, or another host owns it.
func (h *Host) endRun(ctx context.Context, agent *Agent, caller domain.Caller, runID string, end runEnding) (*a2a.Task, error) {
	for tried := int64(-1); ; {
		stored, err := h.cfg.Log.Task(ctx, caller, agent.Name, runID, true)
		if err != nil {
			return nil, err
		}
		if !stored.Open || stored.LastEvent == tried {
			return nil, domain.ErrConflict
		}
		task, err := h.endRunAt(ctx, agent, caller.Username, stored, end)
		if !errors.Is(err, domain.ErrConflict) {
			return task, err
		}
		// The agent wrote an event in between.
		tried = stored.LastEvent
	}
}

// endRunAt is endRun for a task in a known state. ErrConflict when it has changed.
func (h *Host) endRunAt(ctx context.Context, agent *Agent, owner string, stored domain.Task, end runEnding) (*a2a.Task, error) {
	task := h.readTask(stored)
	change, task, err := newChange(task.TaskInfo(), owner, task, stored.LastEvent, end.last(task))
	if err != nil {
		return nil, err
	}
	change.Holder, change.Outcome = end.holder, &domain.RunOutcome{Status: end.status, ErrorMessage: agent.Failure(task)}
	result := make(chan error, 1)
	h.cfg.Log.Append(change, func(err error) {
		if err == nil {
			h.publishEnd(stored.RunID, change.Events[0])
		}
		result <- err
	})
	select {
	case err := <-result:
		return task, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// publishEnd passes the final event to the run and the subscriptions of this host.
func (h *Host) publishEnd(runID string, last domain.Event) {
	f := h.broadcasters.find(runID)
	if f == nil {
		return
	}
	if worker := f.worker(); worker != nil {
		f.publish(last, true)
		worker.stop(errCanceled)
		return
	}
	f.notify()
}
