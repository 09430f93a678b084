package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"parley/internal/domain"
)

const (
	// maxBatch and maxBatchBytes limit the changes of one transaction, apart from the size of
	// the first one. Other writers of the embedded database wait for a whole transaction.
	maxBatch      = 256
	maxBatchBytes = 1 << 20
)

// eventLog writes the changes of all runs in batches: changes that arrive while a batch is
// written are the next batches. So all waiting runs share a commit, and no run waits for a
// batch to fill.
type eventLog struct {
	// write writes runs, and sets the error of each.
	write func(runs []*runChange)

	mu   sync.Mutex
	more sync.Cond
	// owners has those with pending changes, and turns has them in the order of their turns.
	owners map[string]*ownerChanges
	turns  []*ownerChanges
	// pending counts the changes that were not taken for a batch yet.
	pending int
	closed  bool
	ended   chan struct{}
}

// ownerChanges are the pending changes of one owner, in order.
type ownerChanges struct {
	name    string
	changes []appended
}

// appended is a change that waits to be written.
type appended struct {
	change domain.TaskChange
	done   func(error)
	// run is the change that it became part of.
	run *runChange
}

// runChange is all changes of one run in a batch, merged.
type runChange struct {
	domain.TaskChange
	err error
}

func startLog(write func(runs []*runChange)) *eventLog {
	l := &eventLog{write: write, owners: map[string]*ownerChanges{}, ended: make(chan struct{})}
	l.more.L = &l.mu
	go l.work()
	return l
}

// Append writes a change and then calls done: with ErrConflict when the change does not follow
// the last event, with ErrNotFound when the run, its namespace or its conversation was deleted,
// with ErrMessageSent when the run's message has made a run before. A change after the start of
// a run records that its agent has started; it may have no events. Changes of one run are
// written in order; one that follows a failed one fails. Append does not block, and done must
// not.
func (s *Store) Append(change domain.TaskChange, done func(error)) {
	if !s.log.append(appended{change: change, done: done}) {
		done(fmt.Errorf("append to run: the store is closed: %w", domain.ErrUnavailable))
	}
}

func (l *eventLog) append(a appended) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	owner := l.owners[a.change.Owner]
	if owner == nil {
		owner = &ownerChanges{name: a.change.Owner}
		l.owners[owner.name] = owner
		l.turns = append(l.turns, owner)
	}
	owner.changes = append(owner.changes, a)
	l.pending++
	l.more.Signal()
	return true
}

// close refuses new changes and waits until the pending ones are written.
func (l *eventLog) close() {
	l.mu.Lock()
	l.closed = true
	l.more.Signal()
	l.mu.Unlock()
	<-l.ended
}

// wait waits for pending changes and takes the next batch; none after close.
func (l *eventLog) wait(batch []appended) ([]appended, []*runChange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending == 0 && !l.closed {
		l.more.Wait()
	}
	return l.take(batch)
}

func (l *eventLog) work() {
	defer close(l.ended)
	var batch []appended
	for {
		var runs []*runChange
		if batch, runs = l.wait(batch); len(batch) == 0 {
			return
		}
		l.write(runs)
		for _, a := range batch {
			a.done(a.run.err)
		}
		clear(batch)
		batch = batch[:0]
	}
}

// take takes a batch of pending changes, with one change for each run. Owners take turns with
// one change each. A change that would make the batch too large waits for the next one, but not
// the smaller ones of other owners: they do not wait for large changes.
func (l *eventLog) take(batch []appended) ([]appended, []*runChange) {
	var (
		byRun   = make(map[string]*runChange, min(l.pending, maxBatch))
		runs    []*runChange
		waiting []*ownerChanges
		size    = 0
	)
	for len(l.turns) > 0 && len(batch) < maxBatch {
		owner := l.turns[0]
		l.turns = l.turns[1:]
		a := owner.changes[0]
		run := byRun[a.change.RunID]
		bytes := a.bytes()
		switch {
		case len(batch) > 0 && size+bytes > maxBatchBytes:
			waiting = append(waiting, owner)
			continue
		case !valid(&a.change):
			a.run = &runChange{err: fmt.Errorf("append to run: %w", domain.ErrConflict)}
		case run == nil:
			a.run = newRunChange(a.change)
			byRun[a.change.RunID] = a.run
			runs = append(runs, a.run)
		case run.followedBy(&a.change):
			a.run = run
			run.join(&a.change)
		default: // whether it is valid is known only after the earlier ones are written
			waiting = append(waiting, owner)
			continue
		}
		if len(batch) > 0 {
			size += bytes
		}
		batch = append(batch, a)
		l.pending--
		owner.changes[0] = appended{}
		if owner.changes = owner.changes[1:]; len(owner.changes) > 0 {
			l.turns = append(l.turns, owner)
		} else {
			delete(l.owners, owner.name)
		}
	}
	l.turns = slices.Concat(waiting, l.turns)
	return batch, runs
}

// bytes is about how much is written for a change.
func (a *appended) bytes() int {
	size := len(a.change.Snapshot)
	for i := range a.change.Events {
		size += len(a.change.Events[i].Body)
	}
	if a.change.Outcome != nil {
		size += len(a.change.Outcome.Result)
	}
	return size
}

// valid reports whether a change can be valid: its events are in order, and a writer that
// does not hold the run only ends it.
func valid(change *domain.TaskChange) bool {
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

func newRunChange(change domain.TaskChange) *runChange {
	// Appending must not write into the array of the caller.
	change.Events = slices.Clip(change.Events)
	return &runChange{TaskChange: change}
}

// last is the number of the last event.
func (r *runChange) last() int64 { return r.After + int64(len(r.Events)) }

// followedBy reports whether a change is valid if r is.
func (r *runChange) followedBy(next *domain.TaskChange) bool {
	return r.Outcome == nil && next.Start == nil && next.After == r.last() &&
		(next.Holder == r.Holder || next.Holder == "")
}

func (r *runChange) join(next *domain.TaskChange) {
	r.Events = append(r.Events, next.Events...)
	r.State, r.StatusAt, r.Snapshot, r.Outcome = next.State, next.StatusAt, next.Snapshot, next.Outcome
	r.LastNodeID = cmp.Or(next.LastNodeID, r.LastNodeID)
}

// outcome is the outcome of the run after the change.
func (r *runChange) outcome() domain.RunOutcome {
	if r.Outcome == nil {
		return domain.RunOutcome{Status: domain.RunRunning}
	}
	return *r.Outcome
}

// writeRuns writes runs in one transaction. If the database refuses it, it writes each run
// in its own transaction, so that a wrong one does not affect others.
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

// appendError gives an error its kind.
func appendError(run *runChange, err error) error {
	if run.Start != nil && isForeignKeyViolation(err) {
		return domain.ErrNotFound // its namespace or conversation was deleted meanwhile
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

// freeMessage allows a new run whose message was sent before, if that is long ago. Otherwise
// it refuses the run, and deletes the conversation that was created for it.
func freeMessage(ctx context.Context, tx *transaction, run *runChange, now int64) (bool, error) {
	start := run.Start
	n, err := exec(ctx, tx, `
UPDATE runs
SET message = NULL
WHERE owner = $1
	AND agent = $2
	AND message = $3
	AND created_at < $4`, start.Caller.Username, start.Agent, start.Message.Key, now-domain.MessageRetention.Milliseconds())
	if err != nil || n > 0 {
		return n > 0, err
	}
	run.err = fmt.Errorf("append to run: %w", domain.ErrMessageSent)
	// Locked first, to see a run that another transaction adds to it now.
	err = lockConversation(ctx, tx, start.Caller.Username, start.ConversationID)
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = deleteEmptyConversation(ctx, tx, start.Caller.Username, start.ConversationID)
	}
	return false, err
}

// refused sets the error of a run whose last event is another one than the change expects,
// or that does not exist.
func (r *runChange) refused(exists bool) {
	kind := domain.ErrNotFound
	if exists {
		kind = domain.ErrConflict
	}
	r.err = fmt.Errorf("append to run: %w", kind)
}

// prepareLog prepares the statements of the log once, before a transaction has the only
// connection.
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
