package sqlstore

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"parley/internal/domain"
)

// Old records of all users, oldest first, for retention. Each statement ends in LIMIT.
const (
	// runsToTrim is the runs that ended before $1 and have all their events.
	runsToTrim = `
SELECT t.run_id
FROM tasks t
WHERE NOT t.open
	AND NOT t.trimmed
	AND t.updated_at < $1
ORDER BY t.updated_at
LIMIT `
	// oldRuns is the runs r that have ended and were created before $2, at which time the
	// first id is $1: ids increase with the time.
	oldRuns = `
SELECT r.id, r.owner, r.conversation_id
FROM runs r
WHERE r.id < $1
	AND r.created_at < $2
	AND r.status <> 'running'
ORDER BY r.id
LIMIT `
	// oldUploads is the sessions with status $2 that were last changed before $1
	// and that no ingestion is to read.
	oldUploads = `
SELECT u.id
FROM upload_sessions u
WHERE u.status = $2
	AND u.created_at < $1
	AND u.updated_at < $1
	AND NOT EXISTS (
		SELECT 1
		FROM upload_files f
		JOIN ingestion_files g ON g.upload_file_id = f.id
		JOIN ingestions i ON i.id = g.ingestion_id
		WHERE f.session_id = u.id
			AND (i.status IN ('pending', 'processing') OR i.updated_at >= $1))
ORDER BY u.created_at
LIMIT `
	// oldIngestions is those with status $2 that ended before $1.
	oldIngestions = `
SELECT i.id
FROM ingestions i
WHERE i.status = $2
	AND i.created_at < $1
	AND i.updated_at < $1
ORDER BY i.created_at
LIMIT `
)

// RetentionBatch is the most records of a kind that one transaction deletes. Nobody notices the
// wait, also if each has the largest results.
const RetentionBatch = 10

var retentionBatchText = strconv.Itoa(RetentionBatch)

// inBatches calls a function until there is no more for it to do. After each call it waits for as
// long as that took, so that others can write too.
func inBatches(ctx context.Context, batch func() (more bool, err error)) error {
	for {
		start := time.Now()
		more, err := batch()
		if err != nil || !more {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Since(start)):
		}
	}
}

// removeOld runs a transaction that selects a batch of what is older than age, and removes
// it. It gives how many that were.
func (s *Store) removeOld(ctx context.Context, attempt string, age time.Duration,
	find func(tx *transaction, before time.Time) ([]string, error), remove func(tx *transaction, ids []string) error) (count int, err error) {
	before := s.now().Add(-age)
	err = s.inTx(ctx, attempt, func(tx *transaction) error {
		ids, err := find(tx, before)
		if count = len(ids); err != nil || count == 0 {
			return err
		}
		return remove(tx, ids)
	})
	return count, err
}

// TrimEvents deletes the events of some runs that ended that long ago, except the last
// one and those of artifacts: a reader finds that some are missing, and
// gets the task instead. It gives how many runs that were.
func (s *Store) TrimEvents(ctx context.Context, age time.Duration) (int, error) {
	return s.removeOld(ctx, "trim events", age, func(tx *transaction, before time.Time) (ids []string, err error) {
		err = tx.SelectContext(ctx, &ids, runsToTrim+retentionBatchText, before.UnixMilli())
		return ids, err
	}, func(tx *transaction, ids []string) error {
		err := execIn(ctx, tx, `
DELETE FROM events
WHERE run_id IN (:runs)
	AND kind <> 'artifact'
	AND number < (SELECT last_event FROM tasks WHERE tasks.run_id = events.run_id)`, args{"runs": ids})
		if err != nil {
			return err
		}
		return execIn(ctx, tx, `UPDATE tasks SET trimmed = TRUE WHERE run_id IN (:runs)`, args{"runs": ids})
	})
}

// DeleteOldRuns deletes some runs that were asked that long ago and have ended,
// with all that belongs to them, and conversations that have no run left. It
// gives how many runs that were.
func (s *Store) DeleteOldRuns(ctx context.Context, age time.Duration) (int, error) {
	var pairs []any
	return s.removeOld(ctx, "delete old runs", age, func(tx *transaction, before time.Time) (ids []string, err error) {
		var runs []struct{ ID, Owner, ConversationID string }
		err = tx.SelectContext(ctx, &runs, oldRuns+retentionBatchText, firstIDAt(before), before.UnixMilli())
		pairs = nil
		for _, run := range runs {
			ids = append(ids, run.ID)
			pairs = append(pairs, run.Owner, run.ConversationID)
		}
		return ids, err
	}, func(tx *transaction, ids []string) error {
		conversations := inPairs(len(ids))
		// They are locked before their runs, as everywhere.
		if _, err := exec(ctx, tx, `UPDATE conversations SET updated_at = updated_at WHERE (owner, id) `+conversations, pairs...); err != nil {
			return err
		}
		if err := execIn(ctx, tx, `DELETE FROM runs WHERE id IN (:runs)`, args{"runs": ids}); err != nil {
			return err
		}
		_, err := exec(ctx, tx, `DELETE FROM conversations WHERE (owner, id) `+conversations+` AND `+isEmptyConversation, pairs...)
		return err
	})
}

// DeleteOldUploads deletes some upload sessions that were last changed, and read
// by an ingestion, that long ago, and makes their objects orphaned. An ingestion that
// failed and read them cannot be retried any more. It gives how many sessions
// that were.
func (s *Store) DeleteOldUploads(ctx context.Context, age time.Duration) (int, error) {
	count, err := s.removeOld(ctx, "delete old uploads", age, func(tx *transaction, before time.Time) ([]string, error) {
		return someOf(ctx, tx, oldUploads, before, domain.UploadCompleted, domain.UploadAborted)
	}, func(tx *transaction, ids []string) error {
		for _, statement := range []string{
			`INSERT INTO loose_objects (object_key, due_at)
SELECT object_key, CAST(:due AS BIGINT)
FROM upload_files
WHERE status = 'completed'
	AND session_id IN (:sessions)`,
			// An ingestion has all its files, or none.
			`DELETE FROM ingestion_files
WHERE ingestion_id IN (
	SELECT ingestion_id
	FROM ingestion_files
	WHERE upload_file_id IN (SELECT id FROM upload_files WHERE session_id IN (:sessions)))`,
			`DELETE FROM upload_sessions WHERE id IN (:sessions)`,
		} {
			if err := execIn(ctx, tx, statement, args{"sessions": ids, "due": s.now().Add(orphanTTL).UnixMilli()}); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, domain.ErrConflict) {
		return 0, nil // an ingestion of one of them was started just now
	}
	return count, err
}

// DeleteOldIngestions deletes the records of some ingestions that ended that long
// ago, and gives how many.
func (s *Store) DeleteOldIngestions(ctx context.Context, age time.Duration) (int, error) {
	return s.removeOld(ctx, "delete old ingestions", age, func(tx *transaction, before time.Time) ([]string, error) {
		return someOf(ctx, tx, oldIngestions, before, domain.IngestionCompleted, domain.IngestionFailed)
	}, func(tx *transaction, ids []string) error {
		return execIn(ctx, tx, `DELETE FROM ingestions WHERE id IN (:ids)`, args{"ids": ids})
	})
}

// Reclaim frees the space of deleted rows. Until then readers skip them, which takes time
// after large deletions.
func (s *Store) Reclaim(ctx context.Context) error {
	if s.dialect.reclaim == "" {
		return nil
	}
	_, err := s.write.ExecContext(ctx, s.dialect.reclaim)
	return classify(err)
}

// someOf returns the ids of at most a batch of records with one of the states, state by state,
// in the order of the index.
func someOf[state ~string](ctx context.Context, tx *transaction, query string, before time.Time, states ...state) ([]string, error) {
	var all []string
	for _, each := range states {
		var ids []string
		if err := tx.SelectContext(ctx, &ids, query+retentionBatchText, before.UnixMilli(), each); err != nil {
			return nil, err
		}
		all = append(all, ids[:min(len(ids), RetentionBatch-len(all))]...)
	}
	return all, nil
}

// inPairs returns the text of a list of so many pairs.
func inPairs(count int) string {
	return sqlx.Rebind(sqlx.DOLLAR, "IN (VALUES (?, ?)"+strings.Repeat(", (?, ?)", count-1)+")")
}

// firstIDAt returns the least id of a moment.
func firstIDAt(moment time.Time) string {
	var id uuid.UUID
	for i, rest := 5, uint64(max(moment.UnixMilli(), 0)); i >= 0; i, rest = i-1, rest>>8 {
		id[i] = byte(rest)
	}
	return id.String()
}
