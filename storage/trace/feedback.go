package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"parley/internal/retry"
	"parley/storage"
)

const (
	// workTime is how long a rating may take once it is begun, turnTime how long
	// it keeps others out when its process dies.
	workTime = 15 * time.Second
	turnTime = 30 * time.Second
	// maxWait is how long one waits for its turn.
	maxWait = 20 * time.Second
	// leaveTime is how long giving up a turn may take.
	leaveTime = 5 * time.Second
)

// FeedbackConfig is what Feedback needs.
type FeedbackConfig struct {
	Records storage.Ratings
	// Langfuse is where scores go; nil to have ratings in the records alone.
	Langfuse *Langfuse
	Log      *slog.Logger
	// Now is the clock; nil for the real one.
	Now func() time.Time
}

// Feedback takes ratings of runs. What it says was taken is in the records and,
// where there is one, in the tracing store, and nothing else is: the ratings of
// one run are taken one after the other, in every process.
type Feedback struct{ FeedbackConfig }

// NewFeedback makes a Feedback.
func NewFeedback(cfg FeedbackConfig) *Feedback {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Feedback{cfg}
}

// Rate rates a completed run of the caller's, in the place of an earlier rating.
// When the tracing store does not take it, that is storage.ErrTracing, and
// nothing is recorded. Once begun, it goes on without whoever asked for it.
func (f *Feedback) Rate(ctx context.Context, caller storage.Caller, rating storage.Rating) error {
	turn, err := f.begin(ctx, caller, rating.RunID)
	if err != nil {
		return err
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	if err = f.score(work, turn, rating); err == nil {
		if turn.Day != "" {
			rating.ScoreID, rating.ScoreDay = scoreID(rating.RunID, turn.Day), turn.Day
		}
		err = f.Records.EndRating(work, caller, turn, rating)
	}
	if err != nil {
		f.leave(ctx, turn)
	}
	return err
}

// begin waits for the turn to rate a run.
func (f *Feedback) begin(ctx context.Context, caller storage.Caller, runID string) (turn storage.RatingTurn, err error) {
	today := ""
	if f.Langfuse != nil {
		today = f.Now().UTC().Format(time.DateOnly)
	}
	policy := retry.Policy{Initial: 10 * time.Millisecond, Max: 250 * time.Millisecond, Timeout: maxWait}
	policy.Retryable = func(err error) bool { return errors.Is(err, storage.ErrConflict) }
	err = retry.Do(ctx, policy, func() (err error) {
		turn, err = f.Records.BeginRating(ctx, caller, runID, today, turnTime)
		return err
	})
	switch {
	case !errors.Is(err, storage.ErrConflict):
		return turn, err
	case ctx.Err() != nil:
		return turn, fmt.Errorf("wait for another rating of the run: %w", ctx.Err())
	}
	return turn, storage.Errorf(storage.ErrUnavailable, "this run is being rated already; try again")
}

// score has the tracing store hold this rating, and then no other: at no time
// does it hold none.
func (f *Feedback) score(ctx context.Context, turn storage.RatingTurn, rating storage.Rating) error {
	if f.Langfuse == nil {
		return nil
	}
	if err := f.Langfuse.put(ctx, rating, turn.Day); err != nil {
		return err
	}
	for _, day := range turn.Former {
		if err := f.Langfuse.remove(ctx, turn.RunID, day); err != nil {
			return err
		}
	}
	return nil
}

// leave lets the next one have the turn at once; it would have it in time
// anyway.
func (f *Feedback) leave(ctx context.Context, turn storage.RatingTurn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	if err := f.Records.LeaveRating(ctx, turn); err != nil {
		f.Log.WarnContext(ctx, "a turn to rate a run was not given up", "run", turn.RunID, "error", err)
	}
}
