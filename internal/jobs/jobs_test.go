package jobs_test

import (
	"context"
	"errors"
	"fmt"
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
