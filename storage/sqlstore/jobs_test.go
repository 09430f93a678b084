package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

// held is a job as its holder has it.
type held struct {
	// renew extends the lease. write stores a result; the job stays the holder's. release lets
	// others claim the job.
	renew   func(ctx context.Context) error
	write   func() error
	release func() error
	// postpone releases it for an hour; nil for a kind without a due time.
	postpone func() error
}

// jobKind adapts a kind of job to TestJobs. claim is ErrNotFound or ErrConflict if there is
// none that is free.
type jobKind struct {
	add   func(w world) (id string)
	claim func(w world, id, holder string) (held, error)
	// ofHost says that the lease is that of the host: it lasts when another host has the job.
	ofHost bool
	// due makes a job due that was postponed.
	due string
}

var errNone = domain.ErrNotFound

// hostOf acquires the lease of a host.
func hostOf(w world, holder string) (domain.Lease, error) {
	return w.AcquireLease(w.t.Context(), jobs.HostLease(holder), holder, time.Hour)
}

func jobKinds() map[string]jobKind {
	return map[string]jobKind{
		"run": {
			ofHost: true,
			add:    func(w world) string { return w.ask(user("alice"), "ns", uuid.NewString(), "?").RunID },
			claim: func(w world, id, holder string) (held, error) {
				host, err := hostOf(w, holder)
				w.must(err)
				claimed, err := w.ClaimRuns(w.t.Context(), holder, []string{"nl2ql", "assistant"}, time.Hour, 10)
				if err != nil || len(claimed) == 0 {
					return held{}, errors.Join(err, errNone)
				}
				number := claimed[0].Task.LastEvent
				return held{
					renew: func(ctx context.Context) error { return w.RenewLease(ctx, host, time.Hour) },
					write: func() error {
						change := step(id, number, 1)
						change.Holder = holder
						err := sqlstoretest.Append(w, change)
						if err == nil {
							number++
						}
						return err
					},
					release: func() error {
						_, err := w.ReleaseUnused(w.t.Context(), jobs.Runs, holder, func(string) bool { return false })
						return err
					},
				}, nil
			},
		},
		"push": {
			ofHost: true,
			add: func(w world) string {
				run := w.ask(user("alice"), "ns", uuid.NewString(), "?").RunID
				w.must(w.SavePushConfig(w.t.Context(), user("alice"), pushTo(run, "a")))
				return run
			},
			claim: func(w world, _, holder string) (held, error) {
				host, err := hostOf(w, holder)
				w.must(err)
				claimed, err := w.ClaimPushes(w.t.Context(), holder, w.due(holder))
				if err != nil || len(claimed) == 0 {
					return held{}, errors.Join(err, errNone)
				}
				release := func(pause time.Duration) error {
					return w.ReleasePush(w.t.Context(), holder, claimed[0], domain.PushResult{Position: domain.PushFromTask, Pause: pause})
				}
				return held{
					renew:    func(ctx context.Context) error { return w.RenewLease(ctx, host, time.Hour) },
					write:    func() error { return w.AdvancePush(w.t.Context(), holder, claimed[0], domain.PushFromTask) },
					release:  func() error { return release(0) },
					postpone: func() error { return release(time.Hour) },
				}, nil
			},
			due: `UPDATE push_configs SET due_at = 0`,
		},
		"ingestion": {
			add: func(w world) string { return w.ingest(1) },
			claim: func(w world, _, holder string) (held, error) {
				job, err := w.ClaimIngestion(w.t.Context(), holder, time.Hour, false, nil)
				renew := func(ctx context.Context) error { return w.RenewIngestion(ctx, job, time.Hour, 1, 1) }
				return held{
					renew: renew, write: func() error { return renew(w.t.Context()) },
					release: func() error { return w.ReleaseIngestion(w.t.Context(), job) },
				}, err
			},
		},
		"rating": {
			add: func(w world) string { return w.completed(user("alice")) },
			claim: func(w world, id, _ string) (held, error) {
				lease, err := w.AcquireRating(w.t.Context(), user("alice"), id, "2026-01-01", time.Hour)
				return ofLease(w, lease.Lease, func() error { return w.RenewLease(w.t.Context(), lease.Lease, 0) }), err
			},
		},
		"task": {
			add: func(world) string { return "chore/" + uuid.NewString() },
			claim: func(w world, id, holder string) (held, error) {
				lease, err := w.AcquireLease(w.t.Context(), id, holder, time.Hour)
				job := ofLease(w, lease, func() error { return w.ReleaseLease(w.t.Context(), lease) })
				job.postpone = func() error { return w.RenewLease(w.t.Context(), lease, time.Hour) }
				return job, err
			},
			due: `UPDATE leases SET expires_at = 0`,
		},
	}
}

// ofLease is a job that has a lease of its own.
func ofLease(w world, lease domain.Lease, release func() error) held {
	renew := func(ctx context.Context) error { return w.RenewLease(ctx, lease, time.Hour) }
	return held{renew: renew, write: func() error { return renew(w.t.Context()) }, release: release}
}

// TestJobs has two processes on a store claim jobs of each kind. On PostgreSQL, the clock of the
// machine of the second one is wrong.
func TestJobs(t *testing.T) {
	t.Parallel()
	for name, kind := range jobKinds() {
		t.Run(name+"/sqlite", func(t *testing.T) {
			t.Parallel()
			store := sqlstoretest.SQLite(t)
			kind.test(t, store, store)
		})
		t.Run(name+"/postgres", func(t *testing.T) {
			t.Parallel()
			cfg := sqlstore.Config{DatabaseURL: pgtest.URL(t)}
			first := open(t, cfg)
			if err := first.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			cfg.Now = func() time.Time { return time.Now().Add(2 * time.Hour) }
			kind.test(t, first, open(t, cfg))
		})
	}
}

func (k jobKind) test(t *testing.T, first, second *sqlstore.Store) {
	worlds := []world{newWorld(t, first), {second, t}}
	id, holders := k.add(worlds[0]), 0
	// claim has the two processes claim the job by turns.
	claim := func() (held, error) {
		holders++
		return k.claim(worlds[holders%2], id, fmt.Sprint("holder-", holders))
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	mustBeHeld := func(what string) {
		t.Helper()
		for range 2 {
			if _, err := claim(); !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrConflict) {
				t.Fatalf("%s, another holder claims: %v", what, err)
			}
		}
	}

	// One of many claims it.
	var racers [writers]held
	var claims atomic.Int32
	var winner atomic.Int32
	together(func(i int) {
		job, err := k.claim(worlds[i%2], id, fmt.Sprint("racer-", i))
		switch {
		case err == nil:
			racers[i] = job
			claims.Add(1)
			winner.Store(int32(i))
		case !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrConflict):
			t.Error(err)
		}
	})
	if claims.Load() != 1 {
		t.Fatalf("%d of many claimed it", claims.Load())
	}
	dead := racers[winner.Load()]
	must("write", dead.write())
	mustBeHeld("while it is held")
	must("renew", dead.renew(t.Context()))
	mustBeHeld("after a renewal")

	// The holder dies: its lease expires. Another one has the job, and late writes are refused.
	must("expire", worlds[0].Exec(t.Context(), `UPDATE leases SET expires_at = 0`))
	next, err := claim()
	must("claim after the lease has expired", err)
	if err := dead.write(); !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("a late write: %v", err)
	}
	_ = dead.release()
	if err := dead.renew(t.Context()); !k.ofHost && !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("a late renewal: %v", err)
	}
	mustBeHeld("after a late release")
	must("write of the next holder", next.write())

	// A released job is free at once. The fence of its last holder is old.
	must("release", next.release())
	last, err := claim()
	must("claim a released job", err)
	if err := next.write(); !errors.Is(err, domain.ErrConflict) {
		t.Fatalf("a write after the release: %v", err)
	}

	if last.postpone != nil {
		must("postpone", last.postpone())
		mustBeHeld("before it is due")
		must("let time pass", worlds[0].Exec(t.Context(), k.due))
		last, err = claim()
		must("claim a due job", err)
	}
	k.testRenewal(t, worlds[0], last, claim)
}

// testRenewal renews a lease on a database that fails: the job continues. It ends if another
// holder has the lease.
func (k jobKind) testRenewal(t *testing.T, w world, job held, claim func() (held, error)) {
	const ttl = 100 * time.Millisecond
	tries, renewed := 0, make(chan struct{}, 1)
	renewal := jobs.Renewal{TTL: ttl, Fenced: true, Renew: func(ctx context.Context) error {
		switch tries++; tries {
		case 1:
			return fmt.Errorf("renew: %w", domain.ErrUnavailable)
		case 2:
			<-ctx.Done() // no response: the time limit ends it
			return ctx.Err()
		}
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > ttl/2 {
			t.Errorf("a renewal has until %v", deadline)
		}
		err := job.renew(ctx)
		if err == nil {
			select {
			case renewed <- struct{}{}:
			default:
			}
		}
		return err
	}}
	err := renewal.Hold(t.Context(), func(ctx context.Context) error {
		<-renewed
		if ctx.Err() != nil || k.ofHost {
			return context.Cause(ctx)
		}
		for { // a renewal may come between
			w.must(w.Exec(t.Context(), `UPDATE leases SET expires_at = 0`))
			if _, err := claim(); err == nil {
				break
			}
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if k.ofHost && err != nil || !k.ofHost && !errors.Is(err, domain.ErrConflict) {
		t.Errorf("held: %v", err)
	}
}
