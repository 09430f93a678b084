package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"

	"parley/internal/domain"
)

// runsChannel is the channel of notifications about changed runs. A notification has the
// instance of the store that changed them, and some ids.
const runsChannel = "parley_runs"

// batchTimeout is how long the server may take to write a batch.
const batchTimeout = 30 * time.Second

// writeRunsQuery writes a whole batch in one round trip. It gives the ids of the runs that
// were written, several in a row, and notifies other processes of them: a notification has at
// most 8,000 bytes. The condition that a task is open is written so that the server does not
// scan the index of all open tasks.
const writeRunsQuery = `
WITH new_conversations AS (
	INSERT INTO conversations (owner, id, title, created_at, updated_at)
	SELECT c.owner, c.id, c.title, $2::bigint, $2::bigint
	FROM unnest($3::text[], $4::text[], $5::text[]) AS c (owner, id, title)
	ON CONFLICT (owner, id) DO UPDATE
	SET updated_at = GREATEST(conversations.updated_at, excluded.updated_at)
), existing_conversations AS (
	UPDATE conversations AS c
	SET updated_at = GREATEST(c.updated_at, $2::bigint)
	FROM unnest($6::text[], $7::text[]) AS b (owner, id)
	WHERE c.owner = b.owner
		AND c.id = b.id
), start AS MATERIALIZED (
	SELECT *
	FROM unnest($8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
		$15::text[], $16::text[], $17::text[],
		$18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::bigint[], $24::text[], $25::bigint[],
		$26::text[], $27::text[], $28::text[], $29::text[])
		AS s (run_id, owner, conversation_id, namespace_id, restriction, agent, question,
			provider, model, helper_prompt,
			status, error_message, result, state, snapshot, last_event, last_node_id, status_at,
			holder, message, digest, locale)
), asked AS (
	INSERT INTO runs (id, owner, conversation_id, namespace_id, restriction, agent, question,
		provider, model, helper_prompt, status, error_message, created_at, message, digest, locale)
	SELECT s.run_id, s.owner, s.conversation_id, NULLIF(s.namespace_id, ''), s.restriction, s.agent, s.question,
		s.provider, s.model, s.helper_prompt, s.status, s.error_message, $2::bigint,
		NULLIF(s.message, ''), NULLIF(s.digest, ''), s.locale
	FROM start s
	ON CONFLICT (owner, agent, message) WHERE message IS NOT NULL DO NOTHING
	RETURNING id
), started AS (
	INSERT INTO tasks (run_id, owner, agent, open, state, snapshot, last_event, last_node_id, holder, takeovers, updated_at, status_at, started)
	SELECT s.run_id, s.owner, s.agent, s.status = 'running', s.state, s.snapshot, s.last_event, s.last_node_id,
		CASE WHEN s.state IN ` + waitingStates + ` THEN '' ELSE s.holder END, 0, $2::bigint,
		NULLIF(s.status_at, 0), s.last_event > 0
	FROM start s
	JOIN asked a ON a.id = s.run_id
	RETURNING run_id
), change AS MATERIALIZED (
	SELECT *
	FROM unnest($30::text[], $31::bigint[], $32::text[], $33::text[], $34::text[], $35::text[], $36::text[],
		$37::text[], $38::bigint[], $39::text[], $40::bigint[])
		AS c (run_id, after, holder, status, error_message, result, state, snapshot, last_event, last_node_id, status_at)
), changed AS (
	UPDATE tasks AS t
	SET started = TRUE, open = c.status = 'running', state = c.state, snapshot = c.snapshot, last_event = c.last_event,
		last_node_id = COALESCE(NULLIF(c.last_node_id, ''), t.last_node_id), updated_at = $2::bigint, status_at = NULLIF(c.status_at, 0),
		holder = CASE WHEN c.state IN ` + waitingStates + ` THEN '' ELSE t.holder END
	FROM change c
	WHERE t.run_id = c.run_id
		AND CASE WHEN t.open THEN t.last_event END = c.after
		AND (c.holder = '' OR t.holder = c.holder)
	RETURNING t.run_id, c.status, c.error_message, c.result
), ended AS (
	UPDATE runs AS r
	SET status = c.status, error_message = c.error_message
	FROM changed c
	WHERE r.id = c.run_id
		AND c.status <> 'running'
), new_results AS (
	INSERT INTO results (run_id, body)
	SELECT s.run_id, s.result FROM start s JOIN asked a ON a.id = s.run_id WHERE s.result <> ''
	UNION ALL
	SELECT c.run_id, c.result FROM changed c WHERE c.status <> 'running' AND c.result <> ''
	ON CONFLICT (run_id) DO UPDATE
	SET body = excluded.body
), written AS MATERIALIZED (
	SELECT run_id FROM started
	UNION ALL
	SELECT run_id FROM changed
), refused AS MATERIALIZED (
	(SELECT run_id FROM start UNION ALL SELECT run_id FROM change)
	EXCEPT
	SELECT run_id FROM written
), logged AS (
	INSERT INTO events (run_id, number, kind, body, created_at)
	SELECT e.run_id, e.number, e.kind, e.body, $2::bigint
	FROM unnest($41::text[], $42::bigint[], $43::text[], $44::text[]) AS e (run_id, number, kind, body)
	WHERE e.run_id NOT IN (SELECT run_id FROM refused)
), notifications AS (
	SELECT string_agg(n.run_id, ' ') AS ids
	FROM (SELECT w.run_id, row_number() OVER () / 200 AS message FROM written w) n
	GROUP BY n.message
)
SELECT ids, pg_notify('` + runsChannel + `', $1::text || ' ' || ids)
FROM notifications`

// texts and numbers give one column of some rows, as Postgres unnests it.
func texts[Row any](rows []Row, text func(Row) string) any { return pq.StringArray(each(rows, text)) }

func numbers[Row any](rows []Row, number func(Row) int64) any {
	return pq.Int64Array(each(rows, number))
}

func writePostgres(s *Store, runs []*runChange) error {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	if err := s.prepareLog(ctx, writeRunsQuery); err != nil {
		return err
	}
	// Push configs and attachments, which few runs have, are more statements in the same
	// transaction.
	more := func(run *runChange) bool {
		return run.Start != nil && (run.Start.Push != nil || len(run.Start.Attachments) > 0)
	}
	var written map[string]bool
	var err error
	if slices.ContainsFunc(runs, more) {
		runs, written, err = s.writeInTx(ctx, runs)
	} else {
		written, err = writtenRuns(s.logStatements[writeRunsQuery].QueryContext(ctx, s.columns(runs)...))
	}
	if err != nil || len(written) == len(runs) {
		return err
	}
	return s.refuse(ctx, runs, written)
}

// columns are the parameters of writeRunsQuery.
func (s *Store) columns(runs []*runChange) []any {
	var starts, changes []*runChange
	for _, run := range runs {
		if run.Start != nil {
			starts = append(starts, run)
		} else {
			changes = append(changes, run)
		}
	}
	return slices.Concat([]any{s.instance, s.millis()},
		conversationColumns(starts), startColumns(starts), changeColumns(changes), eventColumns(runs))
}

// writeInTx writes a batch with push configs and attachments. It returns the runs without those
// that have a config beyond the limit of their user, and the ids of the runs that were written.
func (s *Store) writeInTx(ctx context.Context, runs []*runChange) (admitted []*runChange, written map[string]bool, err error) {
	tx, err := begin(ctx, s.batches)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = tx.Rollback() }() // not after the commit
	if admitted, err = s.admitPushes(ctx, tx, runs); err != nil {
		return nil, nil, err
	}
	written, err = writtenRuns(tx.Tx.Tx.StmtContext(ctx, s.logStatements[writeRunsQuery]).QueryContext(ctx, s.columns(admitted)...))
	if err != nil {
		return nil, nil, err
	}
	for _, run := range admitted {
		start := run.Start
		if start == nil || !written[run.RunID] {
			continue
		}
		if start.Push != nil {
			if _, err := exec(ctx, tx, insertPush, pushValues(*start.Push, run.RunID, start.Caller, 0, s.millis())...); err != nil {
				return nil, nil, err
			}
		}
		if err := s.addAttachments(ctx, tx, run); err != nil {
			return nil, nil, err
		}
	}
	return admitted, written, tx.Commit()
}

// admitPushes returns runs without those that have a config beyond the limit of their user.
func (s *Store) admitPushes(ctx context.Context, tx *transaction, runs []*runChange) (admitted []*runChange, err error) {
	byOwner := slices.Clone(runs)
	// In one order for all processes: each waits for the others with a user.
	slices.SortStableFunc(byOwner, func(a, b *runChange) int { return strings.Compare(pushOwner(a), pushOwner(b)) })
	counts := map[string]int{}
	for _, run := range byOwner {
		owner := pushOwner(run)
		if owner == "" {
			continue
		}
		if _, counted := counts[owner]; !counted {
			if counts[owner], err = s.countPushes(ctx, tx, owner, domain.PushConfig{}); err != nil {
				return nil, err
			}
		}
		if err := checkPushes(counts[owner]); err != nil {
			run.err = fmt.Errorf("append to run: %w", err)
			continue
		}
		counts[owner]++
	}
	for _, run := range runs {
		if run.err == nil {
			admitted = append(admitted, run)
		}
	}
	return admitted, nil
}

// pushOwner is the user of a new run with a push config; "" for others.
func pushOwner(run *runChange) string {
	if run.Start == nil || run.Start.Push == nil {
		return ""
	}
	return run.Start.Caller.Username
}

// writtenRuns reads the answer of writeRunsQuery.
func writtenRuns(rows *sql.Rows, err error) (map[string]bool, error) {
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	written := map[string]bool{}
	for rows.Next() {
		var ids, none string
		if err := rows.Scan(&ids, &none); err != nil {
			return nil, err
		}
		for id := range strings.SplitSeq(ids, " ") {
			written[id] = true
		}
	}
	return written, rows.Err()
}

// refuse sets the errors of runs that were not written. The others are written even if this
// fails.
func (s *Store) refuse(ctx context.Context, runs []*runChange, written map[string]bool) error {
	for _, run := range runs {
		if written[run.RunID] {
			continue
		}
		if run.Start != nil {
			s.startAgain(ctx, run)
			continue
		}
		var exists bool
		err := s.GetContext(ctx, &exists, hasTask, run.RunID)
		run.refused(exists || err != nil)
	}
	return nil
}

// startAgain writes a new run whose message was sent before, if that is long ago.
func (s *Store) startAgain(ctx context.Context, run *runChange) {
	free := false
	err := s.inTx(ctx, "free message", func(tx *transaction) (err error) {
		free, err = freeMessage(ctx, tx, run, s.millis())
		return err
	})
	if err != nil {
		run.err = fmt.Errorf("append to run: %w", err)
	} else if free {
		s.writeRuns([]*runChange{run})
	}
}

// conversationColumns are those of new conversations, and of existing ones.
func conversationColumns(starts []*runChange) []any {
	type key struct{ owner, id string }
	seen := make(map[key]bool)
	// A statement can write a row only once. A conversation that one run creates is created
	// if it does not exist, although other runs found it.
	some := func(exists bool) (some []*domain.Question) {
		for _, run := range starts {
			k := key{run.Start.Caller.Username, run.Start.ConversationID}
			if run.Start.ConversationExists == exists && !seen[k] {
				seen[k] = true
				some = append(some, run.Start)
			}
		}
		return some
	}
	created, existing := some(false), some(true)
	owner := func(r *domain.Question) string { return r.Caller.Username }
	id := func(r *domain.Question) string { return r.ConversationID }
	title := func(r *domain.Question) string { return domain.Title(r.Text) }
	return []any{texts(created, owner), texts(created, id), texts(created, title), texts(existing, owner), texts(existing, id)}
}

func startColumns(runs []*runChange) []any {
	return slices.Concat([]any{
		texts(runs, func(r *runChange) string { return r.RunID }),
		texts(runs, func(r *runChange) string { return r.Start.Caller.Username }),
		texts(runs, func(r *runChange) string { return r.Start.ConversationID }),
		texts(runs, func(r *runChange) string { return r.Start.NamespaceID }),
		texts(runs, func(r *runChange) string { return r.Start.Caller.Restriction }),
		texts(runs, func(r *runChange) string { return r.Start.Agent }),
		texts(runs, func(r *runChange) string { return r.Start.Text }),
		texts(runs, func(r *runChange) string { return r.Start.Provider }),
		texts(runs, func(r *runChange) string { return r.Start.Model }),
		texts(runs, func(r *runChange) string { return r.Start.HelperPrompt }),
	}, stateColumns(runs), []any{
		texts(runs, func(r *runChange) string { return r.Holder }),
		texts(runs, func(r *runChange) string { return r.Start.Message.Key }),
		texts(runs, func(r *runChange) string { return r.Start.Message.Digest }),
		texts(runs, func(r *runChange) string { return r.Start.Locale }),
	})
}

func changeColumns(runs []*runChange) []any {
	return slices.Concat([]any{
		texts(runs, func(r *runChange) string { return r.RunID }),
		numbers(runs, func(r *runChange) int64 { return r.After }),
		texts(runs, func(r *runChange) string { return r.Holder }),
	}, stateColumns(runs))
}

func stateColumns(runs []*runChange) []any {
	return []any{
		texts(runs, func(r *runChange) string { return string(r.outcome().Status) }),
		texts(runs, func(r *runChange) string { return r.outcome().ErrorMessage }),
		texts(runs, func(r *runChange) string { return string(r.outcome().Result) }),
		texts(runs, func(r *runChange) string { return r.State }),
		texts(runs, func(r *runChange) string { return string(r.Snapshot) }),
		numbers(runs, (*runChange).last),
		texts(runs, func(r *runChange) string { return r.LastNodeID }),
		numbers(runs, (*runChange).statusAt),
	}
}

func eventColumns(runs []*runChange) []any {
	var ids, kinds, bodies pq.StringArray
	var numbers pq.Int64Array
	for _, run := range runs {
		for i := range run.Events {
			event := &run.Events[i]
			ids = append(ids, run.RunID)
			numbers = append(numbers, event.Number)
			kinds = append(kinds, string(event.Kind))
			bodies = append(bodies, string(event.Body))
		}
	}
	return []any{ids, numbers, kinds, bodies}
}
