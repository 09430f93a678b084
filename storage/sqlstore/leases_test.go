package sqlstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

func TestLeases(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx := t.Context()
		lease, err := store.AcquireLease(ctx, "sweep", "me", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // not by whoever has it either
			if _, err := store.AcquireLease(ctx, "sweep", "me", time.Hour); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("acquired twice: %v", err)
			}
		}
		if _, err := store.AcquireLease(ctx, "wash", "another", time.Hour); err != nil {
			t.Errorf("another lease: %v", err)
		}
		if err := store.RenewLease(ctx, lease, -time.Hour); err != nil { // as if its time were over
			t.Error(err)
		}
		next, err := store.AcquireLease(ctx, "sweep", "another", time.Hour)
		if err != nil || next.Fence == lease.Fence {
			t.Errorf("taken over: %+v, %v", next, err)
		}
		for what, err := range map[string]error{
			"renew": store.RenewLease(ctx, lease, time.Hour), "release": store.ReleaseLease(ctx, lease),
		} {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s what another has: %v", what, err)
			}
		}
		if err := store.ReleaseLease(ctx, next); err != nil {
			t.Error(err)
		}
		if _, err := store.AcquireLease(ctx, "sweep", "me", time.Hour); err != nil {
			t.Errorf("after the release: %v", err)
		}
	})
}

// TestLeasedTaskOfMany has several processes on one database do a task at once.
func TestLeasedTaskOfMany(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var stores []*sqlstore.Store
	for range 3 {
		stores = append(stores, sqlstoretest.Open(t, sqlstore.Config{DatabaseURL: url}))
	}
	var done, at, most atomic.Int32
	each := func(interval time.Duration, f func(context.Context) error) {
		t.Helper()
		var group sync.WaitGroup
		for _, store := range stores {
			for range 4 {
				group.Go(func() {
					if err := jobs.RunTask(t.Context(), store, jobs.Task{Name: "sweep", Holder: "me", TTL: time.Hour, Interval: interval, Run: f}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
	}
	work := func(context.Context) error {
		if n := at.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer at.Add(-1)
		done.Add(1)
		return nil
	}
	each(0, work)
	if done.Load() < 1 || most.Load() != 1 {
		t.Errorf("done %d times, by %d at once", done.Load(), most.Load())
	}
	done.Store(0)
	each(time.Hour, work)
	each(time.Hour, work)
	if done.Load() != 1 {
		t.Errorf("done %d times though it was not due again", done.Load())
	}
}

// noted remembers the lease that was acquired.
type noted struct {
	*sqlstore.Store
	lease domain.Lease
}

func (n *noted) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (domain.Lease, error) {
	var err error
	n.lease, err = n.Store.AcquireLease(ctx, name, holder, ttl)
	return n.lease, err
}

// A task whose lease another has acquired stops; one that failed is not put off.
func TestLeaseIsLost(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx := t.Context()
		mine := &noted{Store: store}
		err := jobs.RunTask(ctx, mine, jobs.Task{Name: "sweep", Holder: "me", TTL: 30 * time.Millisecond, Interval: time.Hour, Run: func(leased context.Context) error {
			// leased ends as soon as the next renewal sees the release.
			if err := store.ReleaseLease(ctx, mine.lease); err != nil {
				t.Error(err)
			}
			if _, err := store.AcquireLease(ctx, "sweep", "another", time.Hour); err != nil {
				t.Error(err)
			}
			<-leased.Done()
			return nil
		}})
		if err != nil {
			t.Error(err)
		}
		if _, err := store.AcquireLease(ctx, "sweep", "me", time.Hour); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("it is no longer another's: %v", err)
		}
		broken := errors.New("broken")
		for range 2 {
			err = jobs.RunTask(ctx, store, jobs.Task{
				Name: "wash", Holder: "me", TTL: time.Hour, Interval: time.Hour, Run: func(context.Context) error { return broken }})
			if !errors.Is(err, broken) {
				t.Errorf("a task that fails: %v", err)
			}
		}
	})
}
