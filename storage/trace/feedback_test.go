package trace_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/tracetest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
	"parley/storage/trace"
)

var alice = domain.Caller{Username: "alice"}

// completedRun returns a run of alice's that has ended as it should.
func completedRun(t *testing.T, store *sqlstore.Store) string {
	t.Helper()
	ctx := t.Context()
	if err := store.CreateDataset(ctx, alice, "shop", "d"+strings.ReplaceAll(uuid.NewString(), "-", ""), domain.Definition{}); err != nil {
		t.Fatal(err)
	}
	asked, err := sqlstoretest.Ask(ctx, store, alice, domain.Question{
		ConversationID: uuid.NewString(), Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "nl2ql", Text: "How many?",
	})
	if err == nil {
		err = sqlstoretest.Finish(ctx, store, alice, asked.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: []byte(`{}`)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return asked.RunID
}

// rater is a Feedback with a stand-in, on a day that both agree on.
type rater struct {
	*trace.Feedback
	*tracetest.Langfuse
	t     *testing.T
	store *sqlstore.Store
	run   string

	mu  sync.Mutex
	day string
}

func newRater(t *testing.T, store *sqlstore.Store, timeout time.Duration) *rater {
	t.Helper()
	r := &rater{t: t, store: store, Langfuse: tracetest.NewLangfuse(t), run: completedRun(t, store)}
	r.Feedback = r.feedback(store, timeout, r.now)
	r.itIs("2026-01-01")
	return r
}

func (r *rater) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := time.Parse(time.DateOnly, r.day)
	if err != nil {
		r.t.Error(err)
	}
	return now
}

func (r *rater) itIs(day string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.day = day
	r.SetDay(day)
}

func (r *rater) rate(thumbsUp bool, comment string) error {
	return r.Rate(r.t.Context(), alice, domain.Rating{RunID: r.run, ThumbsUp: thumbsUp, Comment: comment})
}

// agree checks that the record and Langfuse hold one rating, the same.
func (r *rater) agree() domain.Rating {
	r.t.Helper()
	rating, err := r.store.Rating(r.t.Context(), alice, r.run)
	if err != nil {
		r.t.Fatal(err)
	}
	scores := r.Scores()
	if len(scores) != 1 || scores[0].ID != rating.ScoreID || scores[0].Comment != rating.Comment || (scores[0].Value == 1) != rating.ThumbsUp {
		r.t.Errorf("the record has %+v, Langfuse %+v", rating, scores)
	}
	return rating
}

func TestRateScoresTheTrace(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		r := newRater(t, store, time.Minute)
		if err := r.rate(true, "just <right>"); err != nil {
			t.Fatal(err)
		}
		traceID := strings.ReplaceAll(r.run, "-", "")
		want := tracetest.Score{
			Day: "2026-01-01", ID: traceID + "-user-feedback-2026-01-01", TraceID: traceID,
			Name: "user-feedback", Value: 1, DataType: "BOOLEAN", Comment: "just <right>",
		}
		if got := r.Scores(); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		r.agree()
	})
}

// TestRateAgain overwrites a rating on the same day and on later ones. From the
// first on, Langfuse always holds one.
func TestRateAgain(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		r := newRater(t, store, time.Minute)
		for i, day := range []string{"2026-01-01", "2026-01-01", "2026-01-02", "2026-03-01", "2026-03-01"} {
			r.itIs(day)
			if err := r.rate(i%2 == 0, fmt.Sprint("opinion ", i)); err != nil {
				t.Fatal(err)
			}
			if rating := r.agree(); rating.ThumbsUp != (i%2 == 0) || rating.ScoreDay != day {
				t.Errorf("on %s: %+v", day, rating)
			}
		}
		for _, call := range r.Calls()[1:] {
			if strings.HasSuffix(call, " 0") {
				t.Errorf("no score any more: %s", call)
			}
		}
	})
}

func TestRateLocally(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		run := completedRun(t, store)
		local := trace.NewFeedback(trace.FeedbackConfig{Records: store, Log: slog.New(slog.DiscardHandler)})
		for _, want := range []domain.Rating{{RunID: run, Comment: "no"}, {RunID: run, ThumbsUp: true}} {
			if err := local.Rate(t.Context(), alice, want); err != nil {
				t.Fatal(err)
			}
			if got, err := store.Rating(t.Context(), alice, run); err != nil || got != want {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		for name, err := range map[string]error{
			"another's run": local.Rate(t.Context(), domain.Caller{Username: "bob"}, domain.Rating{RunID: run}),
			"no run":        local.Rate(t.Context(), alice, domain.Rating{RunID: uuid.NewString()}),
		} {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	})
}

// TestRateFails has Langfuse fail in every way: nothing is recorded, nothing
// secret is said, and the next rating is taken.
func TestRateFails(t *testing.T) {
	t.Parallel()
	secrets := []string{tracetest.SecretKey, base64.StdEncoding.EncodeToString([]byte(tracetest.PublicKey + ":" + tracetest.SecretKey))}
	for _, mode := range append(tracetest.Failures, tracetest.Deaf) {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
				timeout := time.Minute
				if mode == tracetest.Slow || mode == tracetest.Deaf {
					timeout = 50 * time.Millisecond
				}
				r := newRater(t, store, timeout)
				fails := func() {
					t.Helper()
					r.Behave(mode)
					err := r.rate(false, "lost")
					if !errors.Is(err, domain.ErrTracing) {
						t.Fatalf("got %v", err)
					}
					for _, secret := range secrets {
						if strings.Contains(err.Error(), secret) {
							t.Errorf("the error tells a secret: %v", err)
						}
					}
				}
				fails()
				if _, err := store.Rating(t.Context(), alice, r.run); !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("something was recorded: %v", err)
				}
				r.itIs("2026-01-02")
				fails()
				r.itIs("2026-01-03")
				r.Behave(tracetest.Well)
				hurried := r.Feedback
				r.Feedback = r.feedback(store, time.Minute, r.now)
				if err := r.rate(true, "kept"); err != nil {
					t.Fatal(err)
				}
				r.agree()
				r.Feedback = hurried
				fails()
				if got, err := store.Rating(t.Context(), alice, r.run); err != nil || got.Comment != "kept" {
					t.Errorf("the record has %+v, %v", got, err)
				}
			})
		})
	}
}

func (r *rater) feedback(records *sqlstore.Store, timeout time.Duration, now func() time.Time) *trace.Feedback {
	return trace.NewFeedback(trace.FeedbackConfig{
		Records: records, Log: slog.New(slog.DiscardHandler), Now: now,
		Langfuse: trace.NewLangfuse(trace.LangfuseConfig{
			Host: r.URL + "/", PublicKey: tracetest.PublicKey, SecretKey: tracetest.SecretKey, Timeout: timeout}),
	})
}

// TestRateWhenTheOldScoreStays fails while the older score cannot be deleted.
func TestRateWhenTheOldScoreStays(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		r := newRater(t, store, time.Minute)
		if err := r.rate(true, "first"); err != nil {
			t.Fatal(err)
		}
		r.itIs("2026-01-02")
		r.Behave(tracetest.KeepsScores)
		if err := r.rate(false, "second"); !errors.Is(err, domain.ErrTracing) {
			t.Fatalf("got %v", err)
		}
		if got, err := store.Rating(t.Context(), alice, r.run); err != nil || got.Comment != "first" {
			t.Errorf("got %+v, %v", got, err)
		}
		r.Behave(tracetest.Well)
		if err := r.rate(false, "second"); err != nil {
			t.Fatal(err)
		}
		r.agree()
	})
}

// TestRateAtOnce rates a run from several places at the same time, whose clocks
// differ by a day.
func TestRateAtOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		r := newRater(t, store, time.Minute)
		places := []*trace.Feedback{r.Feedback, r.feedback(store, time.Minute, func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) })}
		var wait sync.WaitGroup
		for i := range 12 {
			wait.Go(func() {
				rating := domain.Rating{RunID: r.run, ThumbsUp: i%3 == 0, Comment: fmt.Sprint("opinion ", i)}
				if err := places[i%2].Rate(t.Context(), alice, rating); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		r.agree()
	})
}

// TestRateWithoutItsClient goes on when whoever rates is gone.
func TestRateWithoutItsClient(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		r := newRater(t, store, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		leaving := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			cancel() // it has the lease
			r.ServeHTTP(w, request)
		}))
		defer leaving.Close()
		r.URL = leaving.URL
		feedback := r.feedback(store, time.Minute, r.now)
		if err := feedback.Rate(ctx, alice, domain.Rating{RunID: r.run, Comment: "bye"}); err != nil {
			t.Fatal(err)
		}
		if rating := r.agree(); rating.Comment != "bye" {
			t.Errorf("got %+v", rating)
		}
	})
}
