package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

const (
	// maxBatch and maxBatchBytes bound what is written in one transaction. A
	// single change may be larger.
	maxBatch      = 256
	maxBatchBytes = 4 << 20
)

// eventLog writes the changes of all runs, one batch after the other: whatever
// came while a batch was written is the next one. So a commit is shared by as
// many runs as are waiting, and nobody waits for a batch to fill.
type eventLog struct {
	// write writes runs, and leaves with each what came of it.
	write func(runs []*runChange)

	mu      sync.Mutex
	more    sync.Cond
	pending []appended
	closed  bool
	ended   chan struct{}
}

// appended is a change that waits to be written.
type appended struct {
	change storage.TaskChange
	done   func(error)
	// run is the change that it became part of.
	run *runChange
}

// runChange is the changes of one run in a batch, as one.
type runChange struct {
	storage.TaskChange
	err error
}

func startLog(write func(runs []*runChange)) *eventLog {
	l := &eventLog{write: write, ended: make(chan struct{})}
	l.more.L = &l.mu
	go l.work()
	return l
}

// Append implements storage.Tasks.
func (s *Store) Append(change storage.TaskChange, done func(error)) {
	if !s.log.append(appended{change: change, done: done}) {
		done(fmt.Errorf("append to run: the store is closed: %w", storage.ErrUnavailable))
	}
}

func (l *eventLog) append(a appended) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.pending = append(l.pending, a)
	l.more.Signal()
	return true
}

// close takes no more changes and waits until those that it has are written.
func (l *eventLog) close() {
	l.mu.Lock()
	l.closed = true
	l.more.Signal()
	l.mu.Unlock()
	<-l.ended
}

// wait gives what is pending, when there is something; nothing after the end.
// The pending ones are gathered in spare from then on.
func (l *eventLog) wait(spare []appended) []appended {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending) == 0 && !l.closed {
		l.more.Wait()
	}
	queue := l.pending
	l.pending = spare
	return queue
}

func (l *eventLog) work() {
	defer close(l.ended)
	var spare []appended
	for {
		queue := l.wait(spare)
		if len(queue) == 0 {
			return
		}
		for rest := queue; len(rest) > 0; {
			count, runs := coalesce(rest)
			l.write(runs)
			for _, a := range rest[:count] {
				a.done(a.run.err)
			}
			rest = rest[count:]
		}
		clear(queue)
		spare = queue[:0]
	}
}

// coalesce makes a batch of the first changes of a queue, with one change for
// each run, and says how many it took. It ends at a change that cannot be made
// one with those of its run before it: whether that one holds is only known when
// they are written.
func coalesce(queue []appended) (count int, runs []*runChange) {
	byRun := make(map[string]*runChange, min(len(queue), maxBatch))
	size := 0
	for count < len(queue) && count < maxBatch && size < maxBatchBytes {
		a := &queue[count]
		run := byRun[a.change.RunID]
		switch {
		case !valid(&a.change):
			a.run = &runChange{err: fmt.Errorf("append to run: %w", storage.ErrConflict)}
		case run == nil:
			a.run = newRunChange(a.change)
			byRun[a.change.RunID] = a.run
			runs = append(runs, a.run)
		case run.followedBy(&a.change):
			a.run = run
			run.join(&a.change)
		default:
			return count, runs
		}
		size += len(a.change.Snapshot)
		for i := range a.change.Events {
			size += len(a.change.Events[i].Body)
		}
		count++
	}
	return count, runs
}

// valid reports whether a change can hold at all: its events are in order, and
// somebody who does not hold the run only ends it.
func valid(change *storage.TaskChange) bool {
	for i, event := range change.Events {
		if event.Number != change.After+int64(i)+1 {
			return false
		}
	}
	if change.Start != nil {
		return change.After == 0
	}
	return change.Holder != "" || change.Outcome != nil
}

func newRunChange(change storage.TaskChange) *runChange {
	// What is joined to the events must not be written behind the caller's.
	change.Events = slices.Clip(change.Events)
	return &runChange{TaskChange: change}
}

// last is the number of the last event.
func (r *runChange) last() int64 { return r.After + int64(len(r.Events)) }

// followedBy reports whether a change holds for sure when r does.
func (r *runChange) followedBy(next *storage.TaskChange) bool {
	return r.Outcome == nil && next.Start == nil && next.After == r.last() &&
		(next.Holder == r.Holder || next.Holder == "")
}

func (r *runChange) join(next *storage.TaskChange) {
	r.Events = append(r.Events, next.Events...)
	r.State, r.StatusAt, r.Snapshot, r.Outcome = next.State, next.StatusAt, next.Snapshot, next.Outcome
	r.LastNodeID = cmp.Or(next.LastNodeID, r.LastNodeID)
}

// outcome is how the run stands after the change.
func (r *runChange) outcome() storage.RunOutcome {
	if r.Outcome == nil {
		return storage.RunOutcome{Status: storage.RunRunning}
	}
	return *r.Outcome
}

// writeRuns writes runs in one transaction; or, when the database refuses that,
// each in its own, so that one does no harm to the others.
func (s *Store) writeRuns(runs []*runChange) {
	if len(runs) == 0 {
		return
	}
	err := s.writeBatch(runs)
	if err == nil {
		return
	}
	if len(runs) > 1 && (isRollback(err) || !isUnavailable(err)) {
		for i := range runs {
			s.writeRuns(runs[i : i+1])
		}
		return
	}
	for _, run := range runs {
		run.err = fmt.Errorf("append to run: %w", appendError(run, err))
	}
}

// statusAt is the time of the status in milliseconds; 0 when it is not known.
func (r *runChange) statusAt() int64 {
	if r.StatusAt.IsZero() {
		return 0
	}
	return r.StatusAt.UnixMilli()
}

// appendError gives a refusal the kind under which it is answered.
func appendError(run *runChange, err error) error {
	if run.Start != nil && isForeignKeyViolation(err) {
		return storage.ErrNotFound // what it was asked in has gone just now
	}
	return classify(err)
}

func (s *Store) writeBatch(runs []*runChange) error {
	for try := 1; ; try++ {
		for _, run := range runs {
			run.err = nil
		}
		err := s.dialect.writeRuns(s, runs)
		if try == txTries || !isRollback(err) {
			return err
		}
	}
}

// freeMessage lets the message of a new run be sent again when it was sent long ago.
// Otherwise the run is refused, and the conversation that was begun for it is deleted.
func freeMessage(ctx context.Context, tx *sqlx.Tx, run *runChange, now int64) (bool, error) {
	start := run.Start
	n, err := exec(ctx, tx, `UPDATE runs SET message = NULL WHERE message = $1 AND created_at < $2`,
		start.Message.Key, now-storage.MessageRetention.Milliseconds())
	if err != nil || n > 0 {
		return n > 0, err
	}
	run.err = fmt.Errorf("append to run: %w", storage.ErrMessageSent)
	// Locked first, so that a run that somebody else adds to it now is seen.
	err = lockConversation(ctx, tx, start.Caller.Username, start.ConversationID)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = deleteEmptyConversation(ctx, tx, start.Caller.Username, start.ConversationID)
	}
	return false, err
}

// refused says that a run does not stand where its change goes on, or that it is
// gone.
func (r *runChange) refused(exists bool) {
	kind := storage.ErrNotFound
	if exists {
		kind = storage.ErrConflict
	}
	r.err = fmt.Errorf("append to run: %w", kind)
}

// prepareLog prepares the statements of the log once, before a transaction has
// the one connection there is.
func (s *Store) prepareLog(ctx context.Context, queries ...string) error {
	if s.logStatements != nil {
		return nil
	}
	statements := make(map[string]*sql.Stmt)
	for _, query := range queries {
		stmt, err := s.batches.PrepareContext(ctx, query)
		if err != nil {
			for _, earlier := range statements {
				_ = earlier.Close()
			}
			return err
		}
		statements[query] = stmt
	}
	s.logStatements = statements
	return nil
}
