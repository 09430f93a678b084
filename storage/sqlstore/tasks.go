package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// A page of events has at most eventPageText of them, and none after the one that
// brings it past eventPageBytes.
const (
	eventPageText  = "8"
	eventPageBytes = 1 << 20
)

var (
	selectRunTarget = parse(`SELECT n.id, ` + conversationBegun + ` AS begun` + fromNamespaces + namedNamespace)

	selectTask = parse(`
SELECT ` + taskColumns + `, ` + mayCancel + ` AS may_cancel` + fromRuns + `
	AND r.id = :run
	AND (:agent = '' OR r.agent = :agent)`)
	selectArtifactBytes = parse(`
SELECT COALESCE(SUM(octet_length(e.body)), 0)` + fromEvents + `
	AND r.id = :run
	AND e.run_id = :run
	AND e.kind = 'artifact'`)

	// The tasks of one agent, which are read in the order of an index, and of all agents.
	tasksOfAgent, tasksOfAll = newTaskList(`AND t.agent = :agent`), newTaskList(``)

	pageOfEvents = fromEvents + `
	AND r.id = :run
	AND e.run_id = :run
	AND e.number > :after
ORDER BY e.number
LIMIT ` + eventPageText
	listEvents     = parse(`SELECT e.number, e.kind, e.body` + pageOfEvents)
	listEventBytes = parse(`SELECT octet_length(e.body)` + pageOfEvents)

	listRecentTurns = newLimited(`
SELECT r.id, r.question, r.status, ` + turnResult + fromTurns + `
	AND r.conversation_id = :conversation
	AND r.status = 'completed'
ORDER BY r.created_at DESC, r.id DESC
LIMIT `)
)

// taskList is the statements of a list of tasks.
type taskList struct {
	count *statement
	page  limited
}

func newTaskList(condition string) taskList {
	from := fromRuns + `
	AND t.owner = :caller
	AND (:conversation = '' OR r.conversation_id = :conversation)
	AND (:state = '' OR t.state = :state)
	AND t.updated_at >= :since
	` + condition
	return taskList{
		count: parse(`SELECT COUNT(*)` + from),
		page: newLimited(`SELECT ` + taskColumns + from + `
	AND (:cursor_run = '' OR (t.updated_at, t.run_id) < (:cursor_time, :cursor_run))
ORDER BY t.updated_at DESC, t.run_id DESC
LIMIT `),
	}
}

// limited is a query that ends in LIMIT, with the numbers that it may have: as a
// parameter, SQLite would plan the query anew each time.
type limited map[int]*statement

func newLimited(query string) limited {
	all := limited{}
	for _, limit := range []int{10, 50, 101} {
		all[limit] = parse(query + strconv.Itoa(limit))
	}
	return all
}

// ResolveRun implements storage.Tasks.
func (s *Store) ResolveRun(ctx context.Context, caller storage.Caller, in storage.NamespaceRef, conversationID string) (storage.RunTarget, error) {
	a := inNamespace(caller, in)
	var found struct {
		ID    string        `db:"id"`
		Begun sql.NullInt64 `db:"begun"`
	}
	if conversationID == "" && in.Owner == caller.Username && !caller.Restricted() {
		if err := ownNamespaceID.get(ctx, s, &found.ID, a); err != nil {
			return storage.RunTarget{}, fmt.Errorf("find where to ask: %w", classify(err))
		}
		return storage.RunTarget{NamespaceID: found.ID}, nil
	}
	a["conversation"] = conversationID
	err := selectRunTarget.get(ctx, s, &found, a)
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
	var row struct {
		taskRow
		MayCancel bool `db:"may_cancel"`
	}
	err := selectTask.get(ctx, s, &row, by(caller, args{"run": runID, "agent": agent}))
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
	var bytes int
	if err := selectArtifactBytes.get(ctx, s, &bytes, by(caller, args{"run": runID})); err != nil {
		return 0, fmt.Errorf("measure artifacts: %w", classify(err))
	}
	return bytes, nil
}

// readArtifacts reads what makes up the artifacts of a run that was found.
func readArtifacts(ctx context.Context, q queryer, runID string, last int64) ([]storage.Event, error) {
	var rows []eventRow
	err := q.SelectContext(ctx, &rows, `
SELECT e.number, e.kind, e.body
FROM events e
WHERE e.run_id = $1
	AND e.number <= $2
	AND e.kind = 'artifact'
ORDER BY e.number`, runID, last)
	if err != nil {
		return nil, err
	}
	events := make([]storage.Event, len(rows))
	for i, row := range rows {
		events[i] = row.event()
	}
	return events, nil
}

// Tasks implements storage.Tasks.
func (s *Store) Tasks(ctx context.Context, caller storage.Caller, filter storage.TaskFilter) ([]storage.Task, int, error) {
	query := tasksOfAll
	if filter.Agent != "" {
		query = tasksOfAgent
	}
	since := int64(0)
	if !filter.UpdatedSince.IsZero() {
		since = filter.UpdatedSince.Add(time.Millisecond - 1).UnixMilli() // rounded up
	}
	var after storage.TaskCursor
	if filter.After != nil {
		after = *filter.After
	}
	a := by(caller, args{
		"agent": filter.Agent, "conversation": filter.ConversationID, "state": filter.State, "since": since,
		"cursor_run": after.RunID, "cursor_time": after.UpdatedAt.UnixMilli(),
	})
	var total int
	if err := query.count.get(ctx, s, &total, a); err != nil {
		return nil, 0, fmt.Errorf("count tasks: %w", classify(err))
	}
	var tasks []storage.Task
	err := s.someRows(ctx, filter.Limit, query.page, a, func(rows *sqlx.Rows) error {
		var row taskRow
		err := rows.StructScan(&row)
		tasks = append(tasks, row.task())
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list tasks: %w", classify(err))
	}
	return tasks, total, nil
}

// someRows reads at most limit rows, and at most 101.
func (s *Store) someRows(ctx context.Context, limit int, query limited, a args, scan func(rows *sqlx.Rows) error) error {
	most := 101
	switch {
	case limit <= 10:
		most = 10
	case limit <= 50:
		most = 50
	}
	count := 0
	return s.eachRow(ctx, query[most], a, func(rows *sqlx.Rows) error {
		if count++; count > limit {
			return errEnough
		}
		return scan(rows)
	})
}

// Events implements storage.Tasks.
func (s *Store) Events(ctx context.Context, caller storage.Caller, runID string, after int64) ([]storage.Event, error) {
	var events []storage.Event
	size := 0
	err := s.eachRow(ctx, listEvents, by(caller, args{"run": runID, "after": after}), func(rows *sqlx.Rows) error {
		if size > eventPageBytes {
			return errEnough
		}
		var row eventRow
		err := rows.Scan(&row.Number, &row.Kind, &row.Body)
		events = append(events, row.event())
		size += len(row.Body)
		return err
	})
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
	err = s.eachRow(ctx, listEventBytes, by(caller, args{"run": runID, "after": after}), func(rows *sqlx.Rows) error {
		if bytes > eventPageBytes {
			return errEnough
		}
		var size int
		err := rows.Scan(&size)
		bytes += size
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("measure events: %w", classify(err))
	}
	return bytes, nil
}

// RecentTurns implements storage.Tasks.
func (s *Store) RecentTurns(ctx context.Context, caller storage.Caller, conversationID string, limit int) ([]storage.Turn, error) {
	var turns []storage.Turn
	err := s.someRows(ctx, limit, listRecentTurns, by(caller, args{"conversation": conversationID}), func(rows *sqlx.Rows) error {
		var row turnRow
		err := rows.Scan(&row.ID, &row.Question, &row.Status, &row.Result, &row.Bytes)
		turns = append(turns, row.turn())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read recent turns: %w", classify(err))
	}
	return turns, nil
}
