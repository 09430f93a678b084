package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// The statements in this file are about configs whoever's they are: they are for hosts.

// duePushes is the configs p with events after their position, or whose run has ended, that
// are due at the time :now, and that no living host holds, nor :holder. Those of an owner, and
// of a receiver, take turns: the first of each come first. duePushesOf is those of runs.
var (
	duePushes   = newLimited(selectDuePushes(``))
	duePushesOf = selectDuePushes(`AND p.run_id IN (:runs)`) + `101`
)

func selectDuePushes(condition string) string {
	return `
SELECT d.run_id, d.id, d.owner, d.receiver, d.holder
FROM (
	SELECT p.run_id, p.id, t.owner, p.receiver, p.holder, p.due_at,
		ROW_NUMBER() OVER (PARTITION BY t.owner ORDER BY p.due_at, p.run_id) +
		ROW_NUMBER() OVER (PARTITION BY p.receiver ORDER BY p.due_at, p.run_id) AS turn
	FROM push_configs p
	JOIN tasks t ON t.run_id = p.run_id
	LEFT JOIN leases l ON l.name = 'host/' || p.holder
	WHERE NOT p.ended
		AND p.due_at <= :now
		AND (t.last_event > p.position OR NOT t.open)
		AND p.holder <> :holder
		AND (p.holder = '' OR l.name IS NULL OR l.expires_at <= :now)
		` + condition + `) AS d
ORDER BY d.turn, d.due_at
LIMIT `
}

const (
	selectClaimedPush = `
SELECT p.run_id, p.id, p.url, p.receiver, p.scheme, p.secrets, p.modes, p.version,
	p.position, p.failures, p.failing_since, p.token_id, r.owner
FROM push_configs p
JOIN runs r ON r.id = p.run_id
WHERE p.run_id = $1
	AND p.id = $2`
	// whereHeld is the config $1, $2 that host $3 holds.
	whereHeld = `
WHERE run_id = $1
	AND id = $2
	AND holder = $3
	AND NOT ended`
)

type claimedPushRow struct {
	pushRow
	Position     int64
	Failures     int
	FailingSince int64
	TokenID      sql.NullString
	Owner        string
}

func (r claimedPushRow) push(now int64) (storage.Push, error) {
	config, err := r.config()
	push := storage.Push{
		PushConfig: config,
		Caller:     storage.Caller{Username: r.Owner, Restriction: r.TokenID.String},
		Position:   r.Position,
		Failures:   r.Failures,
	}
	if r.FailingSince > 0 {
		push.Failing = time.Duration(now-r.FailingSince) * time.Millisecond
	}
	return push, err
}

// OpenPushes implements storage.PushOutbox.
func (s *Store) OpenPushes(ctx context.Context) (open bool, err error) {
	err = s.GetContext(ctx, &open, `SELECT EXISTS (SELECT 1 FROM push_configs WHERE NOT ended)`)
	return open, wrap("look for push configs", err)
}

// DuePushes implements storage.PushOutbox.
func (s *Store) DuePushes(ctx context.Context, holder string, runIDs []string, limit int) (due []storage.DuePush, err error) {
	a := args{"now": s.millis(), "holder": holder}
	if len(runIDs) == 0 {
		err = s.someRows(ctx, limit, duePushes, a, func(rows *sqlx.Rows) error {
			var push storage.DuePush
			err := rows.StructScan(&push)
			due = append(due, push)
			return err
		})
	}
	for list := range lists(runIDs) {
		var some []storage.DuePush
		a["runs"] = list
		if err = selectIn(ctx, s, &some, duePushesOf, a); err != nil {
			break
		}
		due = append(due, some...)
	}
	return due[:min(len(due), limit)], wrap("find what to push", err)
}

// ClaimPushes implements storage.PushOutbox.
func (s *Store) ClaimPushes(ctx context.Context, holder string, due []storage.DuePush) (claimed []storage.Push, err error) {
	err = s.inLeaseTx(ctx, "claim pushes", func(tx *sqlx.Tx) error {
		claimed = nil
		for _, push := range due {
			// Of a config, as its last holder left it.
			err := execOne(ctx, tx, `UPDATE push_configs SET holder = $4`+whereHeld, push.RunID, push.ID, push.Holder, holder)
			if errors.Is(err, storage.ErrNotFound) {
				continue
			}
			var row claimedPushRow
			if err == nil {
				err = tx.GetContext(ctx, &row, selectClaimedPush, push.RunID, push.ID)
			}
			if err != nil {
				return err
			}
			read, err := row.push(s.millis())
			if err != nil {
				return err
			}
			claimed = append(claimed, read)
		}
		return nil
	})
	return claimed, err
}

// AdvancePush implements storage.PushOutbox.
func (s *Store) AdvancePush(ctx context.Context, holder string, push storage.Push, position int64) error {
	return s.inLeaseTx(ctx, "advance push", func(tx *sqlx.Tx) error {
		return orConflict(execOne(ctx, tx, `
UPDATE push_configs
SET position = $4, failures = 0, failing_since = 0`+whereHeld, push.RunID, push.ID, holder, position))
	})
}

// ReleasePush implements storage.PushOutbox.
func (s *Store) ReleasePush(ctx context.Context, holder string, push storage.Push, result storage.PushResult) error {
	return s.inLeaseTx(ctx, "release push", func(tx *sqlx.Tx) error {
		now, due := s.now(), int64(0)
		if result.Pause != 0 {
			due = now.Add(result.Pause).UnixMilli()
		}
		// Failures count from the last event that was received.
		return orConflict(execOne(ctx, tx, `
UPDATE push_configs
SET holder = '', position = $4, due_at = $5, ended = $6,
	failures = CASE WHEN NOT $7 THEN 0 WHEN position = $4 THEN failures + 1 ELSE 1 END,
	failing_since = CASE WHEN NOT $7 THEN 0 WHEN position = $4 AND failing_since > 0 THEN failing_since ELSE $8 END`+whereHeld,
			push.RunID, push.ID, holder, result.Position, due, result.Ended, result.Failed, now.UnixMilli()))
	})
}

// HeldPushes implements storage.PushOutbox.
func (s *Store) HeldPushes(ctx context.Context, holder string) (held []storage.DuePush, err error) {
	err = s.SelectContext(ctx, &held, `
SELECT p.run_id, p.id, r.owner, p.receiver, p.holder
FROM push_configs p
JOIN runs r ON r.id = p.run_id
WHERE p.holder = $1
	AND NOT p.ended`, holder)
	return held, wrap("list the pushes of a host", err)
}

// UnclaimPushes implements storage.PushOutbox.
func (s *Store) UnclaimPushes(ctx context.Context, holder string, held []storage.DuePush) error {
	return s.inLeaseTx(ctx, "unclaim pushes", func(tx *sqlx.Tx) error {
		for _, push := range held {
			if _, err := exec(ctx, tx, `UPDATE push_configs SET holder = ''`+whereHeld, push.RunID, push.ID, holder); err != nil {
				return err
			}
		}
		return nil
	})
}
