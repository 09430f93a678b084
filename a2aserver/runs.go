package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/locale"
)

// pendingEvents is how many events of a run may be uncommitted while its agent
// continues.
const pendingEvents = 32

// run is a run that this host executes, in one goroutine. The log's writer publishes its
// events once they are committed.
type run struct {
	host        *Host
	agent       *Agent
	question    domain.Question
	message     *a2a.Message
	broadcaster *broadcaster
	// storedTask is the task that another host left; nil for a new run.
	storedTask *a2a.Task
	// task and number are the current task and the number of its last event, pending
	// events included. after is the number of the last event before this execution.
	task          *a2a.Task
	number, after int64
	// claimed says that it was another host's.
	claimed bool
	// slot allows it to execute.
	slot *fair.Slot
	// pending has an entry for each uncommitted event.
	pending chan struct{}
	// stop ends the execution. committed is closed when the run is in the log, or
	// could not be written; ended when the execution is over.
	ctx       context.Context
	stop      context.CancelCauseFunc
	committed chan struct{}
	commitErr error // set before committed is closed
	ended     chan struct{}
	// settled says that its last event is committed: a final one, or one that asks for
	// input.
	settled bool
}

func (h *Host) newRun(agent *Agent, question domain.Question, message *a2a.Message, slot *fair.Slot) *run {
	r := &run{
		host: h, agent: agent, question: question, message: message, slot: slot,
		broadcaster: h.broadcasters.acquire(question.RunID), pending: make(chan struct{}, pendingEvents),
		committed: make(chan struct{}), ended: make(chan struct{}),
	}
	r.ctx, r.stop = context.WithCancelCause(fair.WithUser(h.ctx, question.Caller.Username))
	return r
}

// admit queues a run, unless there are too many. h.runs.Done ends it.
func (h *Host) admit(agent *Agent, question domain.Question, message *a2a.Message) (*run, error) {
	slot, err := h.queue.Acquire(question.Caller.Username)
	if err != nil {
		return nil, err
	}
	if !h.addRun() {
		slot.Release()
		return nil, errShuttingDown
	}
	return h.newRun(agent, question, message, slot), nil
}

// start starts a new run: it is written to the log while the agent executes.
// With options it only asks which namespace is meant.
func (h *Host) start(agent *Agent, question domain.Question, options []domain.NamespaceRef, message *a2a.Message) (*run, error) {
	r, err := h.admit(agent, question, message)
	if err != nil {
		return nil, err
	}
	r.task = a2a.NewSubmittedTask(message, message)
	now := time.Now().UTC().Truncate(time.Millisecond)
	r.task.Status.Timestamp = &now
	r.broadcaster.attach(r, 0)
	stored, err := a2ajson.Snapshot(r.task)
	if err != nil {
		h.release(r)
		h.runs.Done()
		return nil, err
	}
	h.cfg.Log.Append(domain.TaskChange{
		RunID:    question.RunID,
		Owner:    question.Caller.Username,
		Start:    &question,
		Holder:   h.id,
		State:    string(r.task.Status.State),
		StatusAt: now,
		Snapshot: stored,
	}, func(err error) {
		if r.commitErr = err; err != nil {
			r.stop(err)
		}
		close(r.committed)
	})
	go func() {
		defer h.runs.Done()
		if options != nil {
			r.suspend(askNamespace(r.info(), options))
			return
		}
		r.work()
	}()
	return r, nil
}

var errShuttingDown = domain.Errorf(domain.ErrUnavailable, "the service is being stopped; try again shortly")

// suspend ends the execution of a run that has not begun with a question to the user.
func (r *run) suspend(question *a2a.Message) {
	defer close(r.ended)
	defer r.host.release(r)
	task := *r.task
	task.Status = a2a.TaskStatus{State: a2a.TaskStateInputRequired, Message: question}
	err := r.append(r.ctx, &task)
	r.waitPending()
	if err == nil && !r.settled {
		err = context.Cause(r.ctx)
	}
	r.endUnanswered(err)
}

// waitCommitted waits until a new run is in the log, and gives the error if it is not.
func (r *run) waitCommitted(ctx context.Context) error {
	select {
	case <-r.committed:
		return r.commitErr
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			r.stop(errNotCommitted) // the client is told to ask again
		}
		return ctx.Err()
	}
}

// withRequestTimeout bounds an operation that does not wait for a run.
func (h *Host) withRequestTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if h.cfg.RequestTimeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, h.cfg.RequestTimeout)
}

func (h *Host) release(r *run) {
	r.stop(nil)
	r.broadcaster.detach(r)
	h.broadcasters.release(r.broadcaster)
	r.slot.Release()
}

func (r *run) info() a2a.TaskInfo {
	return a2a.TaskInfo{TaskID: a2a.TaskID(r.question.RunID), ContextID: r.task.ContextID}
}

// work waits for the run's slot and executes the agent to the end.
func (r *run) work() {
	defer close(r.ended)
	defer r.host.release(r)
	err := r.slot.Wait(r.ctx)
	if err == nil && r.claimed {
		err = r.recordStart()
	}
	if err != nil {
		r.endUnanswered(err)
		return
	}
	if len(r.question.Attachments) > 0 {
		<-r.committed // the agent reads them; a failure has ended the context
	}
	ctx, cancel := context.WithTimeoutCause(locale.With(r.ctx, r.question.Locale), r.host.cfg.RunTimeout, errTooLong)
	defer cancel()
	traced, done := r.host.cfg.Trace(ctx, r.question)
	err = r.execute(traced)
	r.waitPending()
	if err == nil && !r.settled {
		err = context.Cause(ctx) // its last event was not committed
	}
	done(r.task, err)
	r.endUnanswered(err)
}

// recordStart records in the log that the agent of a claimed run starts. If the process dies of
// it, that counts, although there is no new event.
func (r *run) recordStart() error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx) // together with its slot
	}
	change := domain.TaskChange{
		RunID: r.question.RunID, Owner: r.question.Caller.Username, Holder: r.host.id, After: r.number, State: string(r.task.Status.State),
	}
	if at := r.task.Status.Timestamp; at != nil {
		change.StatusAt = *at
	}
	var err error
	if change.Snapshot, err = a2ajson.Snapshot(r.task); err != nil {
		return err
	}
	written := make(chan error, 1)
	r.host.cfg.Log.Append(change, func(err error) { written <- err })
	if err := <-written; err != nil {
		return appendError(err)
	}
	return nil
}

// endUnanswered fails a run whose execution ended early, unless another host resumes it.
func (r *run) endUnanswered(err error) {
	if err == nil || errors.Is(err, errCanceled) || errors.Is(err, errStopping) {
		return
	}
	<-r.committed
	if errors.Is(r.commitErr, domain.ErrMessageSent) || errors.Is(r.commitErr, domain.ErrTooMany) {
		return // there is no such run
	}
	// The client sends its message again, and then follows the run, if it was committed.
	repeats := r.question.Message.Key != "" && (r.commitErr != nil || errors.Is(err, errNotCommitted))
	if repeats || r.commitErr == nil && errors.Is(err, errLogUnavailable) {
		// It resumes from the log when that is available again: see releaseOrphans.
		r.host.cfg.Logger.Warn("run suspended: event log unavailable", "run", r.question.RunID, "agent", r.agent.Name, "error", err)
		return
	}
	// Also when the log refused the run itself: it may be committed and only the
	// answer lost.
	r.host.cfg.Logger.Warn("run failed", "run", r.question.RunID, "agent", r.agent.Name, "error", err)
	r.fail(err, domain.RunFailed)
}

// execute runs the agent until a terminal event, or one that asks for input. Events that it yields after its
// context has ended are dropped: whoever ended it writes the final event. A panic
// becomes an error.
func (r *run) execute(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the agent panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	request := &a2asrv.ExecutorContext{
		Message: r.message, TaskID: a2a.TaskID(r.question.RunID), ContextID: r.task.ContextID, StoredTask: r.storedTask,
	}
	ctx = domain.WithQuestion(ctx, r.question)
	for event, err := range r.agent.Executor.Execute(ctx, request) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if task, ok := event.(*a2a.Task); ok && r.agent.OmitSubmitted && task.Status.State == a2a.TaskStateSubmitted {
			continue
		}
		if err == nil {
			err = r.append(ctx, event)
		}
		if err != nil {
			return err
		}
		if state := r.task.Status.State; state.Terminal() || isWaiting(state) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.New("the agent ended without a terminal event or a question")
}

// append hands an event to the log. It blocks only while too many are uncommitted.
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
	stored, final := change.Events[0], change.Outcome != nil
	settled := final || isWaiting(a2a.TaskState(change.State))
	r.host.cfg.Log.Append(change, func(err error) {
		if err == nil {
			r.settled = settled
			r.broadcaster.publish(stored, final)
		} else {
			r.stop(appendError(err))
		}
		<-r.pending
	})
	return nil
}

// appendError returns the cause that ends a run whose event was not committed.
func appendError(err error) error {
	if errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) {
		return fmt.Errorf("%w: %w", errCanceled, err)
	}
	if errors.Is(err, domain.ErrUnavailable) {
		return fmt.Errorf("%w: %w", errLogUnavailable, err)
	}
	return fmt.Errorf("append event: %w", err)
}

// change applies an event to the run and gives the change to write.
func (r *run) change(event a2a.Event) (domain.TaskChange, error) {
	if message, ok := event.(*a2a.Message); ok {
		// The agent answered with a message alone: a run has a task all the same.
		event = a2a.NewStatusUpdateEvent(r.info(), a2a.TaskStateCompleted, message)
	}
	change, folded, err := newChange(r.info(), r.question.Caller.Username, r.task, r.number, event)
	if err != nil {
		return change, err
	}
	change.Holder, change.LastNodeID = r.host.id, r.agent.LastNode(event)
	if change.Outcome, err = r.agent.outcome(folded); err != nil {
		return change, err
	}
	r.number++
	r.task = folded
	return change, nil
}

// newChange applies an event, which follows event number after, to a copy of a task.
func newChange(run a2a.TaskInfo, owner string, task *a2a.Task, after int64, event a2a.Event) (domain.TaskChange, *a2a.Task, error) {
	stamp(event, run, time.Now())
	stored, err := a2ajson.Encode(after+1, event)
	if err != nil {
		return domain.TaskChange{}, nil, err
	}
	folded := *task
	a2ajson.Fold(&folded, event)
	text, err := a2ajson.Snapshot(&folded)
	change := domain.TaskChange{
		RunID: string(run.TaskID), Owner: owner, After: after, Events: []domain.Event{stored}, State: string(folded.Status.State), Snapshot: text,
	}
	if at := folded.Status.Timestamp; at != nil {
		change.StatusAt = *at
	}
	return change, &folded, err
}

// outcome returns the outcome of a run from its task; nil when it has not ended.
func (a *Agent) outcome(task *a2a.Task) (*domain.RunOutcome, error) {
	switch state := task.Status.State; {
	case state == a2a.TaskStateCompleted:
		result, err := a.Result(task)
		if err != nil {
			return nil, fmt.Errorf("render a result: %w", err)
		}
		return &domain.RunOutcome{Status: domain.RunCompleted, Result: result}, nil
	case state.Terminal():
		return &domain.RunOutcome{Status: domain.RunFailed, ErrorMessage: a.Failure(task)}, nil
	}
	return nil, nil
}

// waitPending waits until no event of the run is uncommitted.
func (r *run) waitPending() {
	<-r.committed
	for range pendingEvents {
		r.pending <- struct{}{}
	}
	for range pendingEvents {
		<-r.pending
	}
}

// stamp sets the ids of the run and the time, in milliseconds, of an event.
func stamp(event a2a.Event, info a2a.TaskInfo, now time.Time) {
	now = now.UTC().Truncate(time.Millisecond)
	switch e := event.(type) {
	case *a2a.Task:
		e.ID, e.ContextID = info.TaskID, info.ContextID
		e.Status.Timestamp = &now
	case *a2a.TaskStatusUpdateEvent:
		e.TaskID, e.ContextID = info.TaskID, info.ContextID
		e.Status.Timestamp = &now
	case *a2a.TaskArtifactUpdateEvent:
		e.TaskID, e.ContextID = info.TaskID, info.ContextID
	}
}
