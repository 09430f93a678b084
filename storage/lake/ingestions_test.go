package lake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/storage"
)

// How long an ingestion took before something was away does not count.
func TestPatience(t *testing.T) {
	t.Parallel()
	away := fmt.Errorf("keep a file: %w", storage.ErrUnavailable)
	type try struct {
		takes time.Duration
		err   error
	}
	for name, test := range map[string]struct {
		tries []try // the last is for all that follow
		want  error
		asked int
		took  time.Duration
	}{
		"at once":                {[]try{{time.Minute, nil}}, nil, 1, time.Minute},
		"a fault":                {[]try{{0, errors.ErrUnsupported}}, errors.ErrUnsupported, 1, 0},
		"a fault afterwards":     {[]try{{0, away}, {0, errors.ErrUnsupported}}, errors.ErrUnsupported, 2, time.Second},
		"said to the user":       {[]try{{0, storage.Errorf(storage.ErrUnavailable, "no")}}, storage.ErrUnavailable, 1, 0},
		"late, and for long":     {[]try{{12 * time.Minute, away}, {12 * time.Minute, nil}}, nil, 2, 24*time.Minute + time.Second},
		"late, then twice":       {[]try{{12 * time.Minute, away}, {0, away}, {time.Minute, nil}}, nil, 3, 13*time.Minute + 2*time.Second},
		"away anew":              {[]try{{0, away}, {12 * time.Minute, away}, {0, away}, {0, nil}}, nil, 4, 12*time.Minute + 3*time.Second},
		"away for good":          {[]try{{0, away}}, storage.ErrUnavailable, 602, 601 * time.Second},
		"late, away for good":    {[]try{{12 * time.Minute, away}, {0, away}}, storage.ErrUnavailable, 602, 12*time.Minute + 601*time.Second},
		"each time in the end":   {[]try{{12 * time.Minute, away}}, storage.ErrUnavailable, 6, 72*time.Minute + 5*time.Second},
		"often, in the meantime": {[]try{{4 * time.Minute, away}}, storage.ErrUnavailable, 4, 16*time.Minute + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, time.Now()
				err := patiently(t.Context(), slog.New(slog.DiscardHandler), func() error {
					asked++
					now := test.tries[min(asked, len(test.tries))-1]
					time.Sleep(now.takes)
					return now.err
				})
				if !errors.Is(err, test.want) || asked != test.asked || time.Since(began) != test.took {
					t.Errorf("%v at try %d after %v, want %v at try %d after %v", err, asked, time.Since(began), test.want, test.asked, test.took)
				}
			})
		})
	}
}

func TestPatienceEndsWithTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		began := time.Now()
		err := patiently(ctx, slog.New(slog.DiscardHandler), func() error { return storage.ErrUnavailable })
		if !errors.Is(err, storage.ErrUnavailable) || time.Since(began) != 90*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// slowClaims are ingestions of one user, in records that answer when told to.
type slowClaims struct {
	Records
	asked    chan []string
	answer   chan struct{}
	released atomic.Int32
}

func (r *slowClaims) ClaimIngestion(_ context.Context, _ string, _ time.Duration, except ...string) (storage.IngestionJob, error) {
	r.asked <- except
	<-r.answer
	if len(except) > 0 {
		return storage.IngestionJob{}, storage.ErrNotFound
	}
	return storage.IngestionJob{Caller: storage.Caller{Username: "ann"}}, nil
}

func (r *slowClaims) ReleaseIngestion(context.Context, storage.IngestionJob) error {
	r.released.Add(1)
	return nil
}

// While records are slow to answer a claim, others can be made and ended; a user
// still has no more than may be.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		records := &slowClaims{asked: make(chan []string, 10), answer: make(chan struct{})}
		d := &Datasets{DatasetsConfig: DatasetsConfig{Records: records, Ingestions: 3}, claims: claims{users: map[string]int{"bob": 1}}}
		var claimed, none atomic.Int32
		for range 3 {
			go func() {
				switch _, _, err := d.claim(t.Context(), "me"); {
				case err == nil:
					claimed.Add(1)
				case errors.Is(err, storage.ErrNotFound):
					none.Add(1)
				}
			}()
		}
		synctest.Wait()
		if len(records.asked) != 3 {
			t.Errorf("%d claims are made at once", len(records.asked))
		}
		d.claims.done("bob") // ends, though nothing is answered
		close(records.answer)
		synctest.Wait()
		if claimed.Load() != 2 || none.Load() != 1 || records.released.Load() != 1 || d.claims.users["ann"] != 2 {
			t.Errorf("%d claimed, %d released, %v", claimed.Load(), records.released.Load(), d.claims.users)
		}
	})
}
