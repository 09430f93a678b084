package lake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"parley/internal/fair"
	"parley/storage"
	"parley/storage/lake/worker"
)

// Config is how a pool works. The zero value of a field stands for its default.
type Config struct {
	// Workers is how many processes there are at the most, and so how many
	// queries run at once; by default one more than there are processors, three at
	// least.
	Workers int
	// UserWorkers is how many of them work for one user at a time; by default all
	// but one, where there are more than two.
	UserWorkers int
	// Queue is how many more queries may wait for a worker, UserQueue how many of
	// one user's; 4096 and 128 by default.
	Queue, UserQueue int
	// Memory is what DuckDB may use in one worker, in bytes; 1 GiB by default.
	Memory int64
	// Threads is how many threads one query uses; by default two, or what the
	// machine has.
	Threads int
	// Idle is how long a worker is kept warm without work; a minute by default.
	Idle time.Duration
	// Dir is for the workers' folders, into which files are linked: on the file system
	// of the datasets' files. By default it is the system's for temporary files.
	Dir string
	// Command says how to run engine.QueryMain in another process: by default this
	// executable with the argument "worker" and no environment.
	Command func() (path string, args, env []string)
	// Log gets what an operator should know; nil is for nothing.
	Log *slog.Logger

	// Isolation layers that tests leave out to see that the others hold: the check of
	// SQL, DuckDB's settings, the process's sandbox.
	unchecked, exposed, unconfined bool
}

// Pool runs queries in worker processes. It is safe for concurrent use.
type Pool struct {
	config Config
	queue  *fair.Queue
	cancel context.CancelFunc
	closed context.Context
	work   sync.WaitGroup
	warned sync.Once

	mu    sync.Mutex
	idle  []*parked
	stats Stats
}

// parked is a worker that waits for its next query.
type parked struct {
	*queryWorker
	timer *time.Timer
}

// Stats is what a pool is doing, and has done since it began.
type Stats struct {
	Running, Waiting, Idle int
	// Started counts worker processes, Ended those that were killed or died in
	// a query, Refused the queries that found the queue full.
	Started, Ended, Refused int64
}

// maxUses is how many queries a worker answers before another takes its place,
// so that whatever it leaks stays small.
const maxUses = 10_000

// NewPool makes a pool. No worker starts before the first query.
func NewPool(config Config) (*Pool, error) {
	if config.Workers <= 0 {
		config.Workers = max(runtime.GOMAXPROCS(0), 2) + 1
	}
	if config.UserWorkers <= 0 {
		config.UserWorkers = allButOne(config.Workers)
	}
	if config.Queue <= 0 {
		config.Queue = 4096
	}
	if config.UserQueue <= 0 {
		config.UserQueue = 128
	}
	if config.Memory <= 0 {
		config.Memory = 1 << 30
	}
	if config.Memory < 64<<20 {
		return nil, fmt.Errorf("a worker needs at least 64 MiB of memory, got %d bytes", config.Memory)
	}
	if config.Threads <= 0 {
		config.Threads = min(runtime.GOMAXPROCS(0), 2)
	}
	if config.Idle <= 0 {
		config.Idle = time.Minute
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	if config.Command == nil {
		config.Command = func() (string, []string, []string) { return worker.Executable(), []string{"worker"}, nil }
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	p := &Pool{config: config, queue: fair.New(fair.Config{
		What:  "queries",
		Slots: config.Workers, SlotsPerUser: config.UserWorkers,
		MaxQueued: config.Queue, MaxQueuedPerUser: config.UserQueue,
	})}
	p.closed, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// Close ends all workers, queries that run among them, and waits until they are
// gone. It may be called again.
func (p *Pool) Close() {
	p.cancel()
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, w := range idle {
		w.timer.Stop()
		w.kill()
	}
	p.work.Wait()
}

// Stats says what the pool is doing.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats, queue := p.stats, p.queue.Stats()
	stats.Idle, stats.Waiting, stats.Refused = len(p.idle), queue.Waiting, queue.Refused
	return stats
}

// errDeadline is why a query's context ends when its time is up.
var errDeadline = errors.New("the query's time is up")

// errClosed is why a query's context ends when the pool closes.
var errClosed = storage.Errorf(storage.ErrUnavailable, "the query engine is shutting down")

// admit waits for a user's slot among the running queries.
func (p *Pool) admit(ctx context.Context, user string) (*fair.Slot, error) {
	slot, err := p.queue.Acquire(user)
	if err != nil {
		return nil, err
	}
	if err := slot.Wait(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Running++
	return slot, nil
}

func (p *Pool) release(slot *fair.Slot) {
	p.mu.Lock()
	p.stats.Running--
	p.mu.Unlock()
	slot.Release()
}

// enter counts a task that Close waits for. It reports false when the pool is
// closed.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return false
	}
	p.work.Add(1)
	return true
}

// lease runs f with a worker for a query. f says whether the worker is
// as good as before. The context that f gets ends when the query's time is up and
// when the pool closes; waiting for a worker takes no time of the query's.
func (p *Pool) lease(ctx context.Context, q Query, f func(context.Context, *queryWorker) (keep bool, err error)) error {
	ctx, cancelCause := context.WithCancelCause(ctx)
	defer cancelCause(nil)
	defer context.AfterFunc(p.closed, func() { cancelCause(errClosed) })()
	if !p.enter() {
		return errClosed
	}
	defer p.work.Done()
	slot, err := p.admit(ctx, q.User)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, errDeadline)
	defer cancel()
	w, err := p.acquire(ctx, q)
	if err != nil {
		p.release(slot)
		return err
	}
	keep, err := f(ctx, w)
	w.uses, w.replies = w.uses+1, 0
	if keep && w.uses < maxUses && p.park(w) {
		slot.Release()
		return err
	}
	// The caller need not wait until the kernel has taken the worker down; the
	// next query must, or there would be more of them than allowed.
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		p.retire(w)
		p.release(slot)
	}()
	return err
}
