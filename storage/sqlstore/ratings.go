package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"parley/internal/domain"
)

var (
	selectRating = parse(`SELECT t.run_id, t.thumbs_up, t.comment, t.score_id, t.score_day` + fromRatings + ` AND r.id = :run`)
	upsertRating = parse(`
INSERT INTO ratings (run_id, thumbs_up, comment, score_id, score_day, created_at, updated_at)
SELECT r.id, :thumbs_up, :comment, :score_id, :score_day, :now, :now` + fromRuns + `
	AND r.id = :run
ON CONFLICT (run_id) DO UPDATE
SET thumbs_up = excluded.thumbs_up, comment = excluded.comment, updated_at = excluded.updated_at,
	score_id = CASE WHEN excluded.score_day = '' THEN ratings.score_id ELSE excluded.score_id END,
	score_day = CASE WHEN excluded.score_day = '' THEN ratings.score_day ELSE excluded.score_day END`)
)

// AcquireRating acquires the lease to rate a run. Its day is among the former days of later
// leases, unless a rating is saved, since the tracing store may have a score.
// ErrRunNotCompleted when the run is not completed, ErrConflict while another caller has the
// lease. today is "" without a tracing store. The holder of the lease is the days, separated by
// blanks, under which the tracing store may have a rating that is not recorded: it outlives an
// expired lease. They are written before anything is sent there.
func (s *Store) AcquireRating(ctx context.Context, caller domain.Caller, runID, today string, ttl time.Duration) (lease domain.RatingLease, err error) {
	err = s.inTx(ctx, "acquire rating", func(tx *transaction) error {
		run, err := readRun(ctx, tx, caller, runID)
		if err != nil {
			return err
		}
		if run.Status != domain.RunCompleted {
			return domain.Errorf(domain.ErrRunNotCompleted, "only a completed run can be rated; this one is %s", run.Status)
		}
		var earlier string
		lease = domain.RatingLease{RunID: runID}
		lease.Lease, earlier, err = s.acquireLease(ctx, tx, "rating/"+runID, "", ttl)
		if err != nil || today == "" {
			return err
		}
		// Nobody else changes what is read now.
		rated, err := readRating(ctx, tx, caller, runID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		days := strings.Fields(earlier + " " + rated.ScoreDay)
		slices.Sort(days)
		days = slices.Compact(days)
		if len(days) == 0 || today > days[len(days)-1] {
			days = append(days, today)
		}
		last := len(days) - 1
		lease.Day, lease.Former = days[last], days[:last]
		_, err = exec(ctx, tx, `UPDATE leases SET holder = $2 WHERE name = $1`, lease.Name, strings.Join(days, " "))
		return err
	})
	return lease, err
}

// SaveRating records a rating, in place of an earlier one, and ends the lease. ErrConflict when
// the lease has expired. A rating without a score leaves the record of an earlier score as it
// is.
func (s *Store) SaveRating(ctx context.Context, caller domain.Caller, lease domain.RatingLease, rating domain.Rating) error {
	return s.inTx(ctx, "save rating", func(tx *transaction) error {
		if err := deleteLease(ctx, tx, lease.Lease); err != nil {
			return err
		}
		err := upsertRating.execOne(ctx, tx, by(caller, args{
			"run": lease.RunID, "thumbs_up": rating.ThumbsUp, "comment": rating.Comment,
			"score_id": rating.ScoreID, "score_day": rating.ScoreDay, "now": s.millis()}))
		if isForeignKeyViolation(err) {
			return domain.ErrNotFound // the run has gone just now
		}
		return err
	})
}

// Rating returns the rating of a run; ErrNotFound when it has none.
func (s *Store) Rating(ctx context.Context, caller domain.Caller, runID string) (domain.Rating, error) {
	rating, err := readRating(ctx, s, caller, runID)
	return rating, wrap("read rating", err)
}

func readRating(ctx context.Context, q queryer, caller domain.Caller, runID string) (rating domain.Rating, err error) {
	err = selectRating.get(ctx, q, &rating, by(caller, args{"run": runID}))
	return rating, err
}
