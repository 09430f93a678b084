package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/storage"
)

// errTick says that a tail's reader asked to be woken before an event came.
var errTick = errors.New("nothing yet")

// feedTail reads a run's events for one reader, at the reader's pace.
type feedTail struct {
	host   *Host
	caller storage.Caller
	feed   *feed
	// head comes before the events of the log, where there is one, and in place
	// of a task among them.
	head   *storage.Event
	headed bool
	// at is the number of the last event that was read, and last is that event,
	// without an artifact, if it was read here.
	at    int64
	last  storage.Event
	page  []storage.Event
	woken chan struct{}
	// contextID is that of the run's task; "" for those who need not be told that
	// the run was deleted.
	contextID string
	// held is what is in memory of what was read from the log.
	held *reservation
	// away is since when the log cannot be read; zero while it can.
	away time.Time
}

var _ tail = (*feedTail)(nil)

// follow tails a run from after an event on.
func (h *Host) follow(caller storage.Caller, runID string, after int64) *feedTail {
	return h.tail(caller, h.feeds.join(runID), after)
}

// tail is follow for a feed that was joined.
func (h *Host) tail(caller storage.Caller, joined *feed, after int64) *feedTail {
	t := &feedTail{
		host: h, caller: caller, feed: joined, at: after, woken: make(chan struct{}, 1),
		held: &reservation{line: h.cfg.Reads},
	}
	t.feed.mu.Lock()
	defer t.feed.mu.Unlock()
	if t.feed.tails == nil {
		t.feed.tails = map[*feedTail]struct{}{}
	}
	t.feed.tails[t] = struct{}{}
	return t
}

func (t *feedTail) close() {
	t.held.release()
	t.feed.mu.Lock()
	delete(t.feed.tails, t)
	t.feed.mu.Unlock()
	t.host.feeds.leave(t.feed)
}

// next implements tail.
func (t *feedTail) next(ctx context.Context, tick <-chan time.Time) (storage.Event, error) {
	if t.head != nil {
		head := *t.head
		t.head, t.headed = nil, true
		return head, nil
	}
	if len(t.page) == 0 {
		t.held.release() // whatever was read has been sent
	}
	for {
		if err := ctx.Err(); err != nil {
			return storage.Event{}, err
		}
		event, err := t.ready(ctx)
		switch {
		case err == nil && t.headed && event.Kind == storage.EventTask:
			continue
		case !errors.Is(err, errTick):
			if t.last = event; event.Kind == storage.EventArtifact {
				t.last.Body = nil // which may be large
			}
			return event, err
		}
		if err := t.wait(ctx, tick); err != nil {
			return storage.Event{}, err
		}
	}
}

// ready gives the next event; errTick when there is none yet.
func (t *feedTail) ready(ctx context.Context) (storage.Event, error) {
	event, state := t.recent()
	switch state {
	case haveEvent:
		t.at = event.Number
		return event, nil
	case haveAll:
		return storage.Event{}, io.EOF
	case seeLog:
		return t.inTime(ctx)
	}
	return storage.Event{}, errTick
}

// logTimeout is how long a look at the log may take: less than readers go without a
// sign of life.
const logTimeout = 10 * time.Second

// inTime is logged for a log that may be away, or a user who reads too much at once:
// then there is nothing yet, until a run would have ended.
func (t *feedTail) inTime(ctx context.Context) (storage.Event, error) {
	look, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	event, err := t.logged(look)
	if ctx.Err() != nil || !errors.Is(err, storage.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, storage.ErrTooMany) {
		t.away = time.Time{}
		return event, err
	}
	switch {
	case t.away.IsZero():
		t.away = time.Now()
	case time.Since(t.away) > t.host.cfg.RunTimeout:
		return event, err
	}
	return storage.Event{}, errTick
}

// Where a tail's next event is.
type tailState int

const (
	haveEvent tailState = iota
	haveAll
	notYet
	seeLog
)

// recent looks for the next event among those in memory.
func (t *feedTail) recent() (storage.Event, tailState) {
	f := t.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.last - int64(len(f.recent)) + 1
	switch {
	case len(t.page) > 0, t.at < first-1, f.run == nil && !f.ended:
		return storage.Event{}, seeLog
	case t.at < f.last:
		return f.recent[t.at+1-first], haveEvent
	case f.ended:
		return storage.Event{}, haveAll
	}
	return storage.Event{}, notYet
}

// logged looks for the next event in the log; errTick when there is none yet. A
// run that is deleted has ended.
func (t *feedTail) logged(ctx context.Context) (storage.Event, error) {
	if len(t.page) == 0 {
		if err := t.readPage(ctx); err != nil {
			return t.unlessDeleted(err)
		}
	}
	if len(t.page) > 0 {
		event := t.page[0]
		if event.Number != t.at+1 {
			return t.whole(ctx)
		}
		if t.page = t.page[1:]; len(t.page) == 0 {
			t.page = nil // and with it what was read
		}
		t.at = event.Number
		return event, nil
	}
	task, err := t.host.cfg.Log.Task(ctx, t.caller, "", t.feed.runID, false)
	switch {
	case err != nil:
		return t.unlessDeleted(err)
	case !task.Open && task.LastEvent <= t.at:
		return storage.Event{}, io.EOF
	case task.LastEvent > t.at:
		return t.logged(ctx) // it came just now
	}
	return storage.Event{}, errTick
}

// readPage reads some events from the log, where there are any.
func (t *feedTail) readPage(ctx context.Context) error {
	bytes, err := t.host.cfg.Log.EventBytes(ctx, t.caller, t.feed.runID, t.at)
	if err != nil || bytes == 0 {
		return err
	}
	if err := t.held.take(ctx, t.caller.Username, bytes); err != nil {
		return err
	}
	t.page, err = t.host.cfg.Log.Events(ctx, t.caller, t.feed.runID, t.at)
	return err
}

// whole gives the task in place of events that are no longer kept. It is what
// the run came to: nothing follows.
func (t *feedTail) whole(ctx context.Context) (storage.Event, error) {
	t.page = nil
	if err := t.host.reserveTask(ctx, t.held, t.caller, t.feed.runID); err != nil {
		return t.unlessDeleted(err)
	}
	kept, err := t.host.cfg.Log.Task(ctx, t.caller, "", t.feed.runID, true)
	if err != nil {
		return t.unlessDeleted(err)
	}
	task, err := toTask(kept)
	if err != nil {
		return storage.Event{}, err
	}
	t.page, t.at, t.headed = nil, kept.LastEvent, false
	return encode(kept.LastEvent, task)
}

// unlessDeleted is the end where the run is no longer there. Deleting a run cancels
// it, which is told to whoever has seen no end.
func (t *feedTail) unlessDeleted(err error) (storage.Event, error) {
	if !errors.Is(err, storage.ErrNotFound) {
		return storage.Event{}, fmt.Errorf("follow a run: %w", err)
	}
	if t.contextID == "" || ends(t.last) {
		return storage.Event{}, io.EOF
	}
	t.at++
	task := a2a.TaskInfo{TaskID: a2a.TaskID(t.feed.runID), ContextID: t.contextID}
	return encode(t.at, a2a.NewStatusUpdateEvent(task, a2a.TaskStateCanceled, nil))
}

// ends reports whether an event is the last one of its task.
func ends(event storage.Event) bool {
	if len(event.Body) == 0 {
		return false
	}
	switch event, _ := decode(event); event := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return event.Status.State.Terminal()
	case *a2a.Task:
		return event.Status.State.Terminal()
	}
	return false
}

// wait returns when there may be something new.
func (t *feedTail) wait(ctx context.Context, tick <-chan time.Time) error {
	var due <-chan time.Time
	if !t.away.IsZero() {
		timer := time.NewTimer(pollEvery)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-t.woken:
	case <-due:
	case <-tick:
		return errTick
	case <-ctx.Done():
		return ctx.Err()
	case <-t.host.life.Done():
		return context.Cause(t.host.life)
	}
	return nil
}
