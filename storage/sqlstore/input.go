package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

const (
	// waitingStates are those of tasks that wait for the answer of their asker. No host
	// holds them.
	waitingStates = `('` + storage.StateInputRequired + `', '` + storage.StateAuthRequired + `')`
	// isWaiting holds for such tasks t.
	isWaiting = `t.state IN ` + waitingStates
)

var (
	listWaitingRuns = parse(`
SELECT r.id, COALESCE(r.answer, '') = :message AS answered` + fromRuns + `
	AND r.conversation_id = :conversation
	AND r.agent = :agent
	AND (t.open AND ` + isWaiting + ` OR r.answer = :message)
ORDER BY answered DESC, r.created_at, r.id
LIMIT 2`)
	selectConversationNamespace = parse(`
SELECT n.owner, n.name` + fromNamespaces + `
	AND n.id = (` + lastNamespaceID + `)`)
	// A run that was completed had a namespace.
	selectHadNamespace = parse(`
SELECT EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.conversation_id = :conversation
		AND (r.namespace_id IS NOT NULL OR r.status = 'completed')
		AND ` + ownRun + `)`)
)

// WaitingRuns implements storage.Tasks.
func (s *Store) WaitingRuns(ctx context.Context, caller storage.Caller, agent, conversationID, message string) ([]string, error) {
	var found []struct {
		ID       string
		Answered bool
	}
	err := listWaitingRuns.list(ctx, s, &found, by(caller, args{"conversation": conversationID, "agent": agent, "message": message}))
	var ids []string
	for _, run := range found {
		ids = append(ids, run.ID)
		if run.Answered {
			break
		}
	}
	return ids, wrap("find waiting runs", err)
}

// ConversationNamespace implements storage.Tasks.
func (s *Store) ConversationNamespace(ctx context.Context, caller storage.Caller, conversationID string) (storage.NamespaceRef, error) {
	var ref storage.NamespaceRef
	a := by(caller, args{"conversation": conversationID})
	err := selectConversationNamespace.get(ctx, s, &ref, a)
	if errors.Is(err, sql.ErrNoRows) {
		var had bool
		if err := selectHadNamespace.get(ctx, s, &had, a); err != nil {
			return ref, wrap("find the namespace of a conversation", err)
		}
		if had {
			return ref, storage.Errorf(storage.ErrInvalid,
				"the namespace of this conversation was deleted, or is no longer shared with you; name another, or begin a new conversation").At("message.metadata.namespace")
		}
	}
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
	AND t.holder = ''
	AND t.last_event = $6
	AND `+isWaiting, answered.RunID, holder, answered.State, string(answered.Snapshot), s.millis(), answered.After)
		if err != nil {
			return err
		}
		if n == 0 {
			return storage.ErrConflict
		}
		err = execOne(ctx, tx, `UPDATE runs SET answer = $2, namespace_id = COALESCE(NULLIF($3, ''), namespace_id) WHERE id = $1`,
			answered.RunID, answered.Message, answered.NamespaceID)
		if err == nil && answered.Push != nil {
			err = s.savePush(ctx, tx, answered.Caller, *answered.Push, answered.After)
		}
		if err != nil {
			return err
		}
		run, err = readClaimed(ctx, tx, answered.RunID, s.millis())
		return err
	})
	return run, err
}
