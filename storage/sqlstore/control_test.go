package sqlstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

// TestStuckReadersHoldUpNoLease takes all connections that reads go through: the
// store still answers that it is there, and leases are still kept.
func TestStuckReadersHoldUpNoLease(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		lease, err := store.AcquireLease(t.Context(), "compact", "holder", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		store.HoldReaders(t)
		stuck, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := store.Load(stuck); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a read got through: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
		defer cancel()
		for name, do := range map[string]func() error{
			"ping":          func() error { return store.Ping(ctx) },
			"acquire lease": func() error { _, err := store.AcquireLease(ctx, "host/a", "a", time.Minute); return err },
			"release runs":  func() error { _, err := store.ReleaseUnused(ctx, jobs.Runs, "host", nil); return err },
			"claim runs":    func() error { _, err := store.ClaimRuns(ctx, "host", []string{"nl2ql"}, time.Hour, 1); return err },
			"renew lease":   func() error { return store.RenewLease(ctx, lease, time.Minute) },
		} {
			if err := do(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
