package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
	"parley/internal/jobs"
)

// silentLeases answers a number of renewals, and then none, in spite of their contexts.
type silentLeases struct {
	jobs.Leases
	answered  int32
	renewals  atomic.Int32
	expiresAt time.Time
	end       chan struct{}
}

func (l *silentLeases) AcquireLease(_ context.Context, name, _ string, ttl time.Duration) (domain.Lease, error) {
	l.expiresAt = time.Now().Add(ttl)
	time.Sleep(ttl / 10) // the answer takes a while
	return domain.Lease{Name: name}, nil
}

func (l *silentLeases) RenewLease(_ context.Context, _ domain.Lease, ttl time.Duration) error {
	if l.renewals.Add(1) > l.answered {
		<-l.end
		return domain.ErrUnavailable
	}
	l.expiresAt = time.Now().Add(ttl)
	time.Sleep(ttl / 10)
	return nil
}

func (l *silentLeases) ReleaseLease(context.Context, domain.Lease) error { return nil }

// The context of a task ends before its lease does, though a renewal has no answer.
func TestRenewalWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, answered := range []int32{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			leases := &silentLeases{answered: answered, end: make(chan struct{})}
			err := jobs.RunTask(t.Context(), leases, jobs.Task{Name: "sweep", TTL: time.Minute, Run: func(ctx context.Context) error {
				defer close(leases.end)
				select {
				case <-ctx.Done():
				case <-time.After(time.Hour):
				}
				if left := time.Until(leases.expiresAt); left <= 0 || leases.renewals.Load() <= answered {
					t.Errorf("the context ended with %v of the lease left, after %d renewals", left, leases.renewals.Load())
				}
				return context.Cause(ctx)
			}})
			if !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("a lease that was not renewed: %v", err)
			}
		})
	}
}

// takenLeases are leases that another process acquires while the task is done.
type takenLeases struct{ jobs.Leases }

func (takenLeases) AcquireLease(context.Context, string, string, time.Duration) (domain.Lease, error) {
	return domain.Lease{}, nil
}
func (takenLeases) RenewLease(context.Context, domain.Lease, time.Duration) error {
	return domain.ErrConflict
}
func (takenLeases) ReleaseLease(context.Context, domain.Lease) error { return domain.ErrConflict }

// The error of a task is returned although its lease is lost, unless it comes from that.
func TestErrorWithLostLease(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk full")
	for name, test := range map[string]struct {
		run  func(ctx context.Context) error
		want error
	}{
		"fails":            {func(context.Context) error { return failure }, failure},
		"finds it is lost": {func(context.Context) error { return fmt.Errorf("write: %w", domain.ErrConflict) }, nil},
		"is ended": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, nil},
		"succeeds": {func(context.Context) error { return nil }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			if err := jobs.RunTask(t.Context(), takenLeases{}, jobs.Task{TTL: time.Minute, Run: test.run}); !errors.Is(err, test.want) || err != nil && test.want == nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// A loop searches at once, after each interval and when woken, until its context ends.
func TestLoop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		loop, start := jobs.NewLoop(time.Minute), time.Now()
		var searches []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			loop.Run(ctx, func(woken bool) { searches = append(searches, fmt.Sprint(time.Since(start), woken)) })
		}()
		time.Sleep(90 * time.Second)
		loop.Wake()
		time.Sleep(45 * time.Second)
		cancel()
		<-ended
		for range 3 {
			loop.Wake() // does not block
		}
		loop.Run(ctx, func(bool) { t.Error("searched after the end") })
		if want := []string{"0s false", "1m0s false", "1m30s true", "2m0s false"}; !slices.Equal(searches, want) {
			t.Errorf("searches: %q", searches)
		}
	})
}

// A job with a fence continues while renewals fail; each has a limited time. It ends when
// another holder has its lease.
func TestFencedJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, renewals := time.Now(), 0
		renewal := jobs.Renewal{TTL: time.Minute, Interval: time.Second, Fenced: true, Renew: func(ctx context.Context) error {
			if renewals++; renewals <= 100 {
				<-ctx.Done()
				return ctx.Err()
			}
			return fmt.Errorf("renew: %w", domain.ErrConflict)
		}}
		err := renewal.Hold(t.Context(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		if want := 100*(time.Minute/4) + time.Second; !errors.Is(err, domain.ErrConflict) || time.Since(start) != want {
			t.Errorf("%v after %v, want %v", err, time.Since(start), want)
		}
	})
}

// The error of a job counts, unless its lease ended it; so does the end of its caller.
func TestErrorOfHeldJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		renewal := jobs.Renewal{TTL: time.Minute, Renew: func(context.Context) error { return domain.ErrUnavailable }}
		failure := errors.New("disk full")
		if err := renewal.Hold(t.Context(), func(context.Context) error { return failure }); !errors.Is(err, failure) {
			t.Errorf("failed: %v", err)
		}
		if err := renewal.Hold(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
			t.Errorf("done although the lease expired: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := renewal.Hold(ctx, func(ctx context.Context) error { <-ctx.Done(); return failure })
		if !errors.Is(err, failure) {
			t.Errorf("stopped: %v", err)
		}
		released := jobs.Release(ctx, func(ctx context.Context) error {
			if ctx.Err() != nil {
				t.Error("the release has no time")
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(released, context.DeadlineExceeded) {
			t.Errorf("a release without a response: %v", released)
		}
	})
}
