package sqlstore_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/pgtest"
	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

func TestChores(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx := t.Context()
		chore, err := store.BeginChore(ctx, "sweep", "me", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // not by whoever has it either
			if _, err := store.BeginChore(ctx, "sweep", "me", time.Hour); !errors.Is(err, storage.ErrConflict) {
				t.Errorf("begun twice: %v", err)
			}
		}
		if _, err := store.BeginChore(ctx, "wash", "another", time.Hour); err != nil {
			t.Errorf("another chore: %v", err)
		}
		if err := store.KeepChore(ctx, chore, -time.Hour); err != nil { // as if its time were over
			t.Error(err)
		}
		next, err := store.BeginChore(ctx, "sweep", "another", time.Hour)
		if err != nil || next.Fence == chore.Fence {
			t.Errorf("taken over: %+v, %v", next, err)
		}
		for what, err := range map[string]error{
			"keep": store.KeepChore(ctx, chore, time.Hour), "end": store.EndChore(ctx, chore),
		} {
			if !errors.Is(err, storage.ErrConflict) {
				t.Errorf("%s what another has: %v", what, err)
			}
		}
		if err := store.EndChore(ctx, next); err != nil {
			t.Error(err)
		}
		if _, err := store.BeginChore(ctx, "sweep", "me", time.Hour); err != nil {
			t.Errorf("after the end: %v", err)
		}
	})
}

// TestChoreOfMany has several processes on one database do a chore at once.
func TestChoreOfMany(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var stores []*sqlstore.Store
	for range 3 {
		store, err := sqlstore.Open(t.Context(), sqlstore.Config{DatabaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		stores = append(stores, store)
	}
	var done, at, most atomic.Int32
	each := func(rest time.Duration, f func(context.Context) error) {
		t.Helper()
		var group sync.WaitGroup
		for _, store := range stores {
			for range 4 {
				group.Go(func() {
					if err := storage.DoChore(t.Context(), store, "sweep", "me", time.Hour, rest, f); err != nil {
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

// noted remembers the chore that was begun.
type noted struct {
	*sqlstore.Store
	chore storage.Chore
}

func (n *noted) BeginChore(ctx context.Context, name, holder string, lasts time.Duration) (storage.Chore, error) {
	var err error
	n.chore, err = n.Store.BeginChore(ctx, name, holder, lasts)
	return n.chore, err
}

// A chore that another has taken over stops; one that failed is not put off.
func TestChoreIsLost(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx := t.Context()
		mine := &noted{Store: store}
		err := storage.DoChore(ctx, mine, "sweep", "me", 30*time.Millisecond, time.Hour, func(ctx context.Context) error {
			if err := store.EndChore(ctx, mine.chore); err != nil {
				t.Error(err)
			}
			if _, err := store.BeginChore(ctx, "sweep", "another", time.Hour); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if _, err := store.BeginChore(ctx, "sweep", "me", time.Hour); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("it is no longer another's: %v", err)
		}
		broken := errors.New("broken")
		for range 2 {
			err = storage.DoChore(ctx, store, "wash", "me", time.Hour, time.Hour, func(context.Context) error { return broken })
			if !errors.Is(err, broken) {
				t.Errorf("a chore that fails: %v", err)
			}
		}
	})
}
