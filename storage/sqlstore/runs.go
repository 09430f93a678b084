package sqlstore

import (
	"context"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

const (
	runColumns = `r.id, r.conversation_id, r.agent, r.question, r.status, r.error_message, t.last_node_id, r.created_at,
	(SELECT x.body FROM results x WHERE x.run_id = r.id) AS result`
	// resultBytes is how large the result of a run r is.
	resultBytes = `COALESCE((SELECT octet_length(x.body) FROM results x WHERE x.run_id = r.id), 0)`
)

type runRow struct {
	storage.Run
	Result    []byte
	CreatedAt int64
}

func (r runRow) run() storage.Run {
	r.Run.Result, r.Run.CreatedAt = r.Result, fromMillis(r.CreatedAt)
	return r.Run
}

var (
	selectRun         = parse(`SELECT ` + runColumns + fromRuns + ` AND r.id = :run`)
	selectResultBytes = parse(`SELECT ` + resultBytes + fromRuns + ` AND r.id = :run`)
	deleteRun         = parse(`DELETE FROM runs AS r WHERE r.id = :run AND ` + ownRun)
)

// Run is for the user who asked; all others get ErrNotFound. A restricted token sees the
// runs in namespaces that it covers entirely, and its own.
func (s *Store) Run(ctx context.Context, caller storage.Caller, id string) (storage.Run, error) {
	row, err := readRun(ctx, s, caller, id)
	return row.run(), wrap("read run", err)
}

// ResultBytes gives the size of a run's result.
func (s *Store) ResultBytes(ctx context.Context, caller storage.Caller, id string) (int, error) {
	var bytes int
	err := selectResultBytes.get(ctx, s, &bytes, by(caller, args{"run": id}))
	return bytes, wrap("measure result", err)
}

func readRun(ctx context.Context, q queryer, caller storage.Caller, id string) (runRow, error) {
	var row runRow
	err := selectRun.get(ctx, q, &row, by(caller, args{"run": id}))
	return row, err
}

// MayDeleteRun gives the error that DeleteRun would, before anything is changed.
// ErrForbidden for a read-only token.
func (s *Store) MayDeleteRun(ctx context.Context, caller storage.Caller, id string) error {
	if _, err := deletableRun(ctx, s, caller, id); err != nil {
		return wrap("find run to delete", err)
	}
	return nil
}

func deletableRun(ctx context.Context, q queryer, caller storage.Caller, id string) (runRow, error) {
	found, err := readRun(ctx, q, caller, id)
	if err != nil {
		return found, err
	}
	return found, mayWrite(ctx, q, caller)
}

// DeleteRun deletes a run, and its conversation if it was the last run there.
func (s *Store) DeleteRun(ctx context.Context, caller storage.Caller, id string) error {
	return s.inTx(ctx, "delete run", func(tx *sqlx.Tx) error {
		found, err := deletableRun(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		// The conversation is held before its run, as everybody does: so nobody
		// waits in a circle, and who deletes the last run sees that it is.
		if err := lockConversation(ctx, tx, caller.Username, found.ConversationID); err != nil {
			return err
		}
		if err := deleteRun.execOne(ctx, tx, by(caller, args{"run": id})); err != nil {
			return err
		}
		return deleteEmptyConversation(ctx, tx, caller.Username, found.ConversationID)
	})
}
