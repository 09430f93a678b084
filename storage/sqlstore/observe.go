package sqlstore

import (
	"context"
	"errors"
	"time"

	"parley/storage"
)

// workToDo counts the open runs and the ingestions that have not ended,
// whoever's: for operators.
const workToDo = `
SELECT 'run' AS kind, t.state AS state, COUNT(*) AS n
FROM tasks t
WHERE t.open
GROUP BY t.state
UNION ALL
SELECT 'ingestion' AS kind, i.status AS state, COUNT(*) AS n
FROM ingestions i
WHERE i.status IN ('pending', 'processing')
GROUP BY i.status`

// Operation is a way in which the database is used.
type Operation string

// The operations: a read, a transaction, and a batch of the log.
const (
	OperationRead  Operation = "read"
	OperationWrite Operation = "write"
	OperationLog   Operation = "log"
)

// Observer hears of what a store has done, once that holds. It is called by
// those who did it, and must not keep them waiting.
type Observer interface {
	// Done says how long an operation took, waiting for the database included,
	// and whether the database failed it.
	Done(op Operation, took time.Duration, failed bool)
	// Batch says how many runs and events a batch of the log had.
	Batch(runs, events int)
	RunStarted(agent string)
	RunEnded(status storage.RunStatus)
	// RunsClaimed counts the runs that were taken over from hosts that have died.
	RunsClaimed(count int)
	// IngestionEnded says what an ingestion has come to.
	IngestionEnded(status storage.IngestionStatus, rows, bytes int64)
	// UploadsEnded says of some files that they are completed or aborted.
	UploadsEnded(status storage.UploadStatus, files int, bytes int64)
}

// noObserver is the Observer of a store that has none.
type noObserver struct{}

func (noObserver) Done(Operation, time.Duration, bool)                  {}
func (noObserver) Batch(int, int)                                       {}
func (noObserver) RunStarted(string)                                    {}
func (noObserver) RunEnded(storage.RunStatus)                           {}
func (noObserver) RunsClaimed(int)                                      {}
func (noObserver) IngestionEnded(storage.IngestionStatus, int64, int64) {}
func (noObserver) UploadsEnded(storage.UploadStatus, int, int64)        {}

// observe says that an operation has ended.
func (s *Store) observe(op Operation, since time.Time, err error) {
	s.observer.Done(op, time.Since(since), isFault(err))
}

// isFault reports whether an error is the database's, rather than an answer.
func isFault(err error) bool {
	switch kind := classify(err); {
	case kind == nil, errors.Is(kind, storage.ErrNotFound), errors.Is(kind, storage.ErrConflict), errors.Is(kind, context.Canceled):
		return false
	default:
		var said *storage.Error
		return !errors.As(kind, &said)
	}
}

// writeObserved is writeRuns, with what came of it told.
func (s *Store) writeObserved(runs []*runChange) {
	start := time.Now()
	s.writeRuns(runs)
	var failed error
	events := 0
	for _, run := range runs {
		if run.err != nil {
			failed = run.err
			continue
		}
		events += len(run.Events)
		if run.Start != nil {
			s.observer.RunStarted(run.Start.Agent)
		}
		if run.Outcome != nil {
			s.observer.RunEnded(run.Outcome.Status)
		}
	}
	s.observe(OperationLog, start, failed)
	s.observer.Batch(len(runs), events)
}

// Load is what is to be done or being done, by whichever process: open runs by
// the state of their task, and ingestions that have not ended.
type Load struct {
	Runs       map[string]int
	Ingestions map[storage.IngestionStatus]int
}

// Load counts what is to be done.
func (s *Store) Load(ctx context.Context) (Load, error) {
	var counts []struct {
		Kind  string
		State string
		Count int `db:"n"`
	}
	if err := s.SelectContext(ctx, &counts, workToDo); err != nil {
		return Load{}, wrap("count what is to be done", err)
	}
	load := Load{Runs: map[string]int{}, Ingestions: map[storage.IngestionStatus]int{}}
	for _, row := range counts {
		if row.Kind == "run" {
			load.Runs[row.State] = row.Count
		} else {
			load.Ingestions[storage.IngestionStatus(row.State)] = row.Count
		}
	}
	return load, nil
}

// LogQueue says how many changes wait for the log to write them.
func (s *Store) LogQueue() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return len(s.log.pending)
}
