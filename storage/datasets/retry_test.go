package datasets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
)

// How long an ingestion took before something was unavailable does not count.
func TestPatience(t *testing.T) {
	t.Parallel()
	outage := fmt.Errorf("keep a file: %w", domain.ErrUnavailable)
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
		"a fault afterwards":     {[]try{{0, outage}, {0, errors.ErrUnsupported}}, errors.ErrUnsupported, 2, time.Second},
		"said to the user":       {[]try{{0, domain.Errorf(domain.ErrUnavailable, "no")}}, domain.ErrUnavailable, 1, 0},
		"late, and for long":     {[]try{{12 * time.Minute, outage}, {12 * time.Minute, nil}}, nil, 2, 24*time.Minute + time.Second},
		"late, then twice":       {[]try{{12 * time.Minute, outage}, {0, outage}, {time.Minute, nil}}, nil, 3, 13*time.Minute + 2*time.Second},
		"another outage":         {[]try{{0, outage}, {12 * time.Minute, outage}, {0, outage}, {0, nil}}, nil, 4, 12*time.Minute + 3*time.Second},
		"for good":               {[]try{{0, outage}}, domain.ErrUnavailable, 600, 599 * time.Second},
		"late, for good":         {[]try{{12 * time.Minute, outage}, {0, outage}}, domain.ErrUnavailable, 600, 12*time.Minute + 599*time.Second},
		"each time in the end":   {[]try{{12 * time.Minute, outage}}, domain.ErrUnavailable, 6, 72*time.Minute + 5*time.Second},
		"often, in the meantime": {[]try{{4 * time.Minute, outage}}, domain.ErrUnavailable, 4, 16*time.Minute + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				asked, began := 0, time.Now()
				err := retryWhileUnavailable(t.Context(), slog.New(slog.DiscardHandler), func() error {
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
		err := retryWhileUnavailable(ctx, slog.New(slog.DiscardHandler), func() error { return domain.ErrUnavailable })
		if !errors.Is(err, domain.ErrUnavailable) || time.Since(began) != 90*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// What retries calls shares the state of what it was made from.
func TestRetryingSharesState(t *testing.T) {
	t.Parallel()
	d, err := NewDatasets(Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	r := d.retrying(slog.New(slog.DiscardHandler))
	if r.usual != d.usual || r.short != d.short {
		t.Error("wakes nobody")
	}
	if r.claims != d.claims {
		t.Error("claims are counted apart")
	}
	if r.links != d.links || r.holder != d.holder {
		t.Error("measures of links, or the holder of leases, are others")
	}
}
