package sqlstore

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

const (
	pushColumns = `run_id, id, url, receiver, scheme, secrets, modes, version`
	// insertPush makes a config at a position, as another process or the log's writer may
	// do at the same time.
	insertPush = `
INSERT INTO push_configs (run_id, id, token_id, url, receiver, scheme, secrets, modes, version,
	position, holder, due_at, failures, failing_since, ended, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '', 0, 0, 0, FALSE, $11)`
	// replacePush has the host that sends now, if any, notice it: the config is not its
	// any more.
	replacePush = `
ON CONFLICT (run_id, id) DO UPDATE
SET token_id = excluded.token_id, url = excluded.url, receiver = excluded.receiver, scheme = excluded.scheme, secrets = excluded.secrets,
	modes = excluded.modes, version = excluded.version, holder = '', due_at = 0, failures = 0, failing_since = 0, ended = FALSE`
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

func (r pushRow) config() (storage.PushConfig, error) {
	secrets, err := base64.StdEncoding.DecodeString(r.Secrets)
	if len(secrets) == 0 {
		secrets = nil
	}
	return storage.PushConfig{
		RunID: r.RunID, ID: r.ID, URL: r.URL, Receiver: r.Receiver, Scheme: r.Scheme, Secrets: secrets, Modes: r.Modes, Version: r.Version,
	}, err
}

// pushValues are the parameters of insertPush.
func pushValues(config storage.PushConfig, runID string, caller storage.Caller, position, now int64) []any {
	token := sql.NullString{String: caller.Restriction, Valid: caller.Restricted()}
	return []any{
		runID, config.ID, token, config.URL, config.Receiver, config.Scheme, base64.StdEncoding.EncodeToString(config.Secrets),
		config.Modes, config.Version, position, now,
	}
}

// inPushTx is inOwnerTx for a change to the configs of one of the caller's runs.
func (s *Store) inPushTx(ctx context.Context, attempt string, caller storage.Caller, runID string, fn func(tx *sqlx.Tx) error) error {
	return s.inOwnerTx(ctx, attempt, caller.Username, func(tx *sqlx.Tx) error {
		var mayChange bool
		err := selectPushedRun.get(ctx, tx, &mayChange, by(caller, args{"run": runID}))
		switch {
		case err != nil:
			return err
		case !mayChange:
			return storage.ErrReadOnlyToken
		}
		return fn(tx)
	})
}

// SavePushConfig implements storage.PushConfigs.
func (s *Store) SavePushConfig(ctx context.Context, caller storage.Caller, config storage.PushConfig) error {
	return s.inPushTx(ctx, "save push config", caller, config.RunID, func(tx *sqlx.Tx) error {
		var others int
		err := tx.GetContext(ctx, &others, `SELECT COUNT(*) FROM push_configs WHERE run_id = $1 AND id <> $2`, config.RunID, config.ID)
		switch {
		case err != nil:
			return err
		case others >= storage.MaxPushConfigs:
			return storage.Errorf(storage.ErrInvalid, "a task has at most %d push notification configs", storage.MaxPushConfigs)
		}
		_, err = exec(ctx, tx, insertPush+replacePush, pushValues(config, config.RunID, caller, storage.PushFromTask, s.millis())...)
		return err
	})
}

// PushConfigs implements storage.PushConfigs.
func (s *Store) PushConfigs(ctx context.Context, caller storage.Caller, runID string) ([]storage.PushConfig, error) {
	var mayChange bool
	var rows []pushRow
	err := selectPushedRun.get(ctx, s, &mayChange, by(caller, args{"run": runID}))
	if err == nil {
		err = s.SelectContext(ctx, &rows, `SELECT `+pushColumns+` FROM push_configs WHERE run_id = $1 ORDER BY created_at, id`, runID)
	}
	if err != nil {
		return nil, wrap("list push configs", err)
	}
	configs := make([]storage.PushConfig, len(rows))
	for i, row := range rows {
		if configs[i], err = row.config(); err != nil {
			return nil, fmt.Errorf("read push config: %w", err)
		}
	}
	return configs, nil
}

// DeletePushConfig implements storage.PushConfigs.
func (s *Store) DeletePushConfig(ctx context.Context, caller storage.Caller, runID, id string) error {
	return s.inPushTx(ctx, "delete push config", caller, runID, func(tx *sqlx.Tx) error {
		_, err := exec(ctx, tx, `DELETE FROM push_configs WHERE run_id = $1 AND id = $2`, runID, id)
		return err
	})
}
