package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/locale"
	"parley/storage/sqlstore"
)

var inShop = domain.Question{Agent: "echo", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Text: "?"}

// brief is a lease that is over soon.
func brief(cfg *Config) { cfg.Lease = 300 * time.Millisecond }

// die ends a host as if its process had been killed.
func die(h *Host) {
	h.stop(errStopping)
	h.work.Wait()
	h.runs.Wait()
}

// resumable is an agent of count events that goes on where its task stands. It
// waits before each.
func resumable(count int, before func(ctx context.Context, number int)) script {
	return func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		at := 0
		if request.StoredTask != nil {
			at = len(request.StoredTask.Artifacts)
		}
		for ; at < count-1; at++ {
			before(ctx, at+1)
			if ctx.Err() != nil || !yield(artifact(request, fmt.Sprint("step-", at), a2a.NewTextPart(fmt.Sprint(at))), nil) {
				return
			}
		}
		before(ctx, count)
		yield(completed(request), nil)
	}
}

// numbers reads a run's events to the end.
func numbers(t *testing.T, h *Host, runID string) (count int) {
	t.Helper()
	subscription := h.follow(alice, runID, 0)
	defer subscription.close()
	for {
		event, err := subscription.next(t.Context(), nil)
		if errors.Is(err, io.EOF) {
			return count
		}
		if count++; err != nil || event.Number != int64(count) {
			t.Fatalf("event %d: %d, %v", count, event.Number, err)
		}
	}
}

// A run whose host died is taken over by another one and goes on from what the
// log holds. Whoever follows it there sees all of it.
func TestTakeover(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reached := make(chan struct{})
		first := newHost(t, store, resumable(6, func(ctx context.Context, number int) {
			if number == 4 {
				close(reached)
				<-ctx.Done()
			}
		}), brief)
		asked, err := first.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		<-reached
		die(first)
		var again atomic.Int64
		second := newHost(t, store, resumable(6, func(_ context.Context, number int) { again.Add(1) }), brief)
		if got := numbers(t, second, asked.RunID); got != 6 {
			t.Errorf("%d events, want 6", got)
		}
		if got := again.Load(); got != 3 {
			t.Errorf("the second host did %d steps, want the 3 that were missing", got)
		}
		if run, err := store.Run(t.Context(), alice, asked.RunID); err != nil || run.Status != domain.RunCompleted {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}

// A host that stops leaves its runs at once, however long its lease is, and that
// does not count against them.
func TestHandover(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reached := make(chan struct{}, 1)
		hold := func(ctx context.Context, number int) {
			if number == 3 {
				reached <- struct{}{}
				<-ctx.Done()
			}
		}
		asked := domain.Question{}
		for i := range maxTakeovers + 3 {
			h := newHost(t, store, resumable(4, hold), func(cfg *Config) { cfg.Lease = time.Hour })
			if i == 0 {
				var err error
				if asked, err = h.Ask(t.Context(), alice, inShop); err != nil {
					t.Fatal(err)
				}
			}
			<-reached
			if err := h.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		last := newHost(t, store, resumable(4, func(context.Context, int) {}))
		if got := numbers(t, last, asked.RunID); got != 4 {
			t.Errorf("%d events, want 4", got)
		}
	})
}

// A host that has stopped takes no question: nobody would be left to answer it.
func TestStoppedHostRefuses(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Ask(t.Context(), alice, inShop); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
	if _, total, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 1}); err != nil || total != 0 {
		t.Errorf("%d runs were begun, %v", total, err)
	}
}

// A run that its hosts die of fails in the end.
func TestTooManyTakeovers(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	reached := make(chan struct{}, 1)
	deadly := resumable(4, func(ctx context.Context, number int) {
		if number == 3 {
			reached <- struct{}{}
			<-ctx.Done()
		}
	})
	first := newHost(t, store, deadly, brief)
	asked, err := first.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	die(first)
	for range maxTakeovers {
		h := newHost(t, store, deadly, brief)
		<-reached
		die(h)
	}
	last := newHost(t, store, deadly, brief)
	if got := numbers(t, last, asked.RunID); got != 3 {
		t.Errorf("%d events, want two and the failure", got)
	}
	if run, err := store.Run(t.Context(), alice, asked.RunID); err != nil || run.Status != domain.RunFailed {
		t.Errorf("run = %+v, %v", run, err)
	}
}

// A run that its hosts die of before its first event fails too.
func TestTooManyTakeoversWithoutEvents(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	reached := make(chan struct{}, 1)
	deadly := resumable(1, func(ctx context.Context, _ int) {
		reached <- struct{}{}
		<-ctx.Done()
	})
	h := newHost(t, store, deadly, brief)
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	die(h)
	for range maxTakeovers + 1 { // the first death leaves no trace
		h = newHost(t, store, deadly, brief)
		<-reached
		die(h)
	}
	last := newHost(t, store, deadly, brief)
	if got := numbers(t, last, asked.RunID); got != 1 {
		t.Errorf("%d events, want the failure", got)
	}
}

// Runs that wait for a slot when their hosts die do not fail.
func TestQueuedRunsOfDeadHosts(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	executing := make(chan string, 1)
	deadly := script(func(ctx context.Context, request *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) {
		if ctx.Err() == nil {
			executing <- string(request.TaskID)
		}
		<-ctx.Done()
	})
	oneSlot := func(cfg *Config) { brief(cfg); cfg.MaxWorking, cfg.UserRuns = 1, 1 }
	h := newHost(t, store, deadly, oneSlot)
	asked := map[string]bool{}
	for range 4 {
		request, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		asked[request.RunID] = true
	}
	first := <-executing
	die(h)
	for range maxTakeovers {
		h = newHost(t, store, deadly, oneSlot)
		if again := <-executing; again != first {
			t.Fatalf("%s started before %s, which was first", again, first)
		}
		die(h)
	}
	h = newHost(t, store, resumable(2, func(context.Context, int) {}), oneSlot)
	for id := range asked {
		numbers(t, h, id)
		if run, err := store.Run(t.Context(), alice, id); err != nil || run.Status != domain.RunCompleted {
			t.Errorf("run %s, the first is %s: %s, %v", id, first, run.Status, err)
		}
	}
}

// Of runs that execute together whenever their host dies, each death fails one at most.
func TestOneLastTryAtATime(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	const runs = 3
	executing := make(chan struct{}, runs)
	deadly := resumable(2, func(ctx context.Context, number int) {
		if number == 2 && ctx.Err() == nil {
			executing <- struct{}{}
			<-ctx.Done()
		}
	})
	h := newHost(t, store, deadly, brief)
	var asked []string
	for range runs {
		request, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		asked = append(asked, request.RunID)
	}
	for range maxTakeovers {
		for range runs {
			<-executing
		}
		die(h)
		h = newHost(t, store, deadly, brief)
	}
	<-executing
	die(h)
	if len(executing) != 0 {
		t.Errorf("%d more runs executed at their last try", len(executing))
	}
	h = newHost(t, store, resumable(2, func(context.Context, int) {}), brief)
	failed := 0
	for _, id := range asked {
		numbers(t, h, id)
		run, err := store.Run(t.Context(), alice, id)
		if err != nil {
			t.Fatal(err)
		}
		if run.Status == domain.RunFailed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of %d runs failed", failed, runs)
	}
}

// Two processes on one database: a run can be followed and canceled where it is
// not worked on, and the one that works on it hears of that.
func TestAcrossProcesses(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	stores := make([]*sqlstore.Store, 2)
	for i := range stores {
		stores[i] = sqlstoretest.Open(t, sqlstore.Config{DatabaseURL: url})
	}
	withNamespace(t, stores[0])
	stopped := make(chan struct{})
	step := make(chan struct{})
	agent := resumable(4, func(ctx context.Context, _ int) {
		select {
		case <-step:
		case <-ctx.Done():
			close(stopped)
		}
	})
	here, there := newHost(t, stores[0], agent), newHost(t, stores[1], agent)
	asked, err := here.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	subscription := there.follow(alice, asked.RunID, 0)
	defer subscription.close()
	for number := range 2 {
		step <- struct{}{}
		if event, err := subscription.next(t.Context(), nil); err != nil || event.Number != int64(number)+1 {
			t.Fatalf("event %d, %v", event.Number, err)
		}
	}
	s := there.service("echo")
	if _, err := s.CancelTask(as(t, alice), &a2a.CancelTaskRequest{ID: a2a.TaskID(asked.RunID)}); err != nil {
		t.Fatal(err)
	}
	<-stopped
	if got := numbers(t, here, asked.RunID); got != 3 {
		t.Errorf("%d events, want two and the cancellation", got)
	}
}

// olderLog returns runs as one whose runs were begun by an older program.
type olderLog struct{ *sqlstore.Store }

func (l olderLog) ClaimRuns(ctx context.Context, holder string, agents []string, inputTimeout time.Duration, limit int) ([]domain.ClaimedRun, error) {
	claimed, err := l.Store.ClaimRuns(ctx, holder, agents, inputTimeout, limit)
	for i := range claimed {
		q := &claimed[i].Question
		q.Provider, q.Model, q.HelperPrompt = "", "", ""
	}
	return claimed, err
}

// A host that takes a run over knows how it is to be answered, also where only the
// message says so.
func TestTakeoverKeepsSettings(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reached, seen := make(chan struct{}), make(chan domain.Question, 1)
		question := inShop
		question.Provider, question.Model, question.HelperPrompt, question.Locale = "p", "m", "Be brief.", "de"
		for _, log := range []Log{store, olderLog{store}} {
			h := newHost(t, store, resumable(2, func(ctx context.Context, _ int) {
				reached <- struct{}{}
				<-ctx.Done()
			}))
			asked, err := h.Ask(t.Context(), alice, question)
			if err != nil {
				t.Fatal(err)
			}
			<-reached
			if err := h.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			h = newHost(t, log, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
				got, _ := domain.QuestionFrom(ctx)
				got.Locale = locale.From(ctx)
				seen <- got
				yield(completed(request), nil)
			}))
			if got := <-seen; !reflect.DeepEqual(got, asked) {
				t.Errorf("%T: took over %+v, want %+v", log, got, asked)
			}
			numbers(t, h, asked.RunID) // or the next host takes this run over
			if err := h.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// brokenLog fails to keep events for a while.
type brokenLog struct {
	*sqlstore.Store
	mu     sync.Mutex
	broken bool
}

func (l *brokenLog) Append(change domain.TaskChange, done func(error)) {
	l.mu.Lock()
	broken := l.broken && change.Start == nil
	l.mu.Unlock()
	if broken {
		done(fmt.Errorf("write: %w", domain.ErrUnavailable))
		return
	}
	l.Store.Append(change, done)
}

func (l *brokenLog) set(broken bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = broken
}

// A run whose events cannot be kept is stopped, nobody sees them, and it goes on
// when the log works again.
func TestBrokenLog(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	log := &brokenLog{Store: store}
	var stopped atomic.Bool
	h := newHost(t, log, resumable(4, func(ctx context.Context, number int) {
		if number == 3 && !stopped.Load() {
			log.set(true)
			context.AfterFunc(ctx, func() { stopped.Store(true) })
		}
	}), brief)
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the work stops", stopped.Load)
	log.set(false)
	if got := numbers(t, h, asked.RunID); got != 4 {
		t.Errorf("%d events, want all", got)
	}
	if run, err := store.Run(t.Context(), alice, asked.RunID); err != nil || run.Status != domain.RunCompleted {
		t.Errorf("run = %+v, %v", run, err)
	}
}
