package sqlstore

import (
	"context"
	"errors"
	"time"

	"parley/internal/domain"
)

// countLoad counts the open runs and ingestions of all users, for operators.
const countLoad = `
SELECT 'run' AS kind, t.state AS state, COUNT(*) AS n
FROM tasks t
WHERE t.open
GROUP BY t.state
UNION ALL
SELECT 'ingestion' AS kind, i.status AS state, COUNT(*) AS n
FROM ingestions i
WHERE i.status IN ('pending', 'processing')
GROUP BY i.status`

// Operation is a kind of database operation.
type Operation string

// The operations: a read, a transaction, and a batch of the log.
const (
	OperationRead  Operation = "read"
	OperationWrite Operation = "write"
	OperationLog   Operation = "log"
)

// Observer is called after operations of a store have been committed. It must not block.
type Observer interface {
	// Done reports how long an operation took, with the wait for a connection, and whether
	// the database failed.
	Done(op Operation, took time.Duration, failed bool)
	// Batch reports the runs and events of a batch of the log.
	Batch(runs, events int)
	RunStarted(agent string)
	RunEnded(status domain.RunStatus)
	// RunsClaimed reports runs that were taken over from dead hosts.
	RunsClaimed(count int)
	// IngestionEnded reports the final status of an ingestion.
	IngestionEnded(status domain.IngestionStatus, rows, bytes int64)
	// UploadsEnded reports files that were completed or aborted.
	UploadsEnded(status domain.UploadStatus, files int, bytes int64)
}

// noObserver is the Observer of a store that has none.
type noObserver struct{}

func (noObserver) Done(Operation, time.Duration, bool)                 {}
func (noObserver) Batch(int, int)                                      {}
func (noObserver) RunStarted(string)                                   {}
func (noObserver) RunEnded(domain.RunStatus)                           {}
func (noObserver) RunsClaimed(int)                                     {}
func (noObserver) IngestionEnded(domain.IngestionStatus, int64, int64) {}
func (noObserver) UploadsEnded(domain.UploadStatus, int, int64)        {}

// observe reports the end of an operation.
func (s *Store) observe(op Operation, since time.Time, err error) {
	s.observer.Done(op, time.Since(since), isFault(err))
}

// isFault reports whether an error is one of the database, rather than a result.
func isFault(err error) bool {
	switch kind := classify(err); {
	case kind == nil, errors.Is(kind, domain.ErrNotFound), errors.Is(kind, domain.ErrConflict), errors.Is(kind, context.Canceled):
		return false
	default:
		var known *domain.Error
		return !errors.As(kind, &known)
	}
}

// writeObserved is writeRuns, with its results reported.
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

// Load is the open work of all processes: open runs by the state of their task, and
// ingestions that have not ended.
type Load struct {
	Runs       map[string]int
	Ingestions map[domain.IngestionStatus]int
}

// Load counts the open work.
func (s *Store) Load(ctx context.Context) (Load, error) {
	var counts []struct {
		Kind  string
		State string
		Count int `db:"n"`
	}
	if err := s.SelectContext(ctx, &counts, countLoad); err != nil {
		return Load{}, wrap("count open runs and ingestions", err)
	}
	load := Load{Runs: map[string]int{}, Ingestions: map[domain.IngestionStatus]int{}}
	for _, row := range counts {
		if row.Kind == "run" {
			load.Runs[row.State] = row.Count
		} else {
			load.Ingestions[domain.IngestionStatus(row.State)] = row.Count
		}
	}
	return load, nil
}

// LogQueue returns the number of changes that the log has not written yet.
func (s *Store) LogQueue() int {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.pending
}
