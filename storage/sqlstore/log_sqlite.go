package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"parley/internal/domain"
)

// The statements of the log. They stay prepared on the connection that writes, because they
// are the most frequent ones.
const (
	beginConversation = `
INSERT INTO conversations (owner, id, title, created_at, updated_at)
VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (owner, id) DO UPDATE
SET updated_at = excluded.updated_at
WHERE conversations.updated_at < excluded.updated_at`
	touchConversation = `
UPDATE conversations
SET updated_at = $3
WHERE owner = $1
	AND id = $2
	AND updated_at < $3`
	insertRun = `
INSERT INTO runs (id, owner, conversation_id, namespace_id, restriction, agent, question,
	provider, model, helper_prompt, status, error_message, created_at, message, digest, locale)
VALUES ($1, $2, $3, NULLIF($4, ''), $5, $6, $7, $8, $9, $10, $11, $12, $13, NULLIF($14, ''), NULLIF($15, ''), $16)`

	insertTask = `
INSERT INTO tasks (run_id, owner, agent, open, state, snapshot, last_event, last_node_id, holder, takeovers, updated_at, status_at, started)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $5 IN ` + waitingStates + ` THEN '' ELSE $9 END, 0, $10, NULLIF($11, 0), $7 > 0)`
	updateTask = `
UPDATE tasks
SET started = TRUE, open = $4, state = $5, snapshot = $6, last_event = $7,
	last_node_id = CASE WHEN $8 = '' THEN last_node_id ELSE $8 END, updated_at = $9, status_at = NULLIF($10, 0),
	holder = CASE WHEN $5 IN ` + waitingStates + ` THEN '' ELSE holder END
WHERE run_id = $1
	AND open
	AND last_event = $2
	AND ($3 = '' OR holder = $3)`
	hasTask     = `SELECT EXISTS (SELECT 1 FROM tasks WHERE run_id = $1)`
	insertEvent = `
INSERT INTO events (run_id, number, kind, body, created_at)
VALUES ($1, $2, $3, $4, $5)`
	endRun = `
UPDATE runs
SET status = $2, error_message = $3
WHERE id = $1`
	insertResult = `
INSERT INTO results (run_id, body)
VALUES ($1, $2)
ON CONFLICT (run_id) DO UPDATE
SET body = excluded.body`
)

// sqliteLog is a transaction in which runs are written.
type sqliteLog struct {
	store *Store
	tx    *transaction
	ctx   context.Context
	now   int64
	// statements are the store's statements, and ready those of them that this
	// transaction has used.
	statements, ready map[string]*sql.Stmt
}

func writeSQLite(s *Store, runs []*runChange) error {
	// Without an end: the driver would start a goroutine for each statement.
	ctx := context.Background()
	if err := s.checkFile(); err != nil {
		return err
	}
	err := s.prepareLog(ctx, beginConversation, touchConversation, insertRun, insertTask, updateTask, insertEvent, endRun, insertResult, insertPush)
	if err != nil {
		return err
	}
	tx, err := begin(ctx, s.batches)
	if err != nil {
		return err
	}
	l := sqliteLog{store: s, tx: tx, ctx: ctx, now: s.millis(), statements: s.logStatements, ready: make(map[string]*sql.Stmt, 8)}
	for _, run := range runs {
		if err := l.write(run); err != nil {
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

func (l *sqliteLog) write(run *runChange) error {
	write := l.change
	if run.Start != nil {
		write = l.start
	}
	if written, err := write(run); err != nil || !written {
		return err
	}
	for i := range run.Events {
		event := &run.Events[i]
		if _, err := l.exec(insertEvent, run.RunID, event.Number, string(event.Kind), string(event.Body), l.now); err != nil {
			return err
		}
	}
	return nil
}

// start writes a new run. It reports false when its message has made a run before.
func (l *sqliteLog) start(run *runChange) (bool, error) {
	var (
		start   = run.Start
		owner   = start.Caller.Username
		outcome = run.outcome()
		err     error
	)
	if start.Push != nil {
		err = l.store.limitPushes(l.ctx, l.tx, owner, *start.Push)
		if errors.Is(err, domain.ErrTooMany) {
			run.err = fmt.Errorf("append to run: %w", err)
			return false, nil
		}
	}
	if err != nil {
		return false, err
	}
	if start.ConversationExists {
		// If it was deleted, the run finds no conversation.
		_, err = l.exec(touchConversation, owner, start.ConversationID, l.now)
	} else {
		_, err = l.exec(beginConversation, owner, start.ConversationID, domain.Title(start.Text), l.now)
	}
	if err != nil {
		return false, err
	}
	_, err = l.exec(insertRun, run.RunID, owner, start.ConversationID, start.NamespaceID, start.Caller.Restriction,
		start.Agent, start.Text, start.Provider, start.Model, start.HelperPrompt, string(outcome.Status), outcome.ErrorMessage, l.now,
		start.Message.Key, start.Message.Digest, start.Locale)
	if start.Message.Key != "" && isUniqueViolation(err) {
		return l.startAgain(run)
	}
	if err == nil {
		err = l.result(run.RunID, outcome.Result)
	}
	if err != nil {
		return false, err
	}
	_, err = l.exec(insertTask, run.RunID, owner, start.Agent, run.Outcome == nil, run.State, string(run.Snapshot),
		run.last(), run.LastNodeID, run.Holder, l.now, run.statusAt())
	if err == nil && start.Push != nil {
		_, err = l.exec(insertPush, pushValues(*start.Push, run.RunID, start.Caller, 0, l.now)...)
	}
	if err == nil {
		err = l.store.addAttachments(l.ctx, l.tx, run)
	}
	return true, err
}

// startAgain writes a new run whose message was sent before, if that is long ago.
func (l *sqliteLog) startAgain(run *runChange) (bool, error) {
	free, err := freeMessage(l.ctx, l.tx, run, l.now)
	if err != nil || !free {
		return false, err
	}
	return l.start(run)
}

// change writes the change of an existing run. It reports false when the last event of the
// run is another one than the change expects.
func (l *sqliteLog) change(run *runChange) (bool, error) {
	n, err := l.exec(updateTask, run.RunID, run.After, run.Holder, run.Outcome == nil, run.State, string(run.Snapshot),
		run.last(), run.LastNodeID, l.now, run.statusAt())
	if err != nil {
		return false, err
	}
	if n == 0 {
		var exists bool
		if err := l.tx.GetContext(l.ctx, &exists, hasTask, run.RunID); err != nil {
			return false, err
		}
		run.refused(exists)
		return false, nil
	}
	if run.Outcome != nil {
		_, err = l.exec(endRun, run.RunID, string(run.Outcome.Status), run.Outcome.ErrorMessage)
		if err == nil {
			err = l.result(run.RunID, run.Outcome.Result)
		}
	}
	return true, err
}

// result writes the result of a run, if it has one.
func (l *sqliteLog) result(runID string, body []byte) error {
	if len(body) == 0 {
		return nil
	}
	_, err := l.exec(insertResult, runID, string(body))
	return err
}

func (l *sqliteLog) exec(query string, args ...any) (int64, error) {
	stmt, ok := l.ready[query]
	if !ok {
		stmt = l.tx.Tx.Tx.StmtContext(l.ctx, l.statements[query])
		l.ready[query] = stmt
	}
	result, err := stmt.ExecContext(l.ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
