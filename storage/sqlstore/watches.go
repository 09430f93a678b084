package sqlstore

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"time"

	"parley/internal/domain"
)

// watchPause is the least time from one asking for a change of the data to the next.
const watchPause = 5 * time.Second

// watchClaim is how long a process may take to ask the query of a watch before another one does.
const watchClaim = 2 * time.Minute

type watchRow struct {
	QueryID        string
	DailyAt        sql.NullInt64
	URL            string
	Receiver       string
	Scheme         string
	Secrets        string
	ConversationID string
	AskedAt        int64
	Change         string
	ChangedAt      int64
	Problem        string
}

const watchColumns = `w.query_id, w.daily_at, w.url, w.receiver, w.scheme, w.secrets, w.conversation_id, w.asked_at, w.change, w.changed_at, w.problem`

func (r watchRow) watch() (domain.Watch, error) {
	watch := domain.Watch{ConversationID: r.ConversationID, Change: r.Change, Problem: r.Problem}
	if r.DailyAt.Valid {
		watch.DailyAt = new(int(r.DailyAt.Int64))
	}
	if r.AskedAt > 0 {
		watch.AskedAt = fromMillis(r.AskedAt)
	}
	if r.ChangedAt > 0 {
		watch.ChangedAt = fromMillis(r.ChangedAt)
	}
	if r.URL == "" {
		return watch, nil
	}
	config, err := pushRow{ID: r.QueryID, URL: r.URL, Receiver: r.Receiver, Scheme: r.Scheme, Secrets: r.Secrets}.config()
	watch.Push = &config
	return watch, err
}

// addWatches adds those of the caller to queries.
func (s *Store) addWatches(ctx context.Context, caller domain.Caller, queries []domain.SavedQuery) error {
	ids := make([]string, len(queries))
	for i, query := range queries {
		ids[i] = query.ID
	}
	watches := map[string]*domain.Watch{}
	for list := range lists(ids) {
		var rows []watchRow
		err := selectIn(ctx, s, &rows, `SELECT `+watchColumns+` FROM watches w WHERE w.username = :caller AND w.query_id IN (:ids)`, args{"caller": caller.Username, "ids": list})
		if err != nil {
			return wrap("list watches", err)
		}
		for _, row := range rows {
			watch, err := row.watch()
			if err != nil {
				return wrap("read watch", err)
			}
			watches[row.QueryID] = &watch
		}
	}
	for i := range queries {
		queries[i].Watch = watches[queries[i].ID]
	}
	return nil
}

// SetWatch has a pinned query asked again for the caller, who may see it: see MayWatch. found is its
// result now, for a new watch. The secrets for the same address stay unless there are new ones.
// ErrTooMany beyond MaxUserWatches.
func (s *Store) SetWatch(ctx context.Context, caller domain.Caller, queryID string, watch domain.Watch, found json.RawMessage) error {
	config := domain.PushConfig{}
	if watch.Push != nil {
		config = *watch.Push
	}
	return s.inOwnerTx(ctx, "set watch", caller.Username, func(tx *transaction) error {
		var others int
		if err := tx.GetContext(ctx, &others, `SELECT COUNT(*) FROM watches WHERE username = $1 AND query_id <> $2`, caller.Username, queryID); err != nil {
			return err
		}
		if others >= domain.MaxUserWatches {
			return domain.Errorf(domain.ErrTooMany, "you watch %d queries already; stop watching one first", others)
		}
		_, err := exec(ctx, tx, `
INSERT INTO watches (query_id, username, daily_at, url, receiver, scheme, secrets, conversation_id, due_at, claimed_until, asked_at,
	found, change, changed_at, problem)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $9, $10, '', 0, '')
ON CONFLICT (query_id, username) DO UPDATE
SET daily_at = excluded.daily_at, url = excluded.url, receiver = excluded.receiver, scheme = excluded.scheme,
	secrets = CASE WHEN excluded.secrets = '' AND excluded.url = watches.url THEN watches.secrets ELSE excluded.secrets END,
	due_at = excluded.due_at, problem = ''`,
			queryID, caller.Username, watch.DailyAt, config.URL, config.Receiver, config.Scheme, base64.StdEncoding.EncodeToString(config.Secrets),
			domain.NewID(), s.millis(), string(found)) // due at once: rows may have come since they were found
		return err
	})
}

// MayWatch returns a pinned query that the caller sees. The token of a program is ErrForbidden: the query
// is asked with all rights of the user, also when the token has ended.
func (s *Store) MayWatch(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, queryID string) (domain.SavedQuery, error) {
	if err := notProgram(caller); err != nil {
		return domain.SavedQuery{}, err
	}
	found, _, err := s.savedQueries(ctx, caller, in, domain.PinnedQuery, ` AND q.id = $3`, queryID)
	if err == nil && len(found) == 0 {
		err = domain.ErrNotFound
	}
	if err != nil {
		return domain.SavedQuery{}, err
	}
	return found[0], nil
}

func notProgram(caller domain.Caller) error {
	switch {
	case caller.Restricted():
		return domain.Errorf(domain.ErrForbidden, "a restricted token cannot watch queries: they are asked with all rights of the user")
	case caller.Application != "":
		return domain.Errorf(domain.ErrForbidden, "an application cannot watch queries: they are asked with all rights of the user; sign in yourself")
	}
	return nil
}

// DeleteWatch is for the user whose watch it is, also when the query is not to be seen any more.
func (s *Store) DeleteWatch(ctx context.Context, caller domain.Caller, queryID string) error {
	if err := notProgram(caller); err != nil {
		return err
	}
	return s.inTx(ctx, "delete watch", func(tx *transaction) error {
		return execOne(ctx, tx, `DELETE FROM watches WHERE query_id = $1 AND username = $2`, queryID, caller.Username)
	})
}

// markWatches makes watches due that ask when data has changed: those of the namespace of a dataset.
// Each time is another one, by which the change is known. After one was asked, it waits a while.
func (s *Store) markWatches(ctx context.Context, tx *transaction, datasetID string) error {
	_, err := exec(ctx, tx, `
UPDATE watches
SET due_at = CASE WHEN due_at >= $2 THEN due_at + 1 WHEN asked_at + $3 > $2 THEN asked_at + $3 ELSE $2 END
WHERE daily_at IS NULL
	AND query_id IN (SELECT q.id FROM saved_queries q JOIN datasets d ON d.namespace_id = q.namespace_id WHERE d.id = $1)`, datasetID, s.millis(), watchPause.Milliseconds())
	return err
}

// ClaimWatches returns watches that are due, at most limit, and one of each user at a time. No other
// process gets them until they are settled, or for watchClaim.
func (s *Store) ClaimWatches(ctx context.Context, limit int) ([]domain.DueWatch, error) {
	type due struct {
		watchRow
		Username string
		DueAt    int64
		Found    string
		Owner    string
		Name     string
		Title    string
		Question string
		Query    string
	}
	if limit == 0 {
		return nil, nil
	}
	return claimEach(ctx, s, "claim watches", func(tx *transaction) (found []due, err error) {
		err = tx.SelectContext(ctx, &found, `
SELECT `+watchColumns+`, w.username, w.due_at, w.found, n.owner, n.name, q.title, q.question, q.query
FROM watches w
JOIN saved_queries q ON q.id = w.query_id
JOIN namespaces n ON n.id = q.namespace_id
WHERE w.due_at <= $1
	AND NOT EXISTS (
		SELECT 1
		FROM watches o
		WHERE o.username = w.username
			AND (o.claimed_until > $1 OR (o.due_at, o.query_id) < (w.due_at, w.query_id)))
ORDER BY w.due_at, w.query_id
LIMIT $2`, s.millis(), limit)
		return found, err
	}, func(tx *transaction, row due) (domain.DueWatch, error) {
		err := execOne(ctx, tx, `
UPDATE watches
SET claimed_until = $4
WHERE query_id = $1
	AND username = $2
	AND claimed_until <= $3`, row.QueryID, row.Username, s.millis(), s.now().Add(watchClaim).UnixMilli())
		if err != nil {
			return domain.DueWatch{}, err
		}
		watch, err := row.watch()
		claimed := domain.DueWatch{
			Watch: watch, Caller: domain.Caller{Username: row.Username}, Namespace: domain.NamespaceRef{Owner: row.Owner, Name: row.Name}, Due: fromMillis(row.DueAt),
			Query: domain.SavedQuery{ID: row.QueryID, Title: row.Title, Question: row.Question, Query: row.Query},
		}
		if row.Found != "" {
			claimed.Found = json.RawMessage(row.Found)
		}
		return claimed, err
	})
}

// SettleWatch stores what came of a claimed watch, which has a conversation of its own. One that has
// become due again meanwhile stays so.
func (s *Store) SettleWatch(ctx context.Context, due domain.DueWatch) error {
	var next, changed int64
	if at := due.Next(s.now()); !at.IsZero() {
		next = at.UnixMilli()
	}
	if !due.RetryAt.IsZero() {
		next = due.RetryAt.UnixMilli()
	}
	if !due.ChangedAt.IsZero() {
		changed = due.ChangedAt.UnixMilli()
	}
	return s.execTx(ctx, "settle watch", `
UPDATE watches
SET claimed_until = 0, due_at = CASE WHEN due_at = $3 THEN NULLIF($4, 0) ELSE due_at END,
	asked_at = $5, found = $6, change = $7, changed_at = $8, problem = $9
WHERE query_id = $1
	AND username = $2
	AND conversation_id = $10`, due.Query.ID, due.Caller.Username, due.Due.UnixMilli(), next, s.millis(),
		string(due.Found), due.Change, changed, due.Problem, due.ConversationID)
}
