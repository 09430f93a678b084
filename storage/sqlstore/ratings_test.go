package sqlstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// completed returns a run of caller's, in alice's namespace ns, that has ended as
// it should.
func (w world) completed(caller domain.Caller) string {
	w.t.Helper()
	run := w.ask(caller, "ns", uuid.NewString(), "How many?")
	w.must(sqlstoretest.Finish(w.t.Context(), w, caller, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: []byte(`{}`)}))
	return run.RunID
}

// rate has alice rate a run on a day.
func (w world) rate(runID, day string, rating domain.Rating) domain.RatingLease {
	w.t.Helper()
	lease, err := w.AcquireRating(w.t.Context(), user("alice"), runID, day, time.Minute)
	w.must(err)
	w.must(w.SaveRating(w.t.Context(), user("alice"), lease, rating))
	return lease
}

func TestRatingIsOverwritten(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, run := t.Context(), user("alice"), w.completed(user("alice"))
		if _, err := w.Rating(ctx, alice, run); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("before any: got %v", err)
		}
		for _, rating := range []domain.Rating{
			{RunID: run, ThumbsUp: true, Comment: "right: " + strings.Repeat("𝄞", 9_000), ScoreID: "a", ScoreDay: "2026-01-01"},
			{RunID: run, ThumbsUp: false, ScoreID: "b", ScoreDay: "2026-01-02"},
		} {
			w.rate(run, rating.ScoreDay, rating)
			got, err := w.Rating(ctx, alice, run)
			w.must(err)
			if got != rating {
				t.Errorf("got %+v, want %+v", got, rating)
			}
		}
		// Without a tracing store, what it held once is still known.
		w.rate(run, "", domain.Rating{RunID: run, ThumbsUp: true, Comment: "local"})
		got, err := w.Rating(ctx, alice, run)
		w.must(err)
		if want := (domain.Rating{RunID: run, ThumbsUp: true, Comment: "local", ScoreID: "b", ScoreDay: "2026-01-02"}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		w.must(w.DeleteRun(ctx, alice, run))
		if _, err := w.Rating(ctx, alice, run); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after the run: got %v", err)
		}
	})
}

func TestRatingOnlyOwnCompletedRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		run := w.completed(alice)
		running := w.ask(alice, "ns", uuid.NewString(), "And now?")
		failed := w.ask(alice, "ns", uuid.NewString(), "And then?")
		w.must(sqlstoretest.Finish(ctx, w, alice, failed.RunID, domain.RunOutcome{Status: domain.RunFailed}))
		elsewhere := domain.Caller{Username: "alice", Restriction: uuid.NewString()}
		for name, test := range map[string]struct {
			caller domain.Caller
			run    string
			want   error
		}{
			"another user":          {user("bob"), run, domain.ErrNotFound},
			"another's running one": {user("bob"), running.RunID, domain.ErrNotFound},
			"a token for elsewhere": {elsewhere, run, domain.ErrNotFound},
			"no run":                {alice, uuid.NewString(), domain.ErrNotFound},
			"running":               {alice, running.RunID, domain.ErrRunNotCompleted},
			"failed":                {alice, failed.RunID, domain.ErrRunNotCompleted},
		} {
			if _, err := w.AcquireRating(ctx, test.caller, test.run, "2026-01-01", time.Minute); !errors.Is(err, test.want) {
				t.Errorf("%s: got %v, want %v", name, err, test.want)
			}
		}
		lease, err := w.AcquireRating(ctx, alice, run, "", time.Minute)
		w.must(err)
		for name, caller := range map[string]domain.Caller{"another user": user("bob"), "a token for elsewhere": elsewhere} {
			if err := w.SaveRating(ctx, caller, lease, domain.Rating{RunID: run}); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: got %v", name, err)
			}
			if _, err := w.Rating(ctx, caller, run); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s reads it: got %v", name, err)
			}
		}
		w.must(w.DeleteRun(ctx, alice, run))
		if err := w.SaveRating(ctx, alice, lease, domain.Rating{RunID: run}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a run that has gone: got %v", err)
		}
	})
}

// TestRatingTurns has one lease at a time, and remembers the days of those that
// did not end.
func TestRatingTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, run := t.Context(), user("alice"), w.completed(user("alice"))
		begin := func(day, want string, former ...string) domain.RatingLease {
			t.Helper()
			lease, err := w.AcquireRating(ctx, alice, run, day, time.Minute)
			w.must(err)
			if lease.Day != want || !slices.Equal(lease.Former, former) {
				t.Errorf("on %s: got %+v, want %s after %v", day, lease, want, former)
			}
			return lease
		}
		first := begin("2026-01-01", "2026-01-01")
		if _, err := w.AcquireRating(ctx, alice, run, "2026-01-01", time.Minute); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a second lease: got %v", err)
		}
		w.must(w.RenewLease(ctx, first.Lease, 0))
		second := begin("2026-01-03", "2026-01-03", "2026-01-01")
		if err := w.SaveRating(ctx, alice, first, domain.Rating{RunID: run}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("end an expired lease: got %v", err)
		}
		if err := w.RenewLease(ctx, first.Lease, 0); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("release a lease of another: got %v", err)
		}
		if _, err := w.AcquireRating(ctx, alice, run, "2026-01-03", time.Minute); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a third lease: got %v", err)
		}
		w.must(w.RenewLease(ctx, second.Lease, 0))
		// A clock that is behind does not go back to a day that is to be deleted.
		third := begin("2026-01-02", "2026-01-03", "2026-01-01")
		w.must(w.SaveRating(ctx, alice, third, domain.Rating{RunID: run, ScoreID: "x", ScoreDay: third.Day}))
		w.must(w.RenewLease(ctx, begin("2026-01-03", "2026-01-03").Lease, 0))
		w.must(w.RenewLease(ctx, begin("2026-01-04", "2026-01-04", "2026-01-03").Lease, 0))

		// A process that dies leaves a lease that expires.
		_, err := w.AcquireRating(ctx, alice, run, "2026-01-05", -time.Second)
		w.must(err)
		begin("2026-01-06", "2026-01-06", "2026-01-03", "2026-01-04", "2026-01-05")
	})
}
