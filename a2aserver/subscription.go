package a2aserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/modes"
	"parley/internal/domain"
)

var (
	// errNoEvent says that there is no event yet.
	errNoEvent = errors.New("no event yet")
	// errNotInMemory says that the next event must be read from the log.
	errNotInMemory = errors.New("not in memory")
)

// runSubscription is a subscription that reads the events of a run for one client, at its own pace.
type runSubscription struct {
	host        *Host
	caller      domain.Caller
	broadcaster *broadcaster
	// head, if any, comes before the events of the log and replaces task events
	// among them.
	head      *domain.Event
	skipTasks bool
	// history limits the history of tasks; nil for all of it. modes are what the
	// client accepts.
	history *int
	modes   *modes.Accepted
	// at is the number of the last event read; last is that event, without an
	// artifact's body.
	at   int64
	last domain.Event
	page []domain.Event
	wake chan struct{}
	// contextID is that of the task; "" for readers that need no event when the run
	// is deleted.
	contextID string
	// reserved is the memory reserved for events read from the log.
	reserved *reservation
	// closeStream ends its count as an open stream; nil for one that does not count.
	closeStream func()
	// unavailableSince is when the log became unavailable; zero while it is available.
	unavailableSince time.Time
}

var _ subscription = (*runSubscription)(nil)

// follow opens a subscription of a run that starts after an event.
func (h *Host) follow(caller domain.Caller, runID string, after int64) *runSubscription {
	return h.newSubscription(caller, h.broadcasters.acquire(runID), after)
}

// newSubscription is follow for an acquired broadcaster.
func (h *Host) newSubscription(caller domain.Caller, f *broadcaster, after int64) *runSubscription {
	t := &runSubscription{
		host: h, caller: caller, broadcaster: f, at: after, wake: make(chan struct{}, 1),
		reserved: &reservation{queue: h.cfg.Reads},
	}
	t.broadcaster.mu.Lock()
	defer t.broadcaster.mu.Unlock()
	if t.broadcaster.subscriptions == nil {
		t.broadcaster.subscriptions = map[*runSubscription]struct{}{}
	}
	t.broadcaster.subscriptions[t] = struct{}{}
	return t
}

func (t *runSubscription) close() {
	t.reserved.sent()
	t.broadcaster.mu.Lock()
	delete(t.broadcaster.subscriptions, t)
	t.broadcaster.mu.Unlock()
	t.host.broadcasters.release(t.broadcaster)
	if t.closeStream != nil {
		t.closeStream()
	}
}

func (t *runSubscription) next(ctx context.Context, tick <-chan time.Time) (domain.Event, error) {
	if t.head != nil {
		head := *t.head
		t.head, t.skipTasks = nil, true
		return head, nil
	}
	if len(t.page) == 0 {
		t.reserved.sent() // all that was read
	}
	for {
		if err := ctx.Err(); err != nil {
			return domain.Event{}, err
		}
		event, err := t.fromMemory()
		switch {
		case errors.Is(err, errNotInMemory):
			event, err = t.fromLogWithTimeout(ctx)
		case err == nil && t.reserved.untilEnd && len(event.Body) > largeEvent:
			err = t.reserved.take(ctx, t.caller.Username, len(event.Body)) // for the copy that is sent
		}
		switch {
		case err == nil && t.skipTasks && event.Kind == domain.EventTask && !asksForInput(event):
			continue
		case !errors.Is(err, errNoEvent):
			if t.last = event; event.Kind == domain.EventArtifact {
				t.last.Body = nil // which may be large
			}
			return t.fit(event, err)
		case asksForInput(t.last) && t.stillWaits(ctx):
			return domain.Event{}, io.EOF // streams end where the agent asks for input
		}
		if err := t.wait(ctx, tick); err != nil {
			return domain.Event{}, err
		}
	}
}

// largeEvent is from how many bytes on copies of events in memory are reserved for.
const largeEvent = 64 << 10

// fit limits the history of a task, and the parts of an event to those that the client
// accepts.
func (t *runSubscription) fit(event domain.Event, err error) (domain.Event, error) {
	if err != nil || t.modes == nil && (t.history == nil || event.Kind != domain.EventTask) {
		return event, err
	}
	decoded, err := a2ajson.Decode(event)
	if err != nil {
		t.host.cfg.Logger.Error("stored event unreadable", "run", t.broadcaster.runID, "number", event.Number, "error", err)
		return event, nil
	}
	if task, ok := decoded.(*a2a.Task); ok {
		decoded = withHistory(task, t.history)
	}
	return a2ajson.Encode(event.Number, t.modes.Event(decoded))
}

// logTimeout limits a read of the log. It is shorter than the interval of keep-alive
// comments that clients expect.
const logTimeout = 10 * time.Second

// fromLogWithTimeout is fromLog with a timeout. While the log is unavailable, or the
// user reads too much at once, it gives errNoEvent, for at most the run timeout.
func (t *runSubscription) fromLogWithTimeout(ctx context.Context) (domain.Event, error) {
	look, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	event, err := t.fromLog(look)
	if ctx.Err() != nil || !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, domain.ErrTooMany) {
		t.unavailableSince = time.Time{}
		return event, err
	}
	switch {
	case t.unavailableSince.IsZero():
		t.unavailableSince = time.Now()
	case time.Since(t.unavailableSince) > t.host.cfg.RunTimeout:
		return event, err
	}
	return domain.Event{}, errNoEvent
}

// fromMemory returns the next event if it is in memory.
func (t *runSubscription) fromMemory() (domain.Event, error) {
	f := t.broadcaster
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.last - int64(len(f.recent)) + 1
	switch {
	case len(t.page) > 0, t.at < first-1, f.run == nil && !f.ended:
		return domain.Event{}, errNotInMemory
	case t.at < f.last:
		t.at++
		return f.recent[t.at-first], nil
	case f.ended:
		return domain.Event{}, io.EOF
	}
	return domain.Event{}, errNoEvent
}

// fromLog returns the next event from the log, or errNoEvent. A deleted run has ended.
func (t *runSubscription) fromLog(ctx context.Context) (domain.Event, error) {
	if len(t.page) == 0 {
		if err := t.readPage(ctx); err != nil {
			return t.endIfDeleted(err)
		}
	}
	if len(t.page) > 0 {
		event := t.page[0]
		if event.Number != t.at+1 {
			return t.wholeTask(ctx)
		}
		if t.page = t.page[1:]; len(t.page) == 0 {
			t.page = nil // free its memory
		}
		t.at = event.Number
		return event, nil
	}
	task, err := t.host.cfg.Log.Task(ctx, t.caller, "", t.broadcaster.runID, false)
	switch {
	case err != nil:
		return t.endIfDeleted(err)
	case !task.Open && task.LastEvent <= t.at:
		return domain.Event{}, io.EOF
	case task.LastEvent > t.at:
		return t.fromLog(ctx) // written since
	}
	return domain.Event{}, errNoEvent
}

// readPage reads the next events from the log, if any.
func (t *runSubscription) readPage(ctx context.Context) error {
	bytes, err := t.host.cfg.Log.EventBytes(ctx, t.caller, t.broadcaster.runID, t.at)
	if err != nil || bytes == 0 {
		return err
	}
	if err := t.reserved.take(ctx, t.caller.Username, bytes); err != nil {
		return err
	}
	t.page, err = t.host.cfg.Log.Events(ctx, t.caller, t.broadcaster.runID, t.at)
	return err
}

// wholeTask returns the task in place of events that were removed by retention. Nothing
// follows it.
func (t *runSubscription) wholeTask(ctx context.Context) (domain.Event, error) {
	t.page = nil
	if err := t.host.reserveTask(ctx, t.reserved, t.caller, t.broadcaster.runID); err != nil {
		return t.endIfDeleted(err)
	}
	stored, err := t.host.cfg.Log.Task(ctx, t.caller, "", t.broadcaster.runID, true)
	if err != nil {
		return t.endIfDeleted(err)
	}
	t.page, t.at, t.skipTasks = nil, stored.LastEvent, false
	return a2ajson.Encode(stored.LastEvent, t.host.readTask(stored))
}

// endIfDeleted returns io.EOF if the run was deleted. Deleting cancels a run: a client
// that has seen no final event gets one first.
func (t *runSubscription) endIfDeleted(err error) (domain.Event, error) {
	if !errors.Is(err, domain.ErrNotFound) {
		return domain.Event{}, fmt.Errorf("follow a run: %w", err)
	}
	if t.contextID == "" || hasState(t.last, a2a.TaskState.Terminal) {
		return domain.Event{}, io.EOF
	}
	t.at++
	task := a2a.TaskInfo{TaskID: a2a.TaskID(t.broadcaster.runID), ContextID: t.contextID}
	return a2ajson.Encode(t.at, a2a.NewStatusUpdateEvent(task, a2a.TaskStateCanceled, nil))
}

// hasState reports whether an event sets a state for which is holds.
func hasState(event domain.Event, is func(a2a.TaskState) bool) bool {
	if len(event.Body) == 0 {
		return false
	}
	switch event, _ := a2ajson.Decode(event); event := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return is(event.Status.State)
	case *a2a.Task:
		return is(event.Status.State)
	}
	return false
}

// asksForInput reports whether a run waits for the user after an event. Most events need
// not be decoded for it.
func asksForInput(event domain.Event) bool {
	return bytes.Contains(event.Body, []byte(`_REQUIRED"`)) && hasState(event, isWaiting)
}

// stillWaits reports whether a run that asked for input waits for it: the answer may be
// there, and nothing that follows it yet.
func (t *runSubscription) stillWaits(ctx context.Context) bool {
	look, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	task, err := t.host.cfg.Log.Task(look, t.caller, "", t.broadcaster.runID, false)
	if err != nil {
		return !errors.Is(err, domain.ErrNotFound)
	}
	return isWaiting(a2a.TaskState(task.State))
}

// wait returns when there may be a new event.
func (t *runSubscription) wait(ctx context.Context, tick <-chan time.Time) error {
	var due <-chan time.Time
	if !t.unavailableSince.IsZero() {
		timer := time.NewTimer(pollInterval)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-t.wake:
	case <-due:
	case <-tick:
		return errNoEvent
	case <-ctx.Done():
		return ctx.Err()
	case <-t.host.ctx.Done():
		return context.Cause(t.host.ctx)
	}
	return nil
}
