package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

// endRetryInterval is how long a host waits before it tries again to record the end of a
// run.
const endRetryInterval = time.Second

// fail records that a run broke off. The log may be what is broken: it is tried
// until it works, or the host stops and another one finds the run.
func (r *run) fail(cause error, status storage.RunStatus) {
	said := func(task *a2a.Task) a2a.Event { return failedEvent(task, cause) }
	for r.host.ctx.Err() == nil {
		_, err := r.host.endRun(r.host.ctx, r.agent, r.request.Caller, r.request.RunID, runEnding{holder: r.host.id, status: status, last: said})
		if err == nil || errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
			return
		}
		select {
		case <-time.After(endRetryInterval):
		case <-r.host.ctx.Done():
		}
	}
}

// failedEvent is the last event of a run that broke off. What went wrong is for the
// log, not for the reader.
func failedEvent(task *a2a.Task, cause error) a2a.Event {
	code, reason := "INTERNAL", "Something went wrong while this question was being answered. Please ask again."
	switch {
	case errors.Is(cause, errTooLong):
		code, reason = "TIMEOUT", "The question took too long to answer. Please ask for less at once."
	case errors.Is(cause, errAbandoned):
		code, reason = "INTERNAL", "The service stopped several times while this question was being answered. Please ask again."
	case errors.Is(cause, errExpired):
		code, reason = "EXPIRED", "The service was away for too long to go on with this question. Please ask again."
	}
	data, _ := json.Marshal(map[string]string{"code": code}) // of texts alone
	message := a2a.NewMessageForTask(a2a.MessageRoleAgent, task, a2a.NewTextPart(reason), a2a.NewDataPart(json.RawMessage(data)))
	return a2a.NewStatusUpdateEvent(task, a2a.TaskStateFailed, message)
}

// runEnding is how a run is to end: with an event that last makes for what it has
// come to. holder is the host that ends what it works on itself, and only as long
// as it does; "" ends a run whoever works on it.
type runEnding struct {
	holder string
	status storage.RunStatus
	last   func(task *a2a.Task) a2a.Event
}

// endRun ends a run. ErrConflict when it has ended already, or is somebody else's.
func (h *Host) endRun(ctx context.Context, agent *Agent, caller storage.Caller, runID string, end runEnding) (*a2a.Task, error) {
	for tried := int64(-1); ; {
		kept, err := h.cfg.Log.Task(ctx, caller, agent.Name, runID, true)
		if err != nil {
			return nil, err
		}
		if !kept.Open || kept.LastEvent == tried {
			return nil, storage.ErrConflict
		}
		task, err := h.endRunAt(ctx, agent, kept, end)
		if !errors.Is(err, storage.ErrConflict) {
			return task, err
		}
		// The agent said something just now.
		tried = kept.LastEvent
	}
}

// endRunAt is end for a run that is as kept says. ErrConflict when it is not.
func (h *Host) endRunAt(ctx context.Context, agent *Agent, kept storage.Task, end runEnding) (*a2a.Task, error) {
	task, err := toTask(kept)
	if err != nil {
		h.cfg.Logger.Error("a task cannot be read and is ended without its past", "run", kept.RunID, "error", err)
		task = &a2a.Task{ID: a2a.TaskID(kept.RunID), ContextID: kept.ConversationID}
	}
	event := end.last(task)
	stamp(event, task.TaskInfo(), time.Now())
	encoded, err := encode(kept.LastEvent+1, event)
	if err != nil {
		return nil, err
	}
	fold(task, event)
	text, err := snapshot(task)
	if err != nil {
		return nil, err
	}
	result := make(chan error, 1)
	h.cfg.Log.Append(storage.TaskChange{
		RunID: kept.RunID, Holder: end.holder, After: kept.LastEvent, Events: []storage.Event{encoded},
		State: string(task.Status.State), Snapshot: text,
		Outcome: &storage.RunOutcome{Status: end.status, ErrorMessage: agent.Failure(task)},
	}, func(err error) {
		if err == nil {
			h.publishEnd(kept.RunID, encoded)
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

// publishEnd tells those here who work on a run or follow it that it is over.
func (h *Host) publishEnd(runID string, last storage.Event) {
	f := h.feeds.find(runID)
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
