package storage_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"parley/storage"
)

// silentLeases answers a number of renewals, and then none, in spite of their contexts.
type silentLeases struct {
	storage.Leases
	answered  int32
	renewals  atomic.Int32
	expiresAt time.Time
	end       chan struct{}
}

func (l *silentLeases) AcquireLease(_ context.Context, name, _ string, ttl time.Duration) (storage.Lease, error) {
	l.expiresAt = time.Now().Add(ttl)
	time.Sleep(ttl / 10) // the answer takes a while
	return storage.Lease{Name: name}, nil
}

func (l *silentLeases) RenewLease(_ context.Context, _ storage.Lease, ttl time.Duration) error {
	if l.renewals.Add(1) > l.answered {
		<-l.end
		return storage.ErrUnavailable
	}
	l.expiresAt = time.Now().Add(ttl)
	time.Sleep(ttl / 10)
	return nil
}

func (l *silentLeases) ReleaseLease(context.Context, storage.Lease) error { return nil }

// The context of a task ends before its lease does, though a renewal has no answer.
func TestRenewalWithoutAnswer(t *testing.T) {
	t.Parallel()
	for _, answered := range []int32{0, 1, 5} {
		synctest.Test(t, func(t *testing.T) {
			leases := &silentLeases{answered: answered, end: make(chan struct{})}
			err := storage.RunLeased(t.Context(), leases, storage.LeasedTask{Name: "sweep", TTL: time.Minute, Run: func(ctx context.Context) error {
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
			if !errors.Is(err, storage.ErrUnavailable) {
				t.Errorf("a lease that was not renewed: %v", err)
			}
		})
	}
}
