package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/internal/fair"
	"parley/storage"
)

// pendingEvents is how many events of a run may be on their way into the log
// while its agent goes on.
const pendingEvents = 32

// run is a run that this host works on. One goroutine does; its events are
// published by the log's writer once they are committed.
type run struct {
	host    *Host
	agent   *Agent
	request storage.RunRequest
	message *a2a.Message
	feed    *feed
	// storedTask is what another host left of it; nil for a new one.
	storedTask *a2a.Task
	// task and number are what it has come to, pending events included.
	task   *a2a.Task
	number int64
	// slot is its place in line for the host's work.
	slot *fair.Slot
	// pending has a place for each pending event.
	pending chan struct{}
	// stop ends the work; started is closed when the run is in the log, or
	// cannot be, and ended when the work is over.
	ctx       context.Context
	stop      context.CancelCauseFunc
	committed chan struct{}
	commitErr error // once started is closed
	ended     chan struct{}
	// final says that its last event is in the log.
	final bool
}

// newRun prepares the work on a run.
func (h *Host) newRun(agent *Agent, asking storage.RunRequest, message *a2a.Message, turn *fair.Slot) *run {
	r := &run{
		host: h, agent: agent, request: asking, message: message, slot: turn,
		feed: h.feeds.acquire(asking.RunID), pending: make(chan struct{}, pendingEvents),
		committed: make(chan struct{}), ended: make(chan struct{}),
	}
	r.ctx, r.stop = context.WithCancelCause(storage.WithRunRequest(h.ctx, asking))
	return r
}

// start begins a new run: the log learns of it, and the agent sets to work. The
// two go on side by side.
func (h *Host) start(agent *Agent, asking storage.RunRequest, place storage.RunTarget, message *a2a.Message) (*run, error) {
	turn, err := h.queue.Acquire(asking.Caller.Username)
	if err != nil {
		return nil, err
	}
	if !h.addRun() {
		turn.Release()
		return nil, storage.Errorf(storage.ErrUnavailable, "the service is being stopped; try again shortly")
	}
	r := h.newRun(agent, asking, message, turn)
	r.task = a2a.NewSubmittedTask(r.info(), message)
	now := time.Now().UTC().Truncate(time.Millisecond)
	r.task.Status.Timestamp = &now
	r.feed.attach(r, 0)
	kept, err := snapshot(r.task)
	if err != nil {
		h.release(r)
		h.runs.Done()
		return nil, err
	}
	h.cfg.Log.Append(storage.TaskChange{
		RunID:    asking.RunID,
		Start:    &storage.RunStart{Caller: asking.Caller, Target: place, Agent: agent.Name, Question: asking.Text},
		Holder:   h.id,
		State:    string(r.task.Status.State),
		Snapshot: kept,
	}, func(err error) {
		if r.commitErr = err; err != nil {
			r.stop(err)
		}
		close(r.committed)
	})
	go func() {
		defer h.runs.Done()
		r.work()
	}()
	return r, nil
}

// waitCommitted waits until a new run is in the log, and says why it is not.
func (r *run) waitCommitted(ctx context.Context) error {
	select {
	case <-r.committed:
		return r.commitErr
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.stop(errNotCommitted) // whoever asked is told to ask again
		}
		return ctx.Err()
	}
}

// withRequestTimeout bounds what does not wait for a run.
func (h *Host) withRequestTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.cfg.RequestTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, h.cfg.RequestTimeout)
}

// release gives back what a run took.
func (h *Host) release(r *run) {
	r.stop(nil)
	r.feed.detach()
	h.feeds.release(r.feed)
	r.slot.Release()
}

func (r *run) info() a2a.TaskInfo {
	return a2a.TaskInfo{TaskID: a2a.TaskID(r.request.RunID), ContextID: r.request.ConversationID}
}

// work has the agent answer, to the end, when it is the run's turn.
func (r *run) work() {
	defer close(r.ended)
	defer r.host.release(r)
	if err := r.slot.Wait(r.ctx); err != nil {
		r.endUnanswered(err)
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, r.host.cfg.RunTimeout, errTooLong)
	defer cancel()
	traced, done := r.trace(ctx)
	err := r.execute(traced)
	r.waitPending()
	if err == nil && !r.final {
		err = context.Cause(ctx) // its last event could not be kept
	}
	done(r.task, err)
	r.endUnanswered(err)
}

// endUnanswered ends a run that was not answered to the end, unless it goes on
// elsewhere.
func (r *run) endUnanswered(err error) {
	if err == nil || errors.Is(err, errCanceled) || errors.Is(err, errStopping) {
		return
	}
	<-r.committed
	if r.commitErr == nil && errors.Is(err, errLogUnavailable) {
		// It goes on from what the log has, when it answers again: see releaseOrphans.
		r.host.cfg.Logger.Warn("a run waits for the log", "run", r.request.RunID, "agent", r.agent.Name, "error", err)
		return
	}
	// Also where the log refused the run itself: it may have been kept, and only
	// the answer lost.
	r.host.cfg.Logger.Warn("a run broke off", "run", r.request.RunID, "agent", r.agent.Name, "error", err)
	r.fail(err, storage.RunFailed)
}

func (r *run) trace(ctx context.Context) (context.Context, func(task *a2a.Task, err error)) {
	if r.host.cfg.Trace == nil {
		return ctx, func(*a2a.Task, error) {}
	}
	return r.host.cfg.Trace(ctx, r.request)
}

// execute has the agent work until it says that it is done. Events that it
// yields after its context has ended are not recorded: whoever ended it has
// said what became of the run. A panic is an error like others.
func (r *run) execute(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the agent panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	for event, err := range r.events(ctx) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			err = r.append(ctx, event)
		}
		if err != nil {
			return err
		}
		if r.task.Status.State.Terminal() {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("the agent ended without saying so")
}

// events are the agent's.
func (r *run) events(ctx context.Context) iter.Seq2[a2a.Event, error] {
	request := &a2asrv.ExecutorContext{
		Message:    r.message,
		TaskID:     a2a.TaskID(r.request.RunID),
		ContextID:  r.request.ConversationID,
		StoredTask: r.storedTask,
		User:       a2asrv.NewAuthenticatedUser(r.request.Caller.Username, nil),
	}
	return r.agent.Executor.Execute(ctx, request)
}

// append puts an event on its way into the log, and waits only where too many
// are on theirs.
func (r *run) append(ctx context.Context, event a2a.Event) error {
	change, err := r.change(event)
	if err != nil {
		return err
	}
	select {
	case r.pending <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	kept, final := change.Events[0], change.Outcome != nil
	r.host.cfg.Log.Append(change, func(err error) {
		if err == nil {
			r.final = final
			r.feed.publish(kept, final)
		} else {
			r.stop(appendError(err))
		}
		<-r.pending
	})
	return nil
}

// appendError is why work on a run ends whose event is not in the log.
func appendError(err error) error {
	if errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("%w: %w", errCanceled, err)
	}
	if errors.Is(err, storage.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errLogUnavailable, err)
	}
	return fmt.Errorf("keep an event: %w", err)
}

// change folds an event into the run.
func (r *run) change(event a2a.Event) (storage.TaskChange, error) {
	if said, ok := event.(*a2a.Message); ok {
		// The agent answered at once: a run has a task all the same.
		event = a2a.NewStatusUpdateEvent(r.info(), a2a.TaskStateCompleted, said)
	}
	stamp(event, r.info(), time.Now())
	kept, err := encode(r.number+1, event)
	if err != nil {
		return storage.TaskChange{}, err
	}
	folded := *r.task
	fold(&folded, event)
	outcome, err := r.agent.outcome(&folded)
	if err != nil {
		return storage.TaskChange{}, err
	}
	text, err := snapshot(&folded)
	if err != nil {
		return storage.TaskChange{}, err
	}
	change := storage.TaskChange{
		RunID: r.request.RunID, Holder: r.host.id, After: r.number, Events: []storage.Event{kept},
		State: string(folded.Status.State), Snapshot: text, LastNodeID: r.agent.LastNode(event), Outcome: outcome,
	}
	r.number++
	r.task = &folded
	return change, nil
}

// outcome says how a run ended whose task has come to this; nil when it has not.
func (a *Agent) outcome(task *a2a.Task) (*storage.RunOutcome, error) {
	switch state := task.Status.State; {
	case state == a2a.TaskStateCompleted:
		result, err := a.Result(task)
		if err != nil {
			return nil, fmt.Errorf("render a result: %w", err)
		}
		return &storage.RunOutcome{Status: storage.RunCompleted, Result: result}, nil
	case state.Terminal():
		return &storage.RunOutcome{Status: storage.RunFailed, ErrorMessage: a.Failure(task)}, nil
	}
	return nil, nil
}

// waitPending waits until nothing of the run is on its way into the log.
func (r *run) waitPending() {
	<-r.committed
	for range pendingEvents {
		r.pending <- struct{}{}
	}
	for range pendingEvents {
		<-r.pending
	}
}
