package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/domain"
)

const (
	pushColumns = `run_id, id, url, receiver, scheme, secrets, modes, version`
	// insertPush makes a config at a position, as another process or the log's writer may
	// do at the same time.
	insertPush = `
INSERT INTO push_configs (run_id, id, token_id, url, receiver, scheme, secrets, modes, version,
	position, holder, due_at, failures, failing_since, ended, created_at, owner)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', 0, 0, 0, FALSE, $11, $12)`
	// replacePush has the host that sends now, if any, notice it: the config is not its
	// any more.
	replacePush = `
ON CONFLICT (run_id, id) DO UPDATE
SET token_id = excluded.token_id, url = excluded.url, receiver = excluded.receiver, scheme = excluded.scheme, secrets = excluded.secrets,
	modes = excluded.modes, version = excluded.version, holder = '', due_at = 0, failures = 0, failing_since = 0, ended = FALSE, owner = excluded.owner`
)

// selectPushedRun finds one of the caller's runs, and says whether the caller's token may
// change its configs: as for ending it.
var selectPushedRun = parse(`SELECT ` + mayCancel + fromRuns + ` AND r.id = :run`)

type pushRow struct {
	RunID    string
	ID       string
	URL      string
	Receiver string
	Scheme   string
	Secrets  string
	Modes    string
	Version  string
}

func (r pushRow) config() (domain.PushConfig, error) {
	secrets, err := base64.StdEncoding.DecodeString(r.Secrets)
	if len(secrets) == 0 {
		secrets = nil
	}
	return domain.PushConfig{
		RunID: r.RunID, ID: r.ID, URL: r.URL, Receiver: r.Receiver, Scheme: r.Scheme, Secrets: secrets, Modes: r.Modes, Version: r.Version,
	}, err
}

// pushValues are the parameters of insertPush.
func pushValues(config domain.PushConfig, runID string, caller domain.Caller, position, now int64) []any {
	id := cmp.Or(caller.Restriction, caller.Application)
	token := sql.NullString{String: id, Valid: id != ""}
	return []any{
		runID, config.ID, token, config.URL, config.Receiver, config.Scheme, base64.StdEncoding.EncodeToString(config.Secrets),
		config.Modes, config.Version, position, now, caller.Username,
	}
}

// inPushTx is inOwnerTx for a change to the configs of one of the caller's runs.
func (s *Store) inPushTx(ctx context.Context, attempt string, caller domain.Caller, runID string, fn func(tx *transaction) error) error {
	return s.inOwnerTx(ctx, attempt, caller.Username, func(tx *transaction) error {
		var mayChange bool
		err := selectPushedRun.get(ctx, tx, &mayChange, by(caller, args{"run": runID}))
		switch {
		case err != nil:
			return err
		case !mayChange:
			return domain.ErrReadOnlyToken
		}
		return fn(tx)
	})
}

// SavePushConfig makes a config, from the task on, or replaces the one with its id, which
// continues at its position. A config is deleted with its run, and with the token of a program that
// it was made with. A read-only token changes those of runs that were asked with it, and is
// ErrForbidden for others. ErrInvalid when the run has too many configs, ErrTooMany when the user
// has.
func (s *Store) SavePushConfig(ctx context.Context, caller domain.Caller, config domain.PushConfig) error {
	return s.inPushTx(ctx, "save push config", caller, config.RunID, func(tx *transaction) error {
		return s.savePush(ctx, tx, caller, config, domain.PushFromTask)
	})
}

// savePush saves a config whose notifications begin after a position.
func (s *Store) savePush(ctx context.Context, tx *transaction, caller domain.Caller, config domain.PushConfig, position int64) error {
	var others int
	err := tx.GetContext(ctx, &others, `SELECT COUNT(*) FROM push_configs WHERE run_id = $1 AND id <> $2`, config.RunID, config.ID)
	switch {
	case err != nil:
		return err
	case others >= domain.MaxPushConfigs:
		return domain.Errorf(domain.ErrInvalid, "a task has at most %d push notification configs", domain.MaxPushConfigs)
	}
	if err := s.limitPushes(ctx, tx, caller.Username, config); err != nil {
		return err
	}
	_, err = exec(ctx, tx, insertPush+replacePush, pushValues(config, config.RunID, caller, position, s.millis())...)
	return err
}

// limitPushes refuses a config of a user who has too many others.
func (s *Store) limitPushes(ctx context.Context, tx *transaction, owner string, config domain.PushConfig) error {
	others, err := s.countPushes(ctx, tx, owner, config)
	if err != nil {
		return err
	}
	return checkPushes(others)
}

// countPushes returns how many configs of a user have not ended, except one. Other transactions
// that add configs of the user wait until this one ends.
func (s *Store) countPushes(ctx context.Context, tx *transaction, owner string, except domain.PushConfig) (count int, err error) {
	if s.dialect.lockOwner != "" {
		if _, err := tx.ExecContext(ctx, s.dialect.lockOwner, "push/"+owner); err != nil {
			return 0, err
		}
	}
	err = tx.GetContext(ctx, &count, `
SELECT COUNT(*)
FROM push_configs
WHERE owner = $1
	AND NOT ended
	AND NOT (run_id = $2 AND id = $3)`, owner, except.RunID, except.ID)
	return count, err
}

// checkPushes refuses one more config of a user who has some.
func checkPushes(count int) error {
	if count < domain.MaxUserPushConfigs {
		return nil
	}
	return domain.Errorf(domain.ErrTooMany, "you have %d push notification configs; delete some, or try again when their tasks have ended", count)
}

// PushConfigs lists the push configs of a run, the oldest first.
func (s *Store) PushConfigs(ctx context.Context, caller domain.Caller, runID string) ([]domain.PushConfig, error) {
	var mayChange bool
	var rows []pushRow
	err := selectPushedRun.get(ctx, s, &mayChange, by(caller, args{"run": runID}))
	if err == nil {
		err = s.SelectContext(ctx, &rows, `SELECT `+pushColumns+` FROM push_configs WHERE run_id = $1 ORDER BY created_at, id`, runID)
	}
	if err != nil {
		return nil, wrap("list push configs", err)
	}
	configs := make([]domain.PushConfig, len(rows))
	for i, row := range rows {
		if configs[i], err = row.config(); err != nil {
			return nil, fmt.Errorf("read push config: %w", err)
		}
	}
	return configs, nil
}

// DeletePushConfig deletes a config, if there is one.
func (s *Store) DeletePushConfig(ctx context.Context, caller domain.Caller, runID, id string) error {
	return s.inPushTx(ctx, "delete push config", caller, runID, func(tx *transaction) error {
		_, err := exec(ctx, tx, `DELETE FROM push_configs WHERE run_id = $1 AND id = $2`, runID, id)
		return err
	})
}

// The statements below are for hosts: they find configs of all users.

// duePushes is the configs p with events after their position, or whose run has ended, that
// are due at the time :now, and that no living host holds, nor :holder. They alternate between
// owners and receivers: the first of each come first. duePushesOf is those of runs.
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
	WHERE NOT p.ended
		AND p.due_at <= :now
		AND (t.last_event > p.position OR NOT t.open)
		AND p.holder <> :holder
		AND ` + unleased("'host/' || p.holder") + `
		` + condition + `) AS d
ORDER BY d.turn, d.due_at
LIMIT `
}

const (
	selectClaimedPush = `
SELECT p.run_id, p.id, p.url, p.receiver, p.scheme, p.secrets, p.modes, p.version,
	p.position, p.failures, p.failing_since, r.owner,
	CASE WHEN k.restricted THEN k.id ELSE '' END AS restriction
FROM push_configs p
JOIN runs r ON r.id = p.run_id
LEFT JOIN tokens k ON k.id = p.token_id
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
	Owner        string
	Restriction  string
}

func (r claimedPushRow) push(now int64) (domain.Push, error) {
	config, err := r.config()
	push := domain.Push{
		PushConfig: config,
		Caller:     domain.Caller{Username: r.Owner, Restriction: r.Restriction},
		Position:   r.Position,
		Failures:   r.Failures,
	}
	if r.FailingSince > 0 {
		push.Failing = time.Duration(now-r.FailingSince) * time.Millisecond
	}
	return push, err
}

// OpenPushes reports whether any config may have something to send, now or later.
func (s *Store) OpenPushes(ctx context.Context) (open bool, err error) {
	err = s.GetContext(ctx, &open, `SELECT EXISTS (SELECT 1 FROM push_configs WHERE NOT ended)`)
	return open, wrap("look for push configs", err)
}

// DuePushes lists configs that a host could send, of some runs or, with none, of all; at most
// limit. They alternate between owners and receivers, so that none hides another.
func (s *Store) DuePushes(ctx context.Context, holder string, runIDs []string, limit int) (due []domain.DuePush, err error) {
	a := args{"now": s.millis(), "holder": holder}
	if len(runIDs) == 0 {
		err = s.someRows(ctx, limit, duePushes, a, func(rows *sqlx.Rows) error {
			var push domain.DuePush
			err := rows.StructScan(&push)
			due = append(due, push)
			return err
		})
	}
	for list := range lists(runIDs) {
		var some []domain.DuePush
		a["runs"] = list
		if err = selectIn(ctx, s, &some, duePushesOf, a); err != nil {
			break
		}
		due = append(due, some...)
	}
	return due[:min(len(due), limit)], wrap("find what to push", err)
}

// ClaimPushes makes a host the holder of configs, without those that another host was faster to
// claim.
func (s *Store) ClaimPushes(ctx context.Context, holder string, due []domain.DuePush) ([]domain.Push, error) {
	return claimEach(ctx, s, "claim pushes", func(*transaction) ([]domain.DuePush, error) { return due, nil },
		func(tx *transaction, push domain.DuePush) (domain.Push, error) {
			// Of a config, as its last holder left it. Another host may have failed meanwhile.
			err := execOne(ctx, tx, `UPDATE push_configs SET holder = $4`+whereHeld+` AND due_at <= $5`,
				push.RunID, push.ID, push.Holder, holder, s.millis())
			if err != nil {
				return domain.Push{}, err
			}
			var row claimedPushRow
			if err := tx.GetContext(ctx, &row, selectClaimedPush, push.RunID, push.ID); err != nil {
				return domain.Push{}, err
			}
			return row.push(s.millis())
		})
}

// AdvancePush says that a holder's events up to a position were received. ErrConflict when the
// config is not the holder's any more.
func (s *Store) AdvancePush(ctx context.Context, holder string, push domain.Push, position int64) error {
	return s.inLeaseTx(ctx, "advance push", func(tx *transaction) error {
		return orConflict(execOne(ctx, tx, `
UPDATE push_configs
SET position = $4, failures = 0, failing_since = 0`+whereHeld, push.RunID, push.ID, holder, position))
	})
}

// ReleasePush records the result, and releases it. ErrConflict as for AdvancePush.
func (s *Store) ReleasePush(ctx context.Context, holder string, push domain.Push, result domain.PushResult) error {
	return s.inLeaseTx(ctx, "release push", func(tx *transaction) error {
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
