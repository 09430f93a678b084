package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// ratingLease names the lease of a turn. Its holder is the days, separated by
// blanks, under which the tracing store may hold a rating that no record tells
// of: it outlives a turn that does not end.
func ratingLease(runID string) string { return "rating/" + runID }

type ratingRow struct {
	RunID    string `db:"run_id"`
	ThumbsUp bool   `db:"thumbs_up"`
	Comment  string `db:"comment"`
	ScoreID  string `db:"score_id"`
	ScoreDay string `db:"score_day"`
}

// BeginRating implements storage.Ratings.
func (s *Store) BeginRating(ctx context.Context, caller storage.Caller, runID, today string, lasts time.Duration) (turn storage.RatingTurn, err error) {
	err = s.inTx(ctx, "begin rating", func(tx *sqlx.Tx) error {
		run, err := readRun(ctx, tx, caller, runID)
		if err != nil {
			return err
		}
		if run.Status != storage.RunCompleted {
			return storage.Errorf(storage.ErrRunNotCompleted, "only a completed run can be rated; this one is %s", run.Status)
		}
		turn, err = s.takeRatingTurn(ctx, tx, caller, runID, today, lasts)
		return err
	})
	return turn, err
}

// takeRatingTurn takes the lease, and writes down in it the days under which the
// tracing store may then hold a rating, before it is told anything. The lease
// comes first: from then on nobody else changes what is read. Its fence goes by
// the time, so that it grows though the lease goes when a turn has ended.
func (s *Store) takeRatingTurn(ctx context.Context, tx *sqlx.Tx, caller storage.Caller, runID, today string, lasts time.Duration) (storage.RatingTurn, error) {
	turn := storage.RatingTurn{RunID: runID}
	var leases []struct {
		Fence  int64  `db:"fence"`
		Holder string `db:"holder"`
	}
	now := s.now()
	err := tx.SelectContext(ctx, &leases, `
INSERT INTO leases (name, holder, fence, expires_at)
VALUES ($1, '', $3, $2)
ON CONFLICT (name) DO UPDATE
SET fence = CASE WHEN leases.fence < $3 THEN $3 ELSE leases.fence + 1 END, expires_at = excluded.expires_at
WHERE leases.expires_at <= $3
RETURNING fence, holder`, ratingLease(runID), now.Add(lasts).UnixMilli(), now.UnixMilli())
	if err != nil {
		return turn, err
	}
	if len(leases) == 0 {
		return turn, storage.ErrConflict
	}
	turn.Fence = leases[0].Fence
	if today == "" {
		return turn, nil
	}
	rated, err := readRating(ctx, tx, caller, runID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return turn, err
	}
	days := strings.Fields(leases[0].Holder + " " + rated.ScoreDay)
	slices.Sort(days)
	days = slices.Compact(days)
	if len(days) == 0 || today > days[len(days)-1] {
		days = append(days, today)
	}
	last := len(days) - 1
	turn.Day, turn.Former = days[last], days[:last]
	_, err = exec(ctx, tx, `UPDATE leases SET holder = $2 WHERE name = $1`, ratingLease(runID), strings.Join(days, " "))
	return turn, err
}

// EndRating implements storage.Ratings.
func (s *Store) EndRating(ctx context.Context, caller storage.Caller, turn storage.RatingTurn, rating storage.Rating) error {
	return s.inTx(ctx, "end rating", func(tx *sqlx.Tx) error {
		if err := endLease(ctx, tx, ratingLease(turn.RunID), turn.Fence); err != nil {
			return err
		}
		err := execOne(ctx, tx, `
INSERT INTO ratings (run_id, thumbs_up, comment, score_id, score_day, created_at, updated_at)
SELECT r.id, $4, $5, $6, $7, $8, $8`+fromRuns+`
	AND r.id = $3
ON CONFLICT (run_id) DO UPDATE
SET thumbs_up = excluded.thumbs_up, comment = excluded.comment, updated_at = excluded.updated_at,
	score_id = CASE WHEN excluded.score_day = '' THEN ratings.score_id ELSE excluded.score_id END,
	score_day = CASE WHEN excluded.score_day = '' THEN ratings.score_day ELSE excluded.score_day END`,
			caller.Username, caller.Restriction, turn.RunID,
			rating.ThumbsUp, rating.Comment, rating.ScoreID, rating.ScoreDay, s.millis())
		if isForeignKeyViolation(err) {
			return storage.ErrNotFound // the run has gone just now
		}
		return err
	})
}

// LeaveRating implements storage.Ratings.
func (s *Store) LeaveRating(ctx context.Context, turn storage.RatingTurn) error {
	return s.inTx(ctx, "leave rating", func(tx *sqlx.Tx) error {
		err := s.holdLease(ctx, tx, ratingLease(turn.RunID), turn.Fence, 0)
		if errors.Is(err, storage.ErrConflict) {
			return nil // it was over already
		}
		return err
	})
}

// Rating implements storage.Ratings.
func (s *Store) Rating(ctx context.Context, caller storage.Caller, runID string) (storage.Rating, error) {
	row, err := readRating(ctx, s, caller, runID)
	if err != nil {
		return storage.Rating{}, fmt.Errorf("read rating: %w", classify(err))
	}
	return storage.Rating(row), nil
}

func readRating(ctx context.Context, q queryer, caller storage.Caller, runID string) (ratingRow, error) {
	const query = `SELECT t.run_id, t.thumbs_up, t.comment, t.score_id, t.score_day` + fromRatings + ` AND r.id = $3`
	var row ratingRow
	err := q.GetContext(ctx, &row, query, caller.Username, caller.Restriction, runID)
	return row, err
}
