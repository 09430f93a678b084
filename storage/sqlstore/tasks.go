package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/domain"
)

// A page of events has at most eventPageText of them, and none after the one that
// brings it past eventPageBytes.
const (
	eventPageText  = "8"
	eventPageBytes = 1 << 20
)

var (
	selectRunTarget = parse(`SELECT n.id, ` + conversationCovered + ` AS covered` + fromNamespaces + namedNamespace)
	selectNoTarget  = parse(`SELECT '' AS id, ` + conversationCovered + ` AS covered`)

	// Not one query with OR: SQLite would read all runs of the caller.
	selectSentRun = parse(sentRun + `
	AND r.message = :message
UNION ALL` + sentRun + `
	AND r.answer = :message`)

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

const sentRun = `
SELECT r.id, r.digest
FROM runs r
WHERE ` + ownRun + `
	AND r.agent = :agent
	AND r.created_at >= :since`

// taskList is the statements of a list of tasks.
type taskList struct {
	count       *statement
	page, sizes limited
}

func newTaskList(condition string) taskList {
	from := fromRuns + `
	AND t.owner = :caller
	AND (:conversation = '' OR r.conversation_id = :conversation)
	AND (:state = '' OR t.state = :state)
	AND COALESCE(t.status_at, t.updated_at) >= :since
	` + condition
	page := from + `
	AND (:cursor_run = '' OR (t.updated_at, t.run_id) < (:cursor_time, :cursor_run))
ORDER BY t.updated_at DESC, t.run_id DESC
LIMIT `
	return taskList{
		count: parse(`SELECT COUNT(*)` + from),
		page:  newLimited(`SELECT ` + taskColumns + page),
		sizes: newLimited(`SELECT octet_length(t.snapshot)` + page),
	}
}

// limited is a query that ends in LIMIT, with the numbers that it may have: as a
// parameter, SQLite would plan the query again each time.
type limited map[int]*statement

func newLimited(query string) limited {
	all := limited{}
	for _, limit := range []int{10, 50, 101} {
		all[limit] = parse(query + strconv.Itoa(limit))
	}
	return all
}

// ResolveRun finds where to create a run and sets it in the question: in a namespace that the
// caller may read, if it names one, and in a conversation, or a new one if its id is "". A
// conversation that the caller's token does not cover is ErrNoConversation; one that does not
// exist is no error.
func (s *Store) ResolveRun(ctx context.Context, request *domain.Question) error {
	caller := request.Caller
	var found struct {
		ID      string
		Covered sql.NullInt64
	}
	var err error
	a := inNamespace(caller, request.Namespace)
	a["conversation"] = request.ConversationID
	switch {
	case request.Namespace == domain.NamespaceRef{}:
		err = selectNoTarget.get(ctx, s, &found, a)
	case request.ConversationID == "" && request.Namespace.Owner == caller.Username && !caller.Restricted():
		err = s.GetContext(ctx, &found.ID, selectOwnTarget, caller.Username, request.Namespace.Name)
	default:
		err = selectRunTarget.get(ctx, s, &found, a)
	}
	if err == nil && found.Covered.Valid && found.Covered.Int64 == 0 {
		err = domain.ErrNoConversation
	}
	if err != nil {
		return wrap("find where to ask", err)
	}
	request.NamespaceID, request.ConversationExists = found.ID, found.Covered.Valid
	return nil
}

// SentRun returns the id of the run that a message of the caller has made or answered, and the
// digest of the one that made it.
func (s *Store) SentRun(ctx context.Context, caller domain.Caller, agent, key string) (runID, digest string, err error) {
	var found struct{ ID, Digest string }
	err = selectSentRun.get(ctx, s, &found, by(caller, args{"agent": agent, "message": key, "since": s.messagesSince()}))
	return found.ID, found.Digest, wrap("find the run of a message", err)
}

// messagesSince is when the oldest message that is known was sent.
func (s *Store) messagesSince() int64 { return s.millis() - domain.MessageRetention.Milliseconds() }

const taskColumns = `t.run_id, r.conversation_id, t.agent, t.state, t.open, t.snapshot, t.last_event, t.updated_at`

type taskRow struct {
	domain.Task
	Snapshot  []byte
	UpdatedAt int64
}

func (r taskRow) task() domain.Task {
	r.Task.Snapshot, r.Task.UpdatedAt = r.Snapshot, fromMillis(r.UpdatedAt)
	return r.Task
}

type eventRow struct {
	domain.Event
	Body []byte
}

func (r eventRow) event() domain.Event {
	r.Event.Body = r.Body
	return r.Event
}

// Task returns the task of one of the caller's runs by an agent; "" for any.
func (s *Store) Task(ctx context.Context, caller domain.Caller, agent, runID string, artifacts bool) (domain.Task, error) {
	var row taskRow
	err := selectTask.get(ctx, s, &row, by(caller, args{"run": runID, "agent": agent}))
	if err != nil {
		return domain.Task{}, wrap("read task", err)
	}
	task := row.task()
	if artifacts {
		// Events do not change: those up to the task's last are what the task
		// was read with.
		if task.Artifacts, err = readArtifacts(ctx, s, runID, task.LastEvent); err != nil {
			return domain.Task{}, wrap("read artifacts", err)
		}
	}
	return task, nil
}

// ArtifactBytes returns the size of the artifacts of one of the caller's runs; 0 when there is
// no such run.
func (s *Store) ArtifactBytes(ctx context.Context, caller domain.Caller, runID string) (int, error) {
	var bytes int
	err := selectArtifactBytes.get(ctx, s, &bytes, by(caller, args{"run": runID}))
	return bytes, wrap("measure artifacts", err)
}

// readArtifacts reads what makes up the artifacts of a run that was found.
func readArtifacts(ctx context.Context, q queryer, runID string, last int64) ([]domain.Event, error) {
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
	return each(rows, eventRow.event), nil
}

// Tasks lists the caller's tasks, the last changed first. total ignores the limit and the
// cursor.
func (s *Store) Tasks(ctx context.Context, caller domain.Caller, filter domain.TaskFilter) ([]domain.Task, int, error) {
	query, a := listTasks(caller, filter)
	var total int
	if err := query.count.get(ctx, s, &total, a); err != nil {
		return nil, 0, wrap("count tasks", err)
	}
	var tasks []domain.Task
	err := s.someRows(ctx, filter.Limit, query.page, a, func(rows *sqlx.Rows) error {
		var row taskRow
		err := rows.StructScan(&row)
		tasks = append(tasks, row.task())
		return err
	})
	return tasks, total, wrap("list tasks", err)
}

// TaskSizes returns the sizes of the snapshots that Tasks would return, in bytes.
func (s *Store) TaskSizes(ctx context.Context, caller domain.Caller, filter domain.TaskFilter) ([]int, error) {
	query, a := listTasks(caller, filter)
	var sizes []int
	err := s.someRows(ctx, filter.Limit, query.sizes, a, func(rows *sqlx.Rows) error {
		var size int
		err := rows.Scan(&size)
		sizes = append(sizes, size)
		return err
	})
	return sizes, wrap("measure tasks", err)
}

// listTasks returns the statements for a filter, and their parameters.
func listTasks(caller domain.Caller, filter domain.TaskFilter) (taskList, args) {
	query := tasksOfAll
	if filter.Agent != "" {
		query = tasksOfAgent
	}
	since := int64(0)
	if !filter.StatusSince.IsZero() {
		since = filter.StatusSince.Add(time.Millisecond - 1).UnixMilli() // rounded up
	}
	return query, by(caller, args{
		"agent": filter.Agent, "conversation": filter.ConversationID, "state": filter.State, "since": since,
		"cursor_run": filter.After.RunID, "cursor_time": filter.After.UpdatedAt.UnixMilli(),
	})
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

// Events returns the next events of a run after a number, in order; none when there are none
// yet.
func (s *Store) Events(ctx context.Context, caller domain.Caller, runID string, after int64) ([]domain.Event, error) {
	var events []domain.Event
	size := 0
	err := s.eachRow(ctx, listEvents, by(caller, args{"run": runID, "after": after}), func(rows *sqlx.Rows) error {
		if size > eventPageBytes {
			return errEnough
		}
		var event domain.Event
		err := rows.Scan(&event.Number, &event.Kind, (*[]byte)(&event.Body))
		events = append(events, event)
		size += len(event.Body)
		return err
	})
	if err == nil && len(events) == 0 {
		_, err = readRun(ctx, s, caller, runID)
	}
	return events, wrap("read events", err)
}

// EventBytes returns the size of what Events would return; 0 for none.
func (s *Store) EventBytes(ctx context.Context, caller domain.Caller, runID string, after int64) (bytes int, err error) {
	err = s.eachRow(ctx, listEventBytes, by(caller, args{"run": runID, "after": after}), func(rows *sqlx.Rows) error {
		if bytes > eventPageBytes {
			return errEnough
		}
		var size int
		err := rows.Scan(&size)
		bytes += size
		return err
	})
	return bytes, wrap("measure events", err)
}

// RecentTurns returns the last completed turns of a conversation, at most limit, latest first,
// without large results, as Conversation does. None when there is no such conversation.
func (s *Store) RecentTurns(ctx context.Context, caller domain.Caller, conversationID string, limit int) ([]domain.Run, error) {
	var turns []domain.Run
	err := s.someRows(ctx, limit, listRecentTurns, by(caller, args{"conversation": conversationID}), func(rows *sqlx.Rows) error {
		var turn domain.Run
		err := rows.Scan(&turn.ID, &turn.Question, &turn.Status, (*[]byte)(&turn.Result), &turn.ResultBytes)
		turns = append(turns, turn)
		return err
	})
	return turns, wrap("read recent turns", err)
}
