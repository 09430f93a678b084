package retention_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/storage/retention"
	"parley/storage/sqlstore"
)

// process is one of those that share a store.
type process struct {
	// cleanups counts those of others, done how often it did the work for all.
	cleanups, done atomic.Int32
	mu             sync.Mutex
	kinds          []retention.Kind
}

// run has so many processes clean up, until each has found out whose turn it is. It
// is the others' when the work has been done.
func run(t *testing.T, store *sqlstore.Store, count int, each bool) []*process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Limit)
	defer cancel()
	worked := make(chan struct{}, 2*count)
	all := make([]*process, count)
	var running sync.WaitGroup
	for i := range all {
		p := &process{}
		all[i] = p
		r := retention.New(retention.Config{
			Store: store, KeepRuns: time.Hour, KeepUploads: time.Hour, EachProcess: each,
			Cleanups: []retention.Cleanup{{Name: "other", Run: func(context.Context) error {
				p.cleanups.Add(1)
				worked <- struct{}{}
				return nil
			}}},
			OnRemoved: func(kind retention.Kind, _ int) {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.kinds = append(p.kinds, kind)
			},
			OnDone: func() {
				p.done.Add(1)
				worked <- struct{}{}
			},
			Log: slog.New(slog.DiscardHandler),
		})
		running.Go(func() { r.Run(ctx) })
	}
	wanted := 2 // a cleanup, and that all is done
	if each {
		wanted = count + 1
	}
	for range wanted {
		select {
		case <-worked:
		case <-ctx.Done():
			t.Fatal("nobody cleaned up")
		}
	}
	cancel()
	running.Wait()
	return all
}

func TestOneProcessCleansUp(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		var cleanups, done int32
		for _, p := range run(t, store, 3, false) {
			cleanups += p.cleanups.Load()
			done += p.done.Load()
			if want := []retention.Kind{retention.Runs, retention.Ingestions, retention.Uploads, retention.Claims}; p.done.Load() > 0 && !slices.Equal(p.kinds, want) {
				t.Errorf("removed %q, want %q", p.kinds, want)
			}
		}
		if cleanups != 1 || done != 1 {
			t.Errorf("%d cleanups, done %d times", cleanups, done)
		}
	})
}

func TestEachProcessCleansUpItsOwn(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		done := int32(0)
		for _, p := range run(t, store, 3, true) {
			done += p.done.Load()
			if p.cleanups.Load() != 1 {
				t.Errorf("%d cleanups in a process", p.cleanups.Load())
			}
		}
		if done != 1 {
			t.Errorf("done %d times", done)
		}
	})
}
