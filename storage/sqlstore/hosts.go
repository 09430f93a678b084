package sqlstore

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/lib/pq"

	"parley/internal/domain"
	"parley/storage/sqlstore/pgconn"
)

// The statements in this file are for hosts: they find runs of all users.

// claimedRow is a run as the host that works on it needs it.
type claimedRow struct {
	taskRow
	Owner          string
	Restriction    string
	Question       string
	Provider       sql.NullString
	Model          sql.NullString
	HelperPrompt   sql.NullString
	Locale         sql.NullString
	NamespaceID    sql.NullString
	NamespaceOwner sql.NullString
	Namespace      sql.NullString
	Takeovers      int
}

// ClaimRuns makes holder the owner of open runs of these agents without a live host, at most
// limit. A host owns its runs until its lease ends. A run that waits for an answer is claimed
// when it has waited for inputTimeout.
func (s *Store) ClaimRuns(ctx context.Context, holder string, agents []string, inputTimeout time.Duration, limit int) ([]domain.ClaimedRun, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	query := `
SELECT t.run_id, t.holder
FROM tasks t
WHERE t.open
	AND t.holder <> :holder
	AND ` + unleased("'host/' || t.holder") + `
	AND (t.updated_at <= :asked OR NOT (` + isWaiting + `))
	AND t.agent IN (:agents)
ORDER BY t.run_id
LIMIT :limit`
	type orphan struct{ RunID, Holder string }
	died := 0
	claimed, err := claimEach(ctx, s, "claim runs", func(tx *transaction) (orphans []orphan, err error) {
		died = 0
		now := s.millis()
		err = selectIn(ctx, tx, &orphans, query, args{
			"holder": holder, "now": now, "asked": now - inputTimeout.Milliseconds(), "agents": agents, "limit": limit,
		})
		return orphans, err
	}, func(tx *transaction, orphan orphan) (domain.ClaimedRun, error) {
		run, err := claimRun(ctx, tx, orphan.RunID, orphan.Holder, holder, s.millis())
		if err == nil && orphan.Holder != "" {
			died++
		}
		return run, err
	})
	if err == nil {
		s.observer.RunsClaimed(died)
	}
	return claimed, err
}

// claimRun claims a run of one host for another; ErrNotFound when that one
// does not own it any more. A host that stops releases its runs: one that
// still owns them has died. It may be because of the run, if its agent had started.
func claimRun(ctx context.Context, tx *transaction, runID, from, to string, now int64) (domain.ClaimedRun, error) {
	err := execOne(ctx, tx, `
UPDATE tasks
SET holder = $3, takeovers = takeovers + CASE WHEN $2 <> '' AND started THEN 1 ELSE 0 END, started = FALSE
WHERE run_id = $1
	AND open
	AND holder = $2`, runID, from, to)
	if err != nil {
		return domain.ClaimedRun{}, err
	}
	// Read only now: until then, the one before may have written.
	return readClaimed(ctx, tx, runID, now)
}

// readClaimed reads a run for the host that executes it.
func readClaimed(ctx context.Context, tx *transaction, runID string, now int64) (domain.ClaimedRun, error) {
	var row claimedRow
	err := tx.GetContext(ctx, &row, `
SELECT `+taskColumns+`, t.owner, t.takeovers, r.restriction, r.question, r.provider, r.model, r.helper_prompt, r.locale, r.namespace_id,
	n.name AS namespace, n.owner AS namespace_owner
FROM tasks t
JOIN runs r ON r.id = t.run_id
LEFT JOIN namespaces n ON n.id = r.namespace_id
WHERE t.run_id = $1`, runID)
	if err != nil {
		return domain.ClaimedRun{}, err
	}
	run := row.claimed(now)
	run.Task.Artifacts, err = readArtifacts(ctx, tx, runID, row.LastEvent)
	return run, err
}

func (r claimedRow) claimed(now int64) domain.ClaimedRun {
	return domain.ClaimedRun{
		Question: domain.Question{
			RunID:          r.RunID,
			Caller:         domain.Caller{Username: r.Owner, Restriction: r.Restriction},
			Agent:          r.Agent,
			Namespace:      domain.NamespaceRef{Owner: r.NamespaceOwner.String, Name: r.Namespace.String},
			ConversationID: r.ConversationID,
			Text:           r.Question,
			HelperPrompt:   r.HelperPrompt.String,
			Provider:       r.Provider.String,
			Model:          r.Model.String,
			Locale:         r.Locale.String,
			NamespaceID:    r.NamespaceID.String,
		},
		Task:      r.task(),
		Takeovers: r.Takeovers,
		Age:       time.Duration(now-r.UpdatedAt) * time.Millisecond,
	}
}

// LastEvents returns the numbers of the last events of runs, without runs that do not exist.
func (s *Store) LastEvents(ctx context.Context, runIDs []string) (map[string]int64, error) {
	found := make(map[string]int64, len(runIDs))
	for list := range lists(runIDs) {
		var rows []taskRow
		if err := selectIn(ctx, s, &rows, `SELECT run_id, last_event FROM tasks WHERE run_id IN (:runs)`, args{"runs": list}); err != nil {
			return nil, wrap("look at runs", err)
		}
		for _, row := range rows {
			found[row.RunID] = row.LastEvent
		}
	}
	return found, nil
}

const (
	listenRetry = 100 * time.Millisecond
	listenLimit = 10 * time.Second
	// listenPing is the interval between checks of the connection.
	listenPing = 10 * time.Second
)

// Listen calls changed for runs that other processes change, until ctx ends; an empty id is any
// run. changed must not block. The embedded database has one process, so that there are no
// notifications.
func (s *Store) Listen(ctx context.Context, changed func(runID string)) error {
	if s.dialect.notify == "" {
		<-ctx.Done()
		return nil
	}
	listener := pq.NewDialListener(pgconn.ListenDialer{}, s.url, listenRetry, listenLimit, nil)
	// In a goroutine: a server that does not answer would block it.
	defer func() {
		go func() {
			_ = listener.Close()
			for range listener.Notify { // so that its goroutine can end
			}
		}()
	}()
	listening := make(chan error, 1)
	go func() { listening <- listener.Listen(runsChannel) }()
	ping := time.NewTicker(listenPing)
	defer ping.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-listening:
			if err != nil {
				return wrap("listen for changed runs", err)
			}
			changed("") // earlier changes had no notification
		case <-ping.C:
			// It fails when the connection is lost or the server does not answer; the
			// listener then connects again.
			go func() { _ = listener.Ping() }()
		case notification := <-listener.Notify:
			if notification == nil {
				changed("") // a new connection: notifications may be lost
			} else {
				s.onNotify(notification.Extra, changed)
			}
		}
	}
}

// onNotify handles a notification of another process; its own are ignored.
func (s *Store) onNotify(message string, changed func(runID string)) {
	instance, ids, _ := strings.Cut(message, " ")
	if instance == s.instance {
		return
	}
	for id := range strings.SplitSeq(ids, " ") {
		changed(id) // "" when none is named
	}
}
