package datasets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/lru"
	"parley/storage/datasets/sandbox"
)

// PoolConfig is how a pool works. The zero value of a field stands for its default.
type PoolConfig struct {
	// Workers limits the queries that run at once; by default one more than there are
	// processors, at least three. One process more, or an eighth, runs short queries of users
	// who wait.
	Workers int
	// UserWorkers limits those of one user; by default all but one of more than two.
	UserWorkers int
	// Queue limits the queries that wait, UserQueue those of one user; by default 4096
	// and 128.
	Queue, UserQueue int
	// Memory limits DuckDB in one worker, in bytes; 768 MiB by default. The whole worker may use
	// 256 MiB more.
	Memory int64
	// Threads is the number for one query; by default two, or what the machine has.
	Threads int
	// Idle is how long a worker is kept warm without work; a minute by default.
	Idle time.Duration
	// Dir is for the workers' folders, on the file system of the datasets' files; by
	// default the system's folder for temporary files.
	Dir string
	// Command says how to run engine.QueryMain in another process: by default this
	// executable with the argument "worker" and no environment.
	Command func() (path string, args, env []string)
	// Log may be nil.
	Log *slog.Logger

	// Tests switch off isolation layers: the check of SQL, DuckDB's settings, the sandbox.
	unchecked, exposed, unconfined bool
}

// Pool runs queries in worker processes. It is safe for concurrent use.
type Pool struct {
	config PoolConfig
	lanes  lanes
	cancel context.CancelFunc
	closed context.Context
	work   sync.WaitGroup
	warned sync.Once
	// facts are what the join guard has measured.
	facts *lru.Cache[string, json.RawMessage]

	mu    sync.Mutex
	idle  []*idleWorker
	stats Stats
}

// idleWorker waits for its next query.
type idleWorker struct {
	*queryWorker
	timer *time.Timer
}

// Stats are the state and the counters of a pool.
type Stats struct {
	Running, Waiting, Idle int
	// Started counts worker processes, Ended those that were killed or died in a query,
	// Refused the queries that found the queue full.
	Started, Ended, Refused int64
}

// maxFacts limits what is cached of the join guard's measures, in bytes.
const maxFacts = 8 << 20

// maxUses limits the queries of one worker, and so what it can leak.
const maxUses = 10_000

// NewPool makes a pool. No worker starts before the first query.
func NewPool(config PoolConfig) (*Pool, error) {
	config.Workers = cmp.Or(config.Workers, max(runtime.GOMAXPROCS(0), 2)+1)
	config.UserWorkers = cmp.Or(config.UserWorkers, allButOne(config.Workers))
	config.Queue = cmp.Or(config.Queue, 4096)
	config.UserQueue = cmp.Or(config.UserQueue, 128)
	config.Memory = cmp.Or(config.Memory, 768<<20)
	config.Threads = cmp.Or(config.Threads, min(runtime.GOMAXPROCS(0), 2))
	config.Idle = cmp.Or(config.Idle, time.Minute)
	config.Dir = cmp.Or(config.Dir, os.TempDir())
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	if config.Memory < 64<<20 {
		return nil, fmt.Errorf("a worker needs at least 64 MiB of memory, got %d bytes", config.Memory)
	}
	if config.Command == nil {
		config.Command = func() (string, []string, []string) { return sandbox.Executable(), []string{"worker"}, nil }
	}
	meter := queryMeter()
	p := &Pool{config: config, facts: lru.New[string, json.RawMessage](maxFacts), lanes: lanes{
		meter: meter,
		usual: fair.New(fair.Config{
			What:  "queries",
			Slots: config.Workers, SlotsPerUser: config.UserWorkers,
			MaxQueued: config.Queue, MaxQueuedPerUser: config.UserQueue, Usage: meter.usage,
		}),
		short: fair.New(fair.Config{Slots: config.shortWorkers(), SlotsPerUser: 1, Usage: meter.usage, RequestUsage: meter.slice}),
	}}
	p.closed, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// shortWorkers is how many workers are for short queries.
func (c PoolConfig) shortWorkers() int { return max(1, c.Workers/8) }

// Close ends all workers and running queries, and waits for that. It may be called again.
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

// Stats returns the state and the counters.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	stats := p.stats
	stats.Idle, stats.Waiting, stats.Refused = len(p.idle), p.lanes.waits(), p.lanes.usual.Stats().Refused
	return stats
}

// errDeadline is the cause when a query times out.
var errDeadline = errors.New("the query's time is up")

// errClosed is the cause when the pool closes.
var errClosed = domain.Errorf(domain.ErrUnavailable, "the query engine is shutting down")

// enter counts a task that Close waits for, false when the pool is closed.
func (p *Pool) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return false
	}
	p.work.Add(1)
	return true
}

// lease runs f with a worker for a query, perhaps twice: a query that is too long for a worker
// for short queries starts again on another one. f reports whether the worker can be reused. Its
// context ends when the query times out, which does not count the wait for a worker, and when
// the pool closes.
func (p *Pool) lease(ctx context.Context, q Query, f func(context.Context, *queryWorker) (keep bool, err error)) error {
	ctx, cancelCause := context.WithCancelCause(ctx)
	defer cancelCause(nil)
	defer context.AfterFunc(p.closed, func() { cancelCause(errClosed) })()
	if !p.enter() {
		return errClosed
	}
	defer p.work.Done()
	usual, err := p.lanes.usual.Acquire(q.User)
	if err != nil {
		return err
	}
	return p.lanes.run(ctx, q.User, usual, nil, func(ctx context.Context, l lane) error { return p.use(ctx, q, l, f) })
}

// use runs f with a worker, and then frees the worker, also when f panics.
func (p *Pool) use(ctx context.Context, q Query, l lane, f func(context.Context, *queryWorker) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout, errDeadline)
	defer cancel()
	p.mu.Lock()
	p.stats.Running++
	p.mu.Unlock()
	w, err := p.acquire(ctx, q, l.short)
	if err != nil {
		p.release(l)
		return err
	}
	keep := false
	defer func() {
		w.uses, w.replies = w.uses+1, 0
		if keep && w.uses < maxUses && !w.Large() && p.park(w) {
			l.release()
			return
		}
		// The next query waits until the process has ended, the caller does not.
		p.work.Add(1)
		go func() {
			defer p.work.Done()
			p.retire(w)
			p.release(l)
		}()
	}()
	slow := func() {
		w.LowerPriority()
		w.slow = true
	}
	return p.lanes.meter.run(ctx, q.User, l.short, w.ProcessorTime, slow, func(ctx context.Context) (err error) {
		keep, err = f(ctx, w)
		return err
	})
}

func (p *Pool) release(l lane) {
	p.mu.Lock()
	p.stats.Running--
	p.mu.Unlock()
	l.release()
}
