package sqlstore

import (
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/pgtest"
)

// TestServerClock puts a store's clock off, as it is after the machine has slept
// or the server's clock was set: it is put right with the next sign of life.
func TestServerClock(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), Config{DatabaseURL: pgtest.URL(t), Now: func() time.Time { return time.Unix(0, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	lease, err := store.AcquireLease(t.Context(), "host/test", "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, off := range []time.Duration{0, time.Hour, -time.Hour} {
		store.clock.seen.Store(&clockReading{shown: time.Now().Add(off), at: time.Now()})
		if err := store.RenewLease(t.Context(), lease, time.Minute); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(store.now()).Abs(); got > time.Minute { // one machine, one clock
			t.Errorf("off by %v: still off by %v", off, got)
		}
	}
}
