package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

// host starts a host.
func (w world) host(id string) {
	w.t.Helper()
	_, err := w.AcquireLease(w.t.Context(), jobs.HostLease(id), id, time.Hour)
	w.must(err)
}

// killHost lets the lease of a host expire.
func (w world) killHost(id string) {
	w.t.Helper()
	w.must(w.Exec(w.t.Context(), `UPDATE leases SET expires_at = 0 WHERE name = $1`, jobs.HostLease(id)))
}

// release releases the runs of a host.
func (w world) release(id string) (runIDs []string) {
	w.t.Helper()
	runIDs, err := w.ReleaseUnused(w.t.Context(), jobs.Runs, id, func(string) bool { return false })
	w.must(err)
	return runIDs
}

// held returns the runs that a host holds.
func (w world) held(id string) (runIDs []string) {
	w.t.Helper()
	_, err := w.ReleaseUnused(w.t.Context(), jobs.Runs, id, func(id string) bool {
		runIDs = append(runIDs, id)
		return true
	})
	w.must(err)
	return runIDs
}

// take has a host take runs and gives them by their id.
func (w world) take(holder string, limit int) map[string]domain.ClaimedRun {
	w.t.Helper()
	runs, err := w.ClaimRuns(w.t.Context(), holder, []string{"nl2ql", "assistant"}, time.Hour, limit)
	w.must(err)
	byID := make(map[string]domain.ClaimedRun)
	for _, run := range runs {
		byID[run.Question.RunID] = run
	}
	return byID
}

// A run that a program of the schema before has begun has no settings of its own.
func TestOlderRunIsTakenOver(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		run := w.ask(user("alice"), "ns", uuid.NewString(), "How many?")
		w.must(store.Exec(t.Context(), `UPDATE runs SET provider = NULL, model = NULL, helper_prompt = NULL WHERE id = $1`, run.RunID))
		if got, ok := w.take("second", 10)[run.RunID]; !ok || !reflect.DeepEqual(got.Question, run) {
			t.Errorf("took %+v", got)
		}
	})
}

func TestRunsAreTakenOver(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		partly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		w.host(sqlstoretest.Holder)
		run, err := sqlstoretest.Ask(ctx, w, partly, domain.Question{
			Agent: "assistant", Namespace: nsRef("alice", "ns"), ConversationID: uuid.NewString(), Text: "How many?",
			Provider: "p", Model: "m", HelperPrompt: "In \u00fc.", Locale: "de-CH"})
		w.must(err)
		ended := w.ask(user("alice"), "ns", uuid.NewString(), "ended")
		w.must(w.finish(user("alice"), ended.RunID, domain.RunOutcome{Status: domain.RunCompleted}))
		change := step(run.RunID, 0, 3)
		change.Events[1].Kind = domain.EventArtifact
		w.must(sqlstoretest.Append(w, change))

		if got := w.take("second", 10); len(got) != 0 {
			t.Errorf("runs were taken from a living host: %v", got)
		}
		w.killHost(sqlstoretest.Holder)
		if got := w.take(sqlstoretest.Holder, 10); len(got) != 0 {
			t.Errorf("a host took its own runs: %v", got)
		}
		w.host("second")
		got, ok := w.take("second", 10)[run.RunID]
		if !ok || !reflect.DeepEqual(got.Question, run) || got.Takeovers != 1 || got.Age < 0 || got.Age > time.Hour {
			t.Errorf("took %+v, want %+v", got, run)
		}
		if got.Task.LastEvent != 3 || string(got.Task.Snapshot) != `{"last":3}` || len(got.Task.Artifacts) != 1 || !got.Task.Open {
			t.Errorf("took the task %+v", got.Task)
		}
		if err := sqlstoretest.Append(w, step(run.RunID, 3, 1)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the host before wrote on: %v", err)
		}
		next := step(run.RunID, 3, 1)
		next.Holder = "second"
		w.must(sqlstoretest.Append(w, next))

		// A host that stops leaves its runs; that counts for nothing.
		w.must(w.RenameNamespace(ctx, user("alice"), nsRef("alice", "ns"), "renamed"))
		w.release("second")
		got = w.take("third", 10)[run.RunID]
		if got.Takeovers != 1 || got.Task.LastEvent != 4 || got.Question.Namespace != nsRef("alice", "renamed") {
			t.Errorf("took what was left: %+v", got)
		}
		// The third and the fourth never said that they live; only the fourth started the agent.
		w.must(w.DeleteNamespace(ctx, user("alice"), nsRef("alice", "renamed"), true))
		if got = w.take("fourth", 10)[run.RunID]; got.Takeovers != 1 {
			t.Errorf("a run that waited: %+v", got)
		}
		started := step(run.RunID, 4, 0)
		started.Holder = "fourth"
		w.must(sqlstoretest.Append(w, started))
		got = w.take("fifth", 10)[run.RunID]
		if got.Takeovers != 2 || got.Task.LastEvent != 4 || got.Question.Namespace != (domain.NamespaceRef{}) {
			t.Errorf("took from one that never lived: %+v", got)
		}
	})
}

func TestTakeRunsTakesNoMoreThanAsked(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for range 5 {
			w.ask(user("alice"), "ns", uuid.NewString(), "?")
		}
		w.must(w.ExpireLeases(t.Context()))
		w.host("next")
		for _, want := range []int{3, 2, 0} {
			if got := w.take("next", 3); len(got) != want {
				t.Errorf("took %d runs, want %d", len(got), want)
			}
		}
	})
}

// TestEachRunIsTakenOnce has hosts on several stores of one database take the
// same runs at the same moment.
func TestEachRunIsTakenOnce(t *testing.T) {
	t.Parallel()
	cfg := sqlstore.Config{DatabaseURL: pgtest.URL(t)}
	first := open(t, cfg)
	if err := first.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	stores := []world{newWorld(t, first), {open(t, cfg), t}}
	const runs = 40
	for range runs {
		stores[0].ask(user("alice"), "ns", uuid.NewString(), "?")
	}
	var taken atomic.Int32
	together(func(i int) {
		holder := uuid.NewString()
		if _, err := stores[i%2].AcquireLease(t.Context(), jobs.HostLease(holder), holder, time.Hour); err != nil {
			t.Error(err)
		}
		for range 4 {
			held, err := stores[i%2].ClaimRuns(t.Context(), holder, []string{"assistant"}, time.Hour, 10)
			if err != nil {
				t.Error(err)
			}
			taken.Add(int32(len(held)))
		}
	})
	if taken.Load() != runs {
		t.Errorf("%d runs were taken, of %d", taken.Load(), runs)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	cfg := sqlstore.Config{DatabaseURL: pgtest.URL(t)}
	here := open(t, cfg)
	if err := here.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, there := newWorld(t, here), world{open(t, cfg), t}
	ctx, stop := context.WithCancel(t.Context())
	heard, ended := make(chan string, 1000), make(chan error, 1)
	go func() { ended <- here.Listen(ctx, func(runID string) { heard <- runID }) }()
	expect := func(want string) {
		t.Helper()
		if got := <-heard; got != want {
			t.Errorf("heard of %q, want %q", got, want)
		}
	}
	expect("") // it listens

	own := w.ask(user("alice"), "ns", uuid.NewString(), "asked here")
	run := there.ask(user("alice"), "ns", uuid.NewString(), "asked there")
	expect(run.RunID)
	if err := sqlstoretest.Append(there, step(run.RunID, 7, 1)); !errors.Is(err, domain.ErrConflict) {
		t.Error(err)
	}
	there.must(there.finish(user("alice"), own.RunID, domain.RunOutcome{Status: domain.RunFailed}))
	expect(own.RunID)
	there.release(sqlstoretest.Holder)
	expect("")

	// Many at once are told of in several messages.
	var starts []domain.TaskChange
	for range 250 {
		starts = append(starts, there.start(uuid.NewString()))
	}
	all := make(map[string]bool)
	for i, err := range there.batch(starts...) {
		there.must(err)
		all[starts[i].RunID] = true
	}
	for len(all) > 0 {
		id := <-heard
		if !all[id] {
			t.Fatalf("heard of %q", id)
		}
		delete(all, id)
	}

	// The connections break: the log and the listener make new ones.
	db, err := sqlx.Open("postgres", cfg.DatabaseURL)
	w.must(err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	w.must(err)
	expect("")
	for {
		err := sqlstoretest.Append(there, step(starts[0].RunID, 0, 1))
		if err == nil {
			break
		}
		if !errors.Is(err, domain.ErrUnavailable) {
			t.Fatal(err)
		}
	}
	expect(starts[0].RunID)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNobodyElseIsHeardOnSQLite(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := store.Listen(ctx, func(string) { t.Error("somebody was heard") }); err != nil {
		t.Error(err)
	}
}

func TestLastEvents(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		first, second := w.start(""), w.start("")
		w.must(sqlstoretest.Append(w, first))
		w.must(sqlstoretest.Append(w, second))
		w.must(sqlstoretest.Append(w, step(second.RunID, 0, 3)))
		ids := []string{first.RunID}
		for i := range 250 {
			ids = append(ids, fmt.Sprint("none-", i))
		}
		got, err := w.LastEvents(t.Context(), append(ids, second.RunID))
		if want := map[string]int64{first.RunID: 0, second.RunID: 3}; err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		if got, err := w.LastEvents(t.Context(), nil); err != nil || len(got) > 0 {
			t.Errorf("of no runs: %v, %v", got, err)
		}
	})
}

// A run that waits for an answer has no host. When it has waited for too long one host
// claims it, once, and it takes no answer any more.
func TestWaitingRunIsClaimedOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		w.host("second")
		run := w.ask(user("alice"), "ns", uuid.NewString(), "How many?")
		change := step(run.RunID, 0, 1)
		change.State = domain.StateInputRequired
		w.must(sqlstoretest.Append(w, change))
		if owned := w.held(sqlstoretest.Holder); len(owned) != 0 {
			t.Errorf("its host still owns %v", owned)
		}
		if got := w.take("second", 10); len(got) != 0 {
			t.Errorf("claimed too early: %v", got)
		}
		w.must(w.Exec(ctx, `UPDATE tasks SET updated_at = updated_at - $1`, 2*time.Hour.Milliseconds()))
		if got, ok := w.take("second", 10)[run.RunID]; !ok || got.Takeovers != 0 {
			t.Errorf("claimed %+v", got)
		}
		if got := w.take("second", 10); len(got) != 0 {
			t.Errorf("claimed again: %v", got)
		}
		if owned := w.held("second"); len(owned) != 1 {
			t.Errorf("it owns %v", owned)
		}
		answered := domain.AnsweredRun{RunID: run.RunID, After: 1, State: "submitted", Snapshot: change.Snapshot, Caller: user("alice")}
		if _, err := w.ResumeRun(ctx, "third", answered); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("answered: %v", err)
		}
		w.release("second")
		if _, err := w.ResumeRun(ctx, "third", answered); err != nil {
			t.Errorf("answered: %v", err)
		}
	})
}
