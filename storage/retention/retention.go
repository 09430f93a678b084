// Package retention removes what is no longer needed: runs, events, ingestions and
// uploads that are older than they are to be kept, and what others register for
// cleanup. The store says what is old; of all processes on a store one does the work
// at a time.
package retention

import (
	"context"
	"log/slog"
	"time"

	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

const (
	// interval is how often there is a cleanup.
	interval = time.Minute
	// minInterval is a little less, so that the process that did it finds it due.
	minInterval = interval * 9 / 10
	// leaseTTL is how long others wait for a process that has died.
	leaseTTL = time.Minute
	// leaseName is that of the leased task. Processes of other versions know it too.
	leaseName = "chore/janitor"
	// reclaimAfter is how much must be removed at once for the database to reclaim
	// the space now, not when it does so by itself.
	reclaimAfter = 1000
)

// Kind is a kind of record that is kept for a time.
type Kind string

// The kinds of records.
const (
	Events     Kind = "events"
	Runs       Kind = "runs"
	Ingestions Kind = "ingestions"
	Uploads    Kind = "uploads"
	Claims     Kind = "claims"
)

// keepClaims is how long what a token said about its user holds without a newer one: a user who
// never signs in again keeps no group for ever.
const keepClaims = 30 * 24 * time.Hour

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Events, Runs, Ingestions, Uploads, Claims} }

// Cleanup is something else that removes what is no longer needed.
type Cleanup struct {
	Name string
	Run  func(context.Context) error
}

// Config says what is removed.
type Config struct {
	Store *sqlstore.Store
	// KeepEvents, KeepRuns and KeepUploads are how long records are kept; 0 is
	// forever. Ingestions are kept as long as runs.
	KeepEvents, KeepRuns, KeepUploads time.Duration
	// Cleanups run too. EachProcess says that every process runs them, because they
	// are about what it has alone.
	Cleanups    []Cleanup
	EachProcess bool
	// OnRemoved is told how many records were removed, OnDone that this process has
	// done the work for all.
	OnRemoved func(kind Kind, count int)
	OnDone    func()
	Log       *slog.Logger
}

// Retention removes what is no longer needed.
type Retention struct {
	cfg    Config
	holder string
}

// New makes a Retention. Run starts it.
func New(cfg Config) *Retention {
	return &Retention{cfg: cfg, holder: domain.NewID()}
}

// Run cleans up once a minute, until ctx ends.
func (r *Retention) Run(ctx context.Context) {
	jobs.NewLoop(interval).Run(ctx, func(bool) {
		if r.cfg.EachProcess {
			r.runCleanups(ctx)
		}
		r.warn(ctx, "lease", jobs.RunTask(ctx, r.cfg.Store, jobs.Task{
			Name: leaseName, Holder: r.holder, TTL: leaseTTL, Interval: minInterval,
			Run: func(ctx context.Context) error {
				if !r.cfg.EachProcess {
					r.runCleanups(ctx)
				}
				r.removeOld(ctx)
				r.cfg.OnDone()
				return nil
			},
		}))
	})
}

func (r *Retention) runCleanups(ctx context.Context) {
	for _, cleanup := range r.cfg.Cleanups {
		r.warn(ctx, cleanup.Name, cleanup.Run(ctx))
	}
}

// rule says how long a kind of record is kept, and what removes it.
type rule struct {
	kind   Kind
	keep   time.Duration
	remove func(ctx context.Context, age time.Duration) (int, error)
}

func (r *Retention) removeOld(ctx context.Context) {
	total := 0
	for _, rule := range []rule{
		{Events, r.cfg.KeepEvents, r.cfg.Store.TrimEvents},
		{Runs, r.cfg.KeepRuns, r.cfg.Store.DeleteOldRuns},
		{Ingestions, r.cfg.KeepRuns, r.cfg.Store.DeleteOldIngestions},
		{Uploads, r.cfg.KeepUploads, r.cfg.Store.DeleteOldUploads},
		{Claims, keepClaims, r.cfg.Store.DeleteOldClaims},
	} {
		if rule.keep > 0 {
			count, err := r.apply(ctx, rule)
			r.warn(ctx, string(rule.kind), err)
			total += count
		}
	}
	if total >= reclaimAfter {
		r.warn(ctx, "reclaim", r.cfg.Store.Reclaim(ctx))
	}
}

// apply removes what is too old, a batch at a time, and waits after each for as long
// as it took: others have the database half of the time at least. It returns how much
// that was.
func (r *Retention) apply(ctx context.Context, rule rule) (total int, err error) {
	for {
		start := time.Now()
		count, err := rule.remove(ctx, rule.keep)
		if err != nil {
			return total, err
		}
		total += count
		r.cfg.OnRemoved(rule.kind, count)
		if count < sqlstore.RetentionBatch {
			return total, nil
		}
		select {
		case <-ctx.Done():
			return total, nil
		case <-time.After(time.Since(start)):
		}
	}
}

func (r *Retention) warn(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		r.cfg.Log.Warn("cleanup failed", "what", what, "error", err)
	}
}
