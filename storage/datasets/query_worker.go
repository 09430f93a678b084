package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"parley/storage/datasets/sandbox"
)

// queryWorker is a worker process of a pool.
type queryWorker struct {
	*sandbox.Process
	user string
	// tables are those in its DuckDB, by name in lower case; of those inMemory it needs
	// no files.
	tables    map[string]Table
	inMemory  map[string]bool
	removeDir func()
	// uses counts its queries, replies its replies in the current one.
	uses, replies int
	// slow says that its priority is lower.
	slow bool
}

// errWorkerGone says that a worker ended while idle, so the query can be repeated.
var errWorkerGone = errors.New("worker ended while idle")

// ask is Ask, with errWorkerGone.
func (w *queryWorker) ask(ctx context.Context, req sandbox.Request, each func([]json.RawMessage) error) (sandbox.ReplyHead, []json.RawMessage, error) {
	head, rows, err := w.Ask(ctx, req, each)
	if sandbox.Gone(err) && w.uses > 0 && w.replies == 0 {
		err = errWorkerGone
	}
	w.replies++
	return head, rows, err
}

// kill ends the worker, waits until it is gone, and removes its folder.
func (w *queryWorker) kill() {
	w.Kill()
	w.removeDir()
}

// mayServe reports whether the worker is the user's, and the query may read every dataset
// that the worker has read.
func (w *queryWorker) mayServe(user string, readable map[string]bool) bool {
	if w.user != user {
		return false
	}
	for _, t := range w.tables {
		if !readable[t.ID] {
			return false
		}
	}
	return true
}

// compare returns the worker's tables that differ from the query's, to drop, and those of
// the named ones whose files it needs.
func (w *queryWorker) compare(tables []Table, named []string) (drop []string, need []Table) {
	current := make(map[string]Table, len(tables))
	for _, t := range tables {
		current[strings.ToLower(t.Name)] = t
	}
	stale := map[string]bool{}
	for key, t := range w.tables {
		if !reflect.DeepEqual(t, current[key]) {
			drop, stale[key] = append(drop, t.Name), true
		}
	}
	for _, name := range named {
		if key := strings.ToLower(name); stale[key] || !w.inMemory[key] {
			need = append(need, current[key])
		}
	}
	return drop, need
}

// acquire returns an idle worker that may serve the query, for a short one with the usual
// priority, or starts one. Where there are enough, the one that has been idle longest ends first.
func (p *Pool) acquire(ctx context.Context, q Query, short bool) (*queryWorker, error) {
	readable := make(map[string]bool, len(q.Tables))
	for _, t := range q.Tables {
		readable[t.ID] = true
	}
	for {
		w, victim := p.pick(q.User, readable, short)
		switch {
		case victim != nil:
			victim.kill()
		case w == nil:
			return p.start(ctx, q.User)
		case w.Alive():
			return w, nil
		default:
			w.kill()
		}
	}
}

// pick takes an idle worker that may serve the query. When there is none, and no room for
// a new one, it takes one that must end.
func (p *Pool) pick(user string, readable map[string]bool, short bool) (w, victim *queryWorker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, idle := range slices.Backward(p.idle) {
		if idle.mayServe(user, readable) && !(short && idle.slow) {
			return p.take(i), nil
		}
	}
	// The caller counts as running, and has no worker yet.
	if len(p.idle)+p.stats.Running > p.config.Workers+p.config.shortWorkers() && len(p.idle) > 0 {
		return nil, p.take(0)
	}
	return nil, nil
}

// take removes an idle worker from the list. The caller holds the lock.
func (p *Pool) take(i int) *queryWorker {
	w := p.idle[i]
	w.timer.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return w.queryWorker
}

// park adds a worker to the idle ones, false when the pool is closed.
func (p *Pool) park(w *queryWorker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil {
		return false
	}
	idle := &idleWorker{queryWorker: w}
	idle.timer = time.AfterFunc(p.config.Idle, func() {
		p.mu.Lock()
		at := slices.Index(p.idle, idle)
		if at >= 0 {
			p.take(at)
			p.work.Add(1)
			defer p.work.Done()
		}
		p.mu.Unlock()
		if at >= 0 {
			w.kill()
		}
	})
	p.idle = append(p.idle, idle)
	p.stats.Running--
	return true
}

func (p *Pool) retire(w *queryWorker) {
	w.kill()
	p.mu.Lock()
	p.stats.Ended++
	p.mu.Unlock()
	p.config.Log.Debug("worker ended", "pid", w.PID, "uses", w.uses, "crash", w.CrashReport())
}

func (p *Pool) start(ctx context.Context, user string) (*queryWorker, error) {
	dir, removeDir, err := makeWorkDir(p.config.Dir, p.config.Log)
	if err != nil {
		return nil, err
	}
	// A worker of a root server has another user: it can open files by name, not list them.
	if err = os.Chmod(dir, 0o711); err != nil {
		removeDir()
		return nil, fmt.Errorf("open a folder to a worker: %w", err)
	}
	path, args, env := p.config.Command()
	process, err := sandbox.StartQuery(ctx, sandbox.Spec{
		Path: path, Args: args, Tables: dir,
		// An arena for each thread would exceed the limit of address space.
		Env:        append([]string{"MALLOC_ARENA_MAX=2"}, env...),
		Unconfined: p.config.unconfined,
	}, sandbox.OpenRequest{Memory: p.config.Memory, Threads: p.config.Threads, Exposed: p.config.exposed})
	if err != nil {
		removeDir()
		return nil, err
	}
	w := &queryWorker{Process: process, user: user, tables: map[string]Table{}, inMemory: map[string]bool{}, removeDir: removeDir}
	p.mu.Lock()
	p.stats.Started++
	p.mu.Unlock()
	if len(w.Lacks) > 0 {
		p.warned.Do(func() {
			p.config.Log.Warn("query workers run without some protections that this system does not allow",
				"missing", strings.Join(w.Lacks, ", "))
		})
	}
	return w, nil
}
