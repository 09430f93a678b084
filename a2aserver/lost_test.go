package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// forgetfulLog keeps some changes and says that it has not: as when a connection
// breaks just after a commit.
type forgetfulLog struct {
	*sqlstore.Store
	forgets func(change domain.TaskChange) bool
}

func (l forgetfulLog) Append(change domain.TaskChange, done func(error)) {
	lost := l.forgets(change)
	l.Store.Append(change, func(err error) {
		if lost && err == nil {
			err = fmt.Errorf("write: %w", domain.ErrUnavailable)
		}
		done(err)
	})
}

// lostLog loses its connection when events are read.
type lostLog struct{ *sqlstore.Store }

func (l lostLog) EventBytes(context.Context, domain.Caller, string, int64) (int, error) {
	return 0, fmt.Errorf("read: %w", io.EOF)
}

// A connection that is lost at its end, a wrapped io.EOF, is no end of a run.
func TestLostConnectionIsNoEnd(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	sent := newHost(t, store, fourEvents).service("echo")
	task := sendTask(t, sent, alice, toShop("How many?"))
	h := newHost(t, lostLog{store}, fourEvents)
	if err := h.services["echo"].waitRemote(as(t, alice), domain.Task{RunID: string(task.ID)}); !errors.Is(err, io.EOF) {
		t.Errorf("waited: %v", err)
	}
	followed := h.follow(alice, string(task.ID), 0)
	defer followed.close()
	var failed error
	for _, err := range h.decoded(t.Context(), followed, nil) {
		failed = err
	}
	if !errors.Is(failed, io.EOF) {
		t.Errorf("followed: %v", failed)
	}
}

// Whichever answer of the log is lost, a run ends, and those who follow it get
// every event once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	for lost := range int64(6) {
		t.Run(fmt.Sprint(lost), func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			var begun atomic.Value
			log := forgetfulLog{store, func(change domain.TaskChange) (forget bool) {
				if (lost == 0) != (change.Start != nil) || lost > 0 && change.After != lost-1 {
					return false
				}
				once.Do(func() { forget = true; begun.Store(change.RunID) })
				return forget
			}}
			h := newHost(t, log, resumable(5, func(context.Context, int) {}), brief)
			asked, err := h.Ask(t.Context(), alice, inShop)
			if lost == 0 {
				if err == nil {
					t.Error("a run was begun though the log did not say so")
				}
				asked.RunID = begun.Load().(string)
			} else if err != nil {
				t.Fatal(err)
			}
			if got := numbers(t, h, asked.RunID); got < 1 || got > 6 {
				t.Errorf("%d events", got)
			}
			run, err := store.Run(t.Context(), alice, asked.RunID)
			if err != nil || !run.Status.Final() {
				t.Errorf("run = %+v, %v", run, err)
			}
		})
	}
}

// A run that is a host's by the log alone is left and taken up again, and that
// does not count against it.
func TestOrphans(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		asked, err := sqlstoretest.Ask(t.Context(), store, alice, domain.Question{
			Agent: "echo", Namespace: inShop.Namespace, ConversationID: "00000000-0000-4000-8000-000000000001", Text: "?",
		})
		if err != nil {
			t.Fatal(err)
		}
		h := New(Config{
			Log: store, Agents: []Agent{{Name: "echo", Executor: resumable(3, func(context.Context, int) {}), Projection: plain}},
			Logger: quiet(), RunTimeout: time.Minute, MaxRuns: 20, MaxWorking: 10, UserRuns: 10, KeepAlive: time.Minute, Lease: 300 * time.Millisecond,
			Reads: smallReads(), // events may come from the log
		})
		// It is taken, and the host never hears of that.
		if taken, err := store.ClaimRuns(t.Context(), h.id, []string{"echo"}, time.Hour, 10); err != nil || len(taken) != 1 {
			t.Fatalf("took %v, %v", taken, err)
		}
		if err := h.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = h.Close(context.WithoutCancel(t.Context())) }()
		if got := numbers(t, h, asked.RunID); got != 3 {
			t.Errorf("%d events, want 3", got)
		}
	})
}

// partedLog is a log that its host cannot reach at times.
type partedLog struct {
	brokenLog
}

func (l *partedLog) RenewLease(ctx context.Context, lease domain.Lease, ttl time.Duration) error {
	l.mu.Lock()
	parted := l.broken
	l.mu.Unlock()
	if parted {
		return domain.ErrUnavailable
	}
	return l.Store.RenewLease(ctx, lease, ttl)
}

// A host that was cut off finds its runs in the hands of another, and leaves
// them there.
func TestPartedHost(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		parted := &partedLog{brokenLog{Store: store}}
		first := newHost(t, parted, resumable(4, func(ctx context.Context, number int) {
			if number == 3 {
				parted.set(true)
			}
		}), brief)
		asked, err := first.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		taken, goOn := make(chan struct{}), make(gate)
		reached := sync.OnceFunc(func() { close(taken) }) // on a busy machine, its lease can end too
		second := newHost(t, store, resumable(4, func(ctx context.Context, number int) {
			if number == 3 {
				reached()
				goOn.wait(ctx)
			}
		}), brief)
		<-taken
		// The first one is back, and tries to record that it failed.
		parted.set(false)
		first.runs.Wait()
		goOn.open()
		if got := numbers(t, second, asked.RunID); got != 4 {
			t.Errorf("%d events, want 4", got)
		}
		if run, err := store.Run(t.Context(), alice, asked.RunID); err != nil || run.Status != domain.RunCompleted {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}

// What is heard late of a run, of the host before, does not stop it.
func TestHeardLate(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	goOn := make(gate)
	h := newHost(t, store, resumable(3, func(ctx context.Context, number int) { goOn.wait(ctx) }))
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	worker := h.broadcasters.find(asked.RunID).worker()
	h.stopIfEnded(worker)
	if worker.ctx.Err() != nil {
		t.Error("a run that goes on was stopped")
	}
	goOn.open()
	if got := numbers(t, h, asked.RunID); got != 3 {
		t.Errorf("%d events, want 3", got)
	}
}

// A projection that panics ends the run, not the process.
func TestPanicInProjection(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.Agents[0].LastNode = func(a2a.Event) string { panic("no") }
	})
	asked, err := h.Ask(t.Context(), alice, inShop)
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, h, asked.RunID); got != 1 {
		t.Errorf("%d events, want the failure alone", got)
	}
}

// lateLog keeps what it is told once it is let.
type lateLog struct {
	*sqlstore.Store
	told chan func()
}

func newLateLog(t *testing.T, store *sqlstore.Store) (log lateLog, let gate) {
	log, let = lateLog{store, make(chan func(), 100)}, make(gate)
	go func() {
		let.wait(t.Context())
		for {
			select {
			case keep := <-log.told:
				keep()
			case <-t.Context().Done():
				return
			}
		}
	}()
	return log, let
}

func (l lateLog) Append(change domain.TaskChange, done func(error)) {
	l.told <- func() { l.Store.Append(change, done) }
}

// isLate reports whether the time of a request was up: as such, or for a read of the
// database.
func isLate(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}

// A run that did not begin in time is not worked on: whoever asked was told to ask
// again.
func TestLateBeginning(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		log, let := newLateLog(t, store)
		h := newHost(t, log, waiting, func(cfg *Config) { cfg.RequestTimeout = 50 * time.Millisecond })
		for len(log.told) == 0 { // on a slow machine, what comes before takes as long
			ctx, cancel := h.withRequestTimeout(t.Context())
			_, err := h.Ask(ctx, alice, inShop)
			cancel()
			if !isLate(err) {
				t.Fatalf("asked: %v", err)
			}
		}
		let.open()
		waittest.Until(t, "the run has failed", func() bool {
			tasks, _, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 10})
			return err == nil && len(tasks) == 1 && tasks[0].State == string(a2a.TaskStateFailed)
		})
	})
}

// TestLateBeginningIsFollowed is TestLateBeginning for a message, which the client sends
// again as it is told: it finds the run, which another host, or this one, resumes.
func TestLateBeginningIsFollowed(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		log, let := newLateLog(t, store)
		h := newHost(t, log, fourEvents, func(cfg *Config) {
			cfg.RequestTimeout, cfg.Lease = 50*time.Millisecond, 300*time.Millisecond
		})
		s := h.service("echo")
		request := toShop("?")
		for len(log.told) == 0 {
			if _, err := s.SendMessage(as(t, alice), request); !isLate(err) {
				t.Fatalf("sent: %v", err)
			}
		}
		let.open()
		waittest.Until(t, "the run is completed", func() bool {
			tasks, _, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 10})
			return err == nil && len(tasks) == 1 && tasks[0].State == string(a2a.TaskStateCompleted)
		})
	})
}
