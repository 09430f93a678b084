package sqlstore

import (
	"context"
	"database/sql"
	"errors"

	"parley/internal/domain"
)

const (
	runColumns = `r.id, r.conversation_id, r.agent, r.question, r.status, r.error_message, t.last_node_id, r.created_at,
	(SELECT x.body FROM results x WHERE x.run_id = r.id) AS result`
	// resultBytes is how large the result of a run r is.
	resultBytes = `COALESCE((SELECT octet_length(x.body) FROM results x WHERE x.run_id = r.id), 0)`
)

type runRow struct {
	domain.Run
	Result    []byte
	CreatedAt int64
}

func (r runRow) run() domain.Run {
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
func (s *Store) Run(ctx context.Context, caller domain.Caller, id string) (domain.Run, error) {
	row, err := readRun(ctx, s, caller, id)
	return row.run(), wrap("read run", err)
}

// ResultBytes returns the size of a run's result.
func (s *Store) ResultBytes(ctx context.Context, caller domain.Caller, id string) (int, error) {
	var bytes int
	err := selectResultBytes.get(ctx, s, &bytes, by(caller, args{"run": id}))
	return bytes, wrap("measure result", err)
}

func readRun(ctx context.Context, q queryer, caller domain.Caller, id string) (runRow, error) {
	var row runRow
	err := selectRun.get(ctx, q, &row, by(caller, args{"run": id}))
	return row, err
}

// MayDeleteRun returns the error that DeleteRun would, before anything is changed.
// ErrForbidden for a read-only token.
func (s *Store) MayDeleteRun(ctx context.Context, caller domain.Caller, id string) error {
	if _, err := deletableRun(ctx, s, caller, id); err != nil {
		return wrap("find run to delete", err)
	}
	return nil
}

func deletableRun(ctx context.Context, q queryer, caller domain.Caller, id string) (runRow, error) {
	found, err := readRun(ctx, q, caller, id)
	if err != nil {
		return found, err
	}
	return found, mayWrite(ctx, q, caller)
}

// DeleteRun deletes a run, and its conversation if it was the last run there.
func (s *Store) DeleteRun(ctx context.Context, caller domain.Caller, id string) error {
	return s.inTx(ctx, "delete run", func(tx *transaction) error {
		found, err := deletableRun(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		// A conversation is always locked before its run, which prevents deadlocks, and shows
		// which run is the last.
		if err := lockConversation(ctx, tx, caller.Username, found.ConversationID); err != nil {
			return err
		}
		if err := deleteRun.execOne(ctx, tx, by(caller, args{"run": id})); err != nil {
			return err
		}
		return deleteEmptyConversation(ctx, tx, caller.Username, found.ConversationID)
	})
}

const (
	// waitingStates are those of tasks that wait for the answer of the user. No host
	// holds them.
	waitingStates = `('` + domain.StateInputRequired + `', '` + domain.StateAuthRequired + `')`
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
	// A run that was completed had a namespace, or attachments.
	selectHadNamespace = parse(`
SELECT EXISTS (
	SELECT 1
	FROM runs r
	WHERE r.conversation_id = :conversation
		AND (r.namespace_id IS NOT NULL OR r.status = 'completed')
		AND ` + ownRun + `)`)
)

// WaitingRuns returns the ids of runs in a conversation that wait for an answer, at most two;
// or only that of the run that a message has answered.
func (s *Store) WaitingRuns(ctx context.Context, caller domain.Caller, agent, conversationID, message string) ([]string, error) {
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

// ConversationNamespace returns the namespace that the last run of a conversation asked;
// ErrNotFound when there is none, ErrInvalid when the caller may not read it any more. It is
// zero in a conversation that has attachments alone.
func (s *Store) ConversationNamespace(ctx context.Context, caller domain.Caller, conversationID string) (domain.NamespaceRef, error) {
	var ref domain.NamespaceRef
	a := by(caller, args{"conversation": conversationID})
	err := selectConversationNamespace.get(ctx, s, &ref, a)
	if errors.Is(err, sql.ErrNoRows) {
		var had bool
		if err := selectHadNamespace.get(ctx, s, &had, a); err != nil {
			return ref, wrap("find the namespace of a conversation", err)
		}
		if !had {
			return ref, wrap("find the namespace of a conversation", err)
		}
		attached, err := s.CountAttachments(ctx, caller, conversationID)
		if err == nil && attached == 0 {
			err = domain.Errorf(domain.ErrInvalid,
				"the namespace of this conversation was deleted, or is no longer shared with you; name another, or begin a new conversation").At("message.metadata.namespace")
		}
		return ref, err
	}
	return ref, wrap("find the namespace of a conversation", err)
}

// ResumeRun makes holder the owner of a run that waits for an answer. ErrConflict when it no
// longer waits after that event.
func (s *Store) ResumeRun(ctx context.Context, holder string, answered domain.AnsweredRun) (run domain.ClaimedRun, err error) {
	err = s.inLeaseTx(ctx, "resume run", func(tx *transaction) error {
		n, err := exec(ctx, tx, `
UPDATE tasks AS t
SET holder = $2, started = FALSE, state = $3, snapshot = $4, updated_at = $5, status_at = NULL
WHERE t.run_id = $1
	AND t.open
	AND t.holder = ''
	AND t.last_event = $6
	AND `+isWaiting, answered.RunID, holder, answered.State, string(answered.Snapshot), s.millis(), answered.After)
		if err != nil {
			return err
		}
		if n == 0 {
			return domain.ErrConflict
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
