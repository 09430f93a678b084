package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// leftRuns is the tasks t of the open runs that no living host holds at the
// time $1, and host $2 does not hold either, and of those that wait for an answer
// since $3 or longer. heldRun is the run r with
// id $1, its task t, and its namespace n while there is one. Both are whoever's:
// for hosts.
const (
	leftRuns = `
FROM tasks t
LEFT JOIN leases l ON l.name = 'host/' || t.holder
WHERE t.open
	AND CASE
		WHEN ` + isWaiting + ` THEN t.updated_at <= $3
		ELSE t.holder <> $2 AND (t.holder = '' OR l.name IS NULL OR l.expires_at <= $1)
	END`
	heldRun = `
FROM tasks t
JOIN runs r ON r.id = t.run_id
LEFT JOIN namespaces n ON n.id = r.namespace_id
WHERE t.run_id = $1`
)

// runsOfHost is the ids of the open runs that host $1 holds and that do not wait
// for an answer.
const runsOfHost = `SELECT t.run_id FROM tasks t WHERE t.holder = $1 AND t.open AND NOT (` + isWaiting + `)`

// keepEnded is how long it is kept of a host that it has died.
const keepEnded = 24 * time.Hour

func hostLease(holder string) string { return "host/" + holder }

// RenewHost implements storage.Hosts. It looks at the server's clock, as it is
// called now and then. A host that is new here tidies away the leases of those
// that have long gone.
func (s *Store) RenewHost(ctx context.Context, holder string, lasts time.Duration) error {
	return s.inLeaseTx(ctx, "keep host", func(tx *sqlx.Tx) error {
		if s.clock != nil {
			if err := s.clock.look(ctx, tx); err != nil {
				return err
			}
		}
		now := s.now()
		n, err := exec(ctx, tx, `UPDATE leases SET expires_at = $2 WHERE name = $1`, hostLease(holder), now.Add(lasts).UnixMilli())
		if err != nil || n > 0 {
			return err
		}
		if _, err := s.takeLease(ctx, tx, hostLease(holder), holder, lasts); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `DELETE FROM leases WHERE name LIKE 'host/%' AND expires_at < $1`, now.Add(-keepEnded).UnixMilli())
		return err
	})
}

// claimedRow is a run as the host that works on it needs it.
type claimedRow struct {
	taskRow
	Owner          string         `db:"owner"`
	Restriction    string         `db:"restriction"`
	Question       string         `db:"question"`
	Provider       sql.NullString `db:"provider"`
	Model          sql.NullString `db:"model"`
	HelperPrompt   sql.NullString `db:"helper_prompt"`
	NamespaceOwner sql.NullString `db:"namespace_owner"`
	Namespace      sql.NullString `db:"namespace"`
	Takeovers      int            `db:"takeovers"`
}

// ClaimRuns implements storage.Hosts.
func (s *Store) ClaimRuns(ctx context.Context, holder string, agents []string, inputTimeout time.Duration, limit int) (taken []storage.ClaimedRun, err error) {
	now := s.millis()
	args := []any{now, holder, now - inputTimeout.Milliseconds()}
	var theirs []string
	for _, agent := range agents {
		args = append(args, agent)
		theirs = append(theirs, "$"+strconv.Itoa(len(args)))
	}
	if theirs == nil {
		return nil, nil
	}
	query := `SELECT t.run_id, t.holder` + leftRuns + `
	AND t.agent IN (` + strings.Join(theirs, ", ") + `)
ORDER BY t.run_id
LIMIT ` + strconv.Itoa(limit)
	died := 0
	err = s.inLeaseTx(ctx, "take runs", func(tx *sqlx.Tx) error {
		taken, died = nil, 0
		var left []struct {
			RunID  string `db:"run_id"`
			Holder string `db:"holder"`
		}
		if err := tx.SelectContext(ctx, &left, query, args...); err != nil {
			return err
		}
		for _, run := range left {
			held, err := claimRun(ctx, tx, run.RunID, run.Holder, holder, s.millis())
			if errors.Is(err, storage.ErrNotFound) {
				continue // somebody else was faster
			}
			if err != nil {
				return err
			}
			taken = append(taken, held)
			if run.Holder != "" {
				died++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.observer.RunsTaken(died)
	return taken, nil
}

// claimRun takes a run from one holder for another; ErrNotFound when that one
// does not hold it any more. A host that stops gives its runs back: one that
// still holds them has died.
func claimRun(ctx context.Context, tx *sqlx.Tx, runID, from, to string, now int64) (storage.ClaimedRun, error) {
	err := execOne(ctx, tx, `
UPDATE tasks
SET holder = $3, takeovers = takeovers + CASE WHEN $2 = '' THEN 0 ELSE 1 END
WHERE run_id = $1
	AND open
	AND holder = $2`, runID, from, to)
	if err != nil {
		return storage.ClaimedRun{}, err
	}
	// Read only now: until then, the one before may have written.
	return readClaimed(ctx, tx, runID, now)
}

// readClaimed reads a run for the host that executes it.
func readClaimed(ctx context.Context, tx *sqlx.Tx, runID string, now int64) (storage.ClaimedRun, error) {
	var row claimedRow
	err := tx.GetContext(ctx, &row, `
SELECT `+taskColumns+`, t.owner, t.takeovers, r.restriction, r.question, r.provider, r.model, r.helper_prompt,
	n.name AS namespace, n.owner AS namespace_owner`+heldRun, runID)
	if err != nil {
		return storage.ClaimedRun{}, err
	}
	run := row.claimed(now)
	run.Task.Artifacts, err = readArtifacts(ctx, tx, runID, row.LastEvent)
	return run, err
}

func (r claimedRow) claimed(now int64) storage.ClaimedRun {
	return storage.ClaimedRun{
		Request: storage.RunRequest{
			RunID:  r.RunID,
			Caller: storage.Caller{Username: r.Owner, Restriction: r.Restriction},
			Question: storage.Question{
				Agent:          r.Agent,
				Namespace:      storage.NamespaceRef{Owner: r.NamespaceOwner.String, Name: r.Namespace.String},
				ConversationID: r.ConversationID,
				Text:           r.Question,
				HelperPrompt:   r.HelperPrompt.String,
				Provider:       r.Provider.String,
				Model:          r.Model.String,
			},
		},
		Task:      r.task(),
		Takeovers: r.Takeovers,
		Age:       time.Duration(now-r.UpdatedAt) * time.Millisecond,
	}
}

// HostRuns implements storage.Hosts.
func (s *Store) HostRuns(ctx context.Context, holder string) ([]string, error) {
	ctx, done := s.bounded(ctx)
	defer done()
	var ids []string
	if err := s.leases.SelectContext(ctx, &ids, runsOfHost, holder); err != nil {
		return nil, fmt.Errorf("list the runs of a host: %w", classify(err))
	}
	return ids, nil
}

// lastEventsBatch is how many runs are looked at with one statement, which is
// always the same.
const lastEventsBatch = 100

// LastEvents implements storage.Hosts.
func (s *Store) LastEvents(ctx context.Context, runIDs []string) (map[string]int64, error) {
	found := make(map[string]int64, len(runIDs))
	for some := range slices.Chunk(runIDs, lastEventsBatch) {
		these, args := in(append(slices.Clone(some), make([]string, lastEventsBatch-len(some))...))
		err := s.eachRow(ctx, `SELECT run_id, last_event FROM tasks WHERE run_id `+these, func(rows *sqlx.Rows) error {
			var runID string
			var last int64
			err := rows.Scan(&runID, &last)
			found[runID] = last
			return err
		}, args...)
		if err != nil {
			return nil, fmt.Errorf("look at runs: %w", classify(err))
		}
	}
	return found, nil
}

// ReleaseRun implements storage.Hosts.
func (s *Store) ReleaseRun(ctx context.Context, holder, runID string) error {
	return s.inLeaseTx(ctx, "leave run", func(tx *sqlx.Tx) error {
		_, err := exec(ctx, tx, `UPDATE tasks SET holder = '' WHERE run_id = $1 AND holder = $2 AND open`, runID, holder)
		return err
	})
}

// ReleaseRuns implements storage.Hosts.
func (s *Store) ReleaseRuns(ctx context.Context, holder string) error {
	return s.inLeaseTx(ctx, "leave runs", func(tx *sqlx.Tx) error {
		left, err := exec(ctx, tx, `UPDATE tasks SET holder = '' WHERE holder = $1 AND open`, holder)
		if err != nil {
			return err
		}
		if _, err := exec(ctx, tx, `DELETE FROM leases WHERE name = $1`, hostLease(holder)); err != nil {
			return err
		}
		if left == 0 || s.dialect.notify == "" {
			return nil
		}
		_, err = exec(ctx, tx, s.dialect.notify, s.instance)
		return err
	})
}
