package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// artifactEvents is the events e of run $1 up to number $2 that make up its
// artifacts. The run was found before: for its owner, or by a host.
const artifactEvents = `
SELECT e.number, e.kind, e.body
FROM events e
WHERE e.run_id = $1
	AND e.number <= $2
	AND e.kind = 'artifact'
ORDER BY e.number`

const (
	// A page of events has at most eventPageText of them, and none after the
	// one that brings it past eventPageBytes.
	eventPageText  = "8"
	eventPageBytes = 1 << 20
)

// ResolveRun implements storage.Tasks.
func (s *Store) ResolveRun(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, conversationID string) (storage.RunTarget, error) {
	const query = `
SELECT n.id, ` + conversationBegun + ` AS begun` + fromNamespaces + `
	AND n.owner = $3
	AND lower(n.name) = lower($4)`
	var found struct {
		ID    string        `db:"id"`
		Begun sql.NullInt64 `db:"begun"`
	}
	if conversationID == "" && in.Owner == caller.Username && !caller.Restricted() {
		if err := s.GetContext(ctx, &found.ID, ownNamespaceID, caller.Username, in.Name); err != nil {
			return storage.RunTarget{}, fmt.Errorf("find where to ask: %w", classify(err))
		}
		return storage.RunTarget{NamespaceID: found.ID}, nil
	}
	err := s.GetContext(ctx, &found, query, caller.Username, caller.Restriction, in.Owner, in.Name, conversationID)
	if err == nil && found.Begun.Valid && found.Begun.Int64 == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.RunTarget{}, fmt.Errorf("find where to ask: %w", classify(err))
	}
	return storage.RunTarget{NamespaceID: found.ID, ConversationExists: found.Begun.Valid}, nil
}

const taskColumns = `t.run_id, r.conversation_id, t.agent, t.state, t.open, t.snapshot, t.last_event, t.updated_at`

type taskRow struct {
	RunID          string `db:"run_id"`
	ConversationID string `db:"conversation_id"`
	Agent          string `db:"agent"`
	State          string `db:"state"`
	Open           bool   `db:"open"`
	Snapshot       []byte `db:"snapshot"`
	LastEvent      int64  `db:"last_event"`
	UpdatedAt      int64  `db:"updated_at"`
}

func (r taskRow) task() storage.Task {
	return storage.Task{
		RunID:          r.RunID,
		ConversationID: r.ConversationID,
		Agent:          r.Agent,
		State:          r.State,
		Open:           r.Open,
		Snapshot:       r.Snapshot,
		LastEvent:      r.LastEvent,
		UpdatedAt:      fromMillis(r.UpdatedAt),
	}
}

type eventRow struct {
	Number int64             `db:"number"`
	Kind   storage.EventKind `db:"kind"`
	Body   []byte            `db:"body"`
}

func (r eventRow) event() storage.Event {
	return storage.Event{Number: r.Number, Kind: r.Kind, Body: r.Body}
}

// Task implements storage.Tasks.
func (s *Store) Task(ctx context.Context, caller storage.Caller, agent, runID string, artifacts bool) (storage.Task, error) {
	const query = `
SELECT ` + taskColumns + `, ` + mayCancel + ` AS may_cancel` + fromRuns + `
	AND r.id = $3
	AND ($4 = '' OR r.agent = $4)`
	var row struct {
		taskRow
		MayCancel bool `db:"may_cancel"`
	}
	err := s.GetContext(ctx, &row, query, caller.Username, caller.Restriction, runID, agent)
	if err != nil {
		return storage.Task{}, fmt.Errorf("read task: %w", classify(err))
	}
	task := row.task()
	task.MayCancel = row.MayCancel
	if artifacts {
		// Events do not change: those up to the task's last are what the task
		// was read with.
		if task.Artifacts, err = readArtifacts(ctx, s, runID, task.LastEvent); err != nil {
			return storage.Task{}, fmt.Errorf("read artifacts: %w", classify(err))
		}
	}
	return task, nil
}

// ArtifactBytes implements storage.Tasks.
func (s *Store) ArtifactBytes(ctx context.Context, caller storage.Caller, runID string) (int, error) {
	const query = `
SELECT COALESCE(SUM(octet_length(e.body)), 0)` + fromEvents + `
	AND r.id = $3
	AND e.run_id = $3
	AND e.kind = 'artifact'`
	var bytes int
	if err := s.GetContext(ctx, &bytes, query, caller.Username, caller.Restriction, runID); err != nil {
		return 0, fmt.Errorf("measure artifacts: %w", classify(err))
	}
	return bytes, nil
}

// readArtifacts reads what makes up the artifacts of a run that was found.
func readArtifacts(ctx context.Context, q queryer, runID string, last int64) ([]storage.Event, error) {
	var rows []eventRow
	if err := q.SelectContext(ctx, &rows, artifactEvents, runID, last); err != nil {
		return nil, err
	}
	events := make([]storage.Event, len(rows))
	for i, row := range rows {
		events[i] = row.event()
	}
	return events, nil
}

// The tasks of a filter, of one agent or of all. The first is read in the order
// of an index.
const (
	filterTasks = fromRuns + `
	AND t.owner = $1
	AND ($4 = '' OR r.conversation_id = $4)
	AND ($5 = '' OR t.state = $5)
	AND t.updated_at >= $6`
	filterAgent = filterTasks + `
	AND t.agent = $3`
	filterAgents = filterTasks + `
	AND $3 = ''`
	pageOfTasks = `
	AND ($7 = '' OR (t.updated_at, t.run_id) < ($8, $7))
ORDER BY t.updated_at DESC, t.run_id DESC
LIMIT `
)

// Tasks implements storage.Tasks.
func (s *Store) Tasks(ctx context.Context, caller storage.Caller, filter storage.TaskFilter) ([]storage.Task, int, error) {
	from := filterAgents
	if filter.Agent != "" {
		from = filterAgent
	}
	since := int64(0)
	if !filter.UpdatedSince.IsZero() {
		since = filter.UpdatedSince.Add(time.Millisecond - 1).UnixMilli() // rounded up
	}
	var after storage.TaskCursor
	if filter.After != nil {
		after = *filter.After
	}
	args := []any{caller.Username, caller.Restriction, filter.Agent, filter.ConversationID, filter.State, since}
	var total int
	if err := s.GetContext(ctx, &total, `SELECT COUNT(*)`+from, args...); err != nil {
		return nil, 0, fmt.Errorf("count tasks: %w", classify(err))
	}
	var tasks []storage.Task
	err := s.someRows(ctx, filter.Limit, `SELECT `+taskColumns+from+pageOfTasks, func(rows *sqlx.Rows) error {
		var row taskRow
		err := rows.StructScan(&row)
		tasks = append(tasks, row.task())
		return err
	}, append(args, after.RunID, after.UpdatedAt.UnixMilli())...)
	if err != nil {
		return nil, 0, fmt.Errorf("list tasks: %w", classify(err))
	}
	return tasks, total, nil
}

// someRows reads at most limit rows, and at most 101. The query ends in LIMIT:
// with few numbers that are put there, there are few texts to prepare.
func (s *Store) someRows(ctx context.Context, limit int, query string, scan func(rows *sqlx.Rows) error, args ...any) error {
	most := "101"
	switch {
	case limit <= 10:
		most = "10"
	case limit <= 50:
		most = "50"
	}
	count := 0
	return s.eachRow(ctx, query+most, func(rows *sqlx.Rows) error {
		if count++; count > limit {
			return errEnough
		}
		return scan(rows)
	}, args...)
}

// pageOfEvents is the events of a page, of which eventPageBytes leaves out some.
const pageOfEvents = fromEvents + `
	AND r.id = $3
	AND e.run_id = $3
	AND e.number > $4
ORDER BY e.number
LIMIT ` + eventPageText

// Events implements storage.Tasks.
func (s *Store) Events(ctx context.Context, caller storage.Caller, runID string, after int64) ([]storage.Event, error) {
	var events []storage.Event
	size := 0
	err := s.eachRow(ctx, `SELECT e.number, e.kind, e.body`+pageOfEvents, func(rows *sqlx.Rows) error {
		if size > eventPageBytes {
			return errEnough
		}
		var row eventRow
		err := rows.Scan(&row.Number, &row.Kind, &row.Body)
		events = append(events, row.event())
		size += len(row.Body)
		return err
	}, caller.Username, caller.Restriction, runID, after)
	if err == nil && len(events) == 0 {
		_, err = readRun(ctx, s, caller, runID)
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", classify(err))
	}
	return events, nil
}

// EventBytes implements storage.Tasks.
func (s *Store) EventBytes(ctx context.Context, caller storage.Caller, runID string, after int64) (bytes int, err error) {
	err = s.eachRow(ctx, `SELECT octet_length(e.body)`+pageOfEvents, func(rows *sqlx.Rows) error {
		if bytes > eventPageBytes {
			return errEnough
		}
		var size int
		err := rows.Scan(&size)
		bytes += size
		return err
	}, caller.Username, caller.Restriction, runID, after)
	if err != nil {
		return 0, fmt.Errorf("measure events: %w", classify(err))
	}
	return bytes, nil
}

// RecentTurns implements storage.Tasks.
func (s *Store) RecentTurns(ctx context.Context, caller storage.Caller, conversationID string, limit int) ([]storage.Turn, error) {
	const query = `
SELECT r.id, r.question, r.status, ` + turnResult + fromTurns + `
	AND r.conversation_id = $3
	AND r.status = 'completed'
ORDER BY r.created_at DESC, r.id DESC
LIMIT `
	var turns []storage.Turn
	err := s.someRows(ctx, limit, query, func(rows *sqlx.Rows) error {
		var row turnRow
		err := rows.Scan(&row.ID, &row.Question, &row.Status, &row.Result, &row.Bytes)
		turns = append(turns, row.turn())
		return err
	}, caller.Username, caller.Restriction, conversationID)
	if err != nil {
		return nil, fmt.Errorf("read recent turns: %w", classify(err))
	}
	return turns, nil
}
