package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// waiting is an agent that says that it works, and then does until it is
// stopped.
var waiting script = func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if yield(a2a.NewSubmittedTask(request, request.Message), nil) && yield(working(request), nil) {
		<-ctx.Done()
	}
}

// bodies reads a subscription to its end.
func bodies(t *testing.T, events subscription) (all []string) {
	t.Helper()
	defer events.close()
	for {
		event, err := events.next(t.Context(), nil)
		if err != nil {
			return append(all, err.Error())
		}
		all = append(all, string(event.Body))
	}
}

// A run that is deleted while it works has ended for all who follow it, with its
// cancellation, whether it was stopped first, as REST does, or not.
func TestDeletedRunEnds(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, waiting)
		for _, stopped := range []bool{true, false} {
			asked, err := h.Ask(t.Context(), alice, inShop)
			if err != nil {
				t.Fatal(err)
			}
			events := h.follow(alice, asked.RunID, 0)
			events.contextID = asked.ConversationID
			for range 2 {
				if _, err := events.next(t.Context(), nil); err != nil {
					t.Fatal(err)
				}
			}
			if stopped {
				if err := h.Stop(t.Context(), alice, asked.RunID); err != nil {
					t.Fatal(err)
				}
			}
			if err := store.DeleteRun(t.Context(), alice, asked.RunID); err != nil {
				t.Fatal(err)
			}
			if !stopped {
				// Whoever works on it finds out with the next event; those who
				// read the log at once.
				h.broadcasters.find(asked.RunID).worker().stop(errCanceled)
			}
			if got := bodies(t, events); len(got) != 2 || !strings.Contains(got[0], "TASK_STATE_CANCELED") || got[1] != "EOF" {
				t.Errorf("stopped %v: the stream ended with %v", stopped, got)
			}
			if err := h.Stop(t.Context(), alice, asked.RunID); err == nil {
				t.Error("a run that is gone was stopped")
			}
		}
	})
}

// Whoever subscribes before the first event gets the task once.
func TestSubscribeFromTheStart(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	begin := make(gate)
	h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		begin.wait(ctx)
		_ = yield(a2a.NewSubmittedTask(request, request.Message), nil) && yield(completed(request), nil)
	}))
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	s := h.service("echo")
	events, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: a2a.TaskID(asked.RunID)}, -1)
	if err != nil {
		t.Fatal(err)
	}
	begin.open()
	got := bodies(t, events)
	if len(got) != 3 || !strings.HasPrefix(got[0], `{"task"`) || !strings.HasPrefix(got[1], `{"statusUpdate"`) {
		t.Errorf("events: %v", got)
	}
}

// A stream's tasks have as much history as was asked for.
func TestHistoryInStreams(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, trivial{}).service("echo")
	for length, want := range map[int]bool{0: false, 1: true, 5: true} {
		request := toShop("What now?")
		request.Config = &a2a.SendMessageConfig{HistoryLength: &length}
		events, err := s.stream(as(t, alice), request)
		if err != nil {
			t.Fatal(err)
		}
		got := bodies(t, events)
		if len(got) != 5 || strings.Contains(got[0], `"history"`) != want {
			t.Errorf("historyLength %d: %v", length, got)
		}
	}
}

// deafLog is a log whose notifications are lost.
type deafLog struct{ *sqlstore.Store }

func (deafLog) Listen(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return nil
}

// Whoever follows a run on another host than its own gets each event while it goes
// on, and its end, though nothing is heard of it; also when the run is deleted.
func TestLostNotifications(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		steps := make(chan struct{})
		works := newHost(t, store, resumable(4, func(ctx context.Context, _ int) {
			select {
			case <-steps:
			case <-ctx.Done():
			}
		}))
		deaf := newHost(t, deafLog{store}, fourEvents)
		for _, deleted := range []bool{false, true} {
			asked, err := works.Ask(t.Context(), alice, inShop)
			if err != nil {
				t.Fatal(err)
			}
			subscription := deaf.follow(alice, asked.RunID, 0)
			for number := range int64(3) {
				steps <- struct{}{}
				if event, err := subscription.next(t.Context(), nil); err != nil || event.Number != number+1 {
					t.Fatalf("event %d: %+v, %v", number+1, event, err)
				}
			}
			if deleted {
				if err := store.DeleteRun(t.Context(), alice, asked.RunID); err != nil {
					t.Fatal(err)
				}
			} else {
				steps <- struct{}{}
				if event, err := subscription.next(t.Context(), nil); err != nil || event.Number != 4 {
					t.Fatalf("the last event: %+v, %v", event, err)
				}
			}
			if event, err := subscription.next(t.Context(), nil); !errors.Is(err, io.EOF) {
				t.Errorf("after the end (deleted: %v): %+v, %v", deleted, event, err)
			}
			subscription.close()
		}
	})
}

// Whoever follows a run on another host than its own is told of its end once, though
// the run is deleted as soon as it has one.
func TestDeletedElsewhere(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	works, deaf := newHost(t, store, waiting), newHost(t, deafLog{store}, waiting)
	for _, seen := range []bool{false, true} {
		asked, err := works.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		// From after the task, so that nothing read tells of the context.
		events := deaf.follow(alice, asked.RunID, 2)
		events.contextID = asked.ConversationID
		waittest.Until(t, "the run works", func() bool {
			task, err := store.Task(t.Context(), alice, "", asked.RunID, false)
			return err == nil && task.LastEvent == 2
		})
		if err := works.Stop(t.Context(), alice, asked.RunID); err != nil {
			t.Fatal(err)
		}
		if seen {
			if event, err := events.next(t.Context(), nil); err != nil || !hasState(event, a2a.TaskState.Terminal) {
				t.Fatalf("%s, %v", event.Body, err)
			}
		}
		if err := store.DeleteRun(t.Context(), alice, asked.RunID); err != nil {
			t.Fatal(err)
		}
		got := bodies(t, events)
		if seen && len(got) != 1 || !seen && (len(got) != 2 || !strings.Contains(got[0], "TASK_STATE_CANCELED") || !strings.Contains(got[0], asked.ConversationID)) || got[len(got)-1] != "EOF" {
			t.Errorf("end seen %v: %v", seen, got)
		}
	}
}

// awayLog is a log whose events cannot be read while it is away.
type awayLog struct {
	*sqlstore.Store
	away atomic.Bool
	// looked is told of each look.
	looked chan struct{}
}

func (l *awayLog) EventBytes(ctx context.Context, caller domain.Caller, runID string, after int64) (int, error) {
	if l.away.Load() {
		select {
		case l.looked <- struct{}{}:
		default:
		}
		return 0, domain.ErrUnavailable
	}
	return l.Store.EventBytes(ctx, caller, runID, after)
}

// Whoever follows a run waits for a log that is away, with signs of life meanwhile,
// and then gets the rest.
func TestFollowWaitsForTheLog(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	step := make(chan struct{})
	works := newHost(t, store, resumable(3, func(ctx context.Context, _ int) {
		select {
		case <-step:
		case <-ctx.Done():
		}
	}))
	log := &awayLog{Store: store, looked: make(chan struct{})}
	other := newHost(t, log, fourEvents)
	asked, err := works.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	events := other.follow(alice, asked.RunID, 0)
	defer events.close()
	step <- struct{}{}
	if event, err := events.next(t.Context(), nil); err != nil || event.Number != 1 {
		t.Fatalf("%+v, %v", event, err)
	}
	log.away.Store(true)
	if _, err := events.next(t.Context(), expired); !errors.Is(err, errNoEvent) {
		t.Errorf("while the log is away: %v, want a sign of life", err)
	}
	go func() {
		for range 2 {
			<-log.looked
			step <- struct{}{}
		}
		log.away.Store(false)
	}()
	for number := int64(2); number <= 3; number++ {
		if event, err := events.next(t.Context(), nil); err != nil || event.Number != number {
			t.Fatalf("event %d: %+v, %v", number, event, err)
		}
	}
	if _, err := events.next(t.Context(), nil); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}

// A user has a limited number of open streams, of all bindings together. One that is refused
// starts no run.
func TestStreamsOfAUser(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) { cfg.UserStreams, cfg.DefaultAgent = 2, "echo" })
	b := newBindings(t, h)
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	numbers(t, h, asked.RunID)
	first, err := h.OpenStream(alice)
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.OpenStream(alice)
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range allBindings {
		for method, params := range map[string]string{
			"SendStreamingMessage": messageIn(inMyShop), "SubscribeToTask": fmt.Sprintf(`{"id":%q}`, asked.RunID),
		} {
			if got := call(b, alice, method, params, "1.0"); got.reason != "RESOURCE_EXHAUSTED" || !strings.Contains(got.message, "open streams") {
				t.Errorf("%s %s: %v", name, method, got)
			}
		}
	}
	if _, total, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 1}); err != nil || total != 1 {
		t.Errorf("%d runs were begun, %v", total-1, err)
	}
	if closeStream, err := h.OpenStream(bob); err != nil {
		t.Errorf("another user: %v", err)
	} else {
		closeStream()
	}
	first()
	first()
	for name, call := range allBindings {
		for range 3 { // each closes when it ends
			if got := call(b, alice, "SendStreamingMessage", messageIn(inMyShop), "1.0"); got.reason != "" {
				t.Errorf("%s: %v", name, got)
			}
			waittest.Until(t, "the stream is closed", func() bool { return canOpen(h, 1) })
		}
	}
	func() {
		defer func() { _ = recover() }() // as the server does
		_, _ = h.services["echo"].openSubscription(as(t, alice), func(domain.Caller) (*runSubscription, error) { panic("open") })
	}()
	second()
	if !canOpen(h, 2) {
		t.Error("a stream is still open")
	}
}

// canOpen reports whether alice can open so many streams.
func canOpen(h *Host, streams int) bool {
	for range streams {
		closeStream, err := h.OpenStream(alice)
		if err != nil {
			return false
		}
		defer closeStream()
	}
	return true
}
