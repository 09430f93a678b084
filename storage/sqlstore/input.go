package sqlstore

import (
	"context"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// isWaiting holds for tasks t that wait for the answer of their asker.
const isWaiting = `t.state IN ('` + storage.StateInputRequired + `', '` + storage.StateAuthRequired + `')`

var (
	listWaitingRuns = parse(`
SELECT r.id` + fromRuns + `
	AND r.conversation_id = :conversation
	AND r.agent = :agent
	AND t.open
	AND ` + isWaiting + `
ORDER BY r.created_at, r.id
LIMIT 2`)
	selectConversationNamespace = parse(`
SELECT n.owner, n.name` + fromNamespaces + `
	AND n.id = (` + lastNamespaceID + `)`)
)

// WaitingRuns implements storage.Tasks.
func (s *Store) WaitingRuns(ctx context.Context, caller storage.Caller, agent, conversationID string) ([]string, error) {
	var ids []string
	err := listWaitingRuns.list(ctx, s, &ids, by(caller, args{"conversation": conversationID, "agent": agent}))
	return ids, wrap("find waiting runs", err)
}

// ConversationNamespace implements storage.Tasks.
func (s *Store) ConversationNamespace(ctx context.Context, caller storage.Caller, conversationID string) (storage.NamespaceRef, error) {
	var ref storage.NamespaceRef
	err := selectConversationNamespace.get(ctx, s, &ref, by(caller, args{"conversation": conversationID}))
	return ref, wrap("find the namespace of a conversation", err)
}

// ResumeRun implements storage.Hosts.
func (s *Store) ResumeRun(ctx context.Context, holder string, answered storage.AnsweredRun) (run storage.ClaimedRun, err error) {
	err = s.inLeaseTx(ctx, "resume run", func(tx *sqlx.Tx) error {
		n, err := exec(ctx, tx, `
UPDATE tasks AS t
SET holder = $2, state = $3, snapshot = $4, updated_at = $5, status_at = NULL
WHERE t.run_id = $1
	AND t.open
	AND t.last_event = $6
	AND `+isWaiting, answered.RunID, holder, answered.State, string(answered.Snapshot), s.millis(), answered.After)
		if err != nil {
			return err
		}
		if n == 0 {
			return storage.ErrConflict
		}
		if answered.NamespaceID != "" {
			if err := execOne(ctx, tx, `UPDATE runs SET namespace_id = $2 WHERE id = $1`, answered.RunID, answered.NamespaceID); err != nil {
				return err
			}
		}
		run, err = readClaimed(ctx, tx, answered.RunID, s.millis())
		return err
	})
	return run, err
}
