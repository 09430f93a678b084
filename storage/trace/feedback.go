package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/internal/retry"
	"parley/storage/sqlstore"
)

const (
	// rateTimeout bounds the work of a rating, leaseTime how long the lease lasts when its
	// process dies.
	rateTimeout = 15 * time.Second
	leaseTime   = 30 * time.Second
	// leaseTimeout bounds the wait for the lease.
	leaseTimeout = 20 * time.Second
)

// FeedbackConfig is the configuration of Feedback.
type FeedbackConfig struct {
	Records *sqlstore.Store
	// Langfuse stores scores; nil for ratings in the records alone.
	Langfuse *Langfuse
	Log      *slog.Logger
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// Feedback stores ratings of runs in the records and, where there is one, in the tracing
// store. A lease makes the ratings of one run sequential in all processes, so that both
// stores agree.
type Feedback struct{ cfg FeedbackConfig }

// NewFeedback makes a Feedback.
func NewFeedback(cfg FeedbackConfig) *Feedback {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Feedback{cfg}
}

// Rate rates a completed run of the caller's, in place of an earlier rating. A failure of
// the tracing store is domain.ErrTracing, and nothing is recorded. Once it has the lease,
// it goes on when ctx ends.
func (f *Feedback) Rate(ctx context.Context, caller domain.Caller, rating domain.Rating) error {
	lease, err := f.acquire(ctx, caller, rating.RunID)
	if err != nil {
		return err
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), rateTimeout)
	defer cancel()
	if err = f.score(work, lease, rating); err == nil {
		if lease.Day != "" {
			rating.ScoreID, rating.ScoreDay = scoreID(rating.RunID, lease.Day), lease.Day
		}
		err = f.cfg.Records.SaveRating(work, caller, lease, rating)
	}
	if err == nil {
		return nil
	}
	// Others can rate the run at once, before the lease expires.
	released := jobs.Release(ctx, func(ctx context.Context) error { return f.cfg.Records.RenewLease(ctx, lease.Lease, 0) })
	if released != nil && !errors.Is(released, domain.ErrConflict) {
		f.cfg.Log.WarnContext(ctx, "rating lease not released", "run", lease.RunID, "error", released)
	}
	return err
}

// acquire waits for the lease to rate a run.
func (f *Feedback) acquire(ctx context.Context, caller domain.Caller, runID string) (lease domain.RatingLease, err error) {
	today := ""
	if f.cfg.Langfuse != nil {
		today = f.cfg.Now().UTC().Format(time.DateOnly)
	}
	policy := retry.Policy{Initial: 10 * time.Millisecond, Max: 250 * time.Millisecond, Timeout: leaseTimeout}
	policy.Retryable = func(err error) bool { return errors.Is(err, domain.ErrConflict) }
	err = retry.Do(ctx, policy, func() (err error) {
		lease, err = f.cfg.Records.AcquireRating(ctx, caller, runID, today, leaseTime)
		return err
	})
	switch {
	case !errors.Is(err, domain.ErrConflict):
		return lease, err
	case ctx.Err() != nil:
		return lease, fmt.Errorf("wait for another rating of the run: %w", ctx.Err())
	}
	return lease, domain.Errorf(domain.ErrUnavailable, "this run is being rated already; try again")
}

// score makes this rating the only one in the tracing store, which always has one
// meanwhile.
func (f *Feedback) score(ctx context.Context, lease domain.RatingLease, rating domain.Rating) error {
	if f.cfg.Langfuse == nil {
		return nil
	}
	err := f.cfg.Langfuse.put(ctx, rating, lease.Day)
	for i := 0; i < len(lease.Former) && err == nil; i++ {
		err = f.cfg.Langfuse.remove(ctx, lease.RunID, lease.Former[i])
	}
	return err
}
