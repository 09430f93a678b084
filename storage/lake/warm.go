package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/storage/lake/worker"
)

// queryWorker is a worker process of a pool.
type queryWorker struct {
	*worker.Process
	key string
	// has are the tables whose files it has; nil is for all that its key names.
	// release releases the files, and startEpoch is how often the pool had released
	// files when it was started.
	has        map[string]bool
	release    func()
	startEpoch int64
	// uses counts the queries that it has answered, replies those to the present one.
	uses, replies int
}

// errWorkerGone says that a warm worker ended before it had anything to do with
// the query.
var errWorkerGone = errors.New("worker ended while idle")

// ask is Ask, which tells when the worker had ended before.
func (w *queryWorker) ask(ctx context.Context, req worker.Request) (worker.ReplyHead, []json.RawMessage, error) {
	head, rows, err := w.Ask(ctx, req)
	if worker.Gone(err) && w.uses > 0 && w.replies == 0 {
		err = errWorkerGone
	}
	w.replies++
	return head, rows, err
}

// kill ends the worker, waits until it is gone, and releases its files.
func (w *queryWorker) kill() {
	w.Kill()
	if w.release != nil {
		w.release()
	}
}

// hasAll reports whether it has the files of all tables.
func (w *queryWorker) hasAll(tables []string) bool {
	return w.has == nil || !slices.ContainsFunc(tables, func(name string) bool { return !w.has[name] })
}

// acquire gives a warm worker of the user for the tables, or starts one in the place of one
// that has fewer of their files, or of the one that has been idle longest.
func (p *Pool) acquire(ctx context.Context, q Query, need demand) (*queryWorker, error) {
	key := p.key(q.User, q.Tables)
	for {
		w, victim := p.pick(key, need)
		if victim != nil {
			victim.kill()
			if victim.key == key {
				// What it had, the one in its place has too.
				return p.start(ctx, key, q, slices.AppendSeq(slices.Clip(need.tables), maps.Keys(victim.has)))
			}
			continue
		}
		if w == nil {
			return p.start(ctx, key, q, need.tables)
		}
		if w.Alive() {
			return w, nil
		}
		w.kill()
	}
}

// pick takes an idle worker: one with the key that meets the demand. Else, of
// those that do not, or when there is no room for a new one the oldest, it takes
// a victim.
func (p *Pool) pick(key string, need demand) (w, victim *queryWorker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := -1
	for i, idle := range slices.Backward(p.idle) {
		if idle.key != key {
			continue
		}
		if idle.hasAll(need.tables) {
			return p.take(i), nil
		}
		at = max(at, i)
	}
	switch {
	case at >= 0 && need.all:
		return nil, p.take(at)
	case at >= 0:
		return p.take(at), nil
	}
	// Of those who run, the caller is one and has no worker yet.
	if len(p.idle)+p.stats.Running > p.config.Workers && len(p.idle) > 0 {
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

// park keeps a worker warm, whose query then no longer counts as running. It
// reports false when the pool is closed, or is to release the worker's files.
func (p *Pool) park(w *queryWorker) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil || w.release != nil && w.startEpoch < p.releases {
		return false
	}
	idle := &parked{queryWorker: w}
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

// start starts a worker for a query's tables, with the files of those that are
// named and at hand where the query has a Source.
func (p *Pool) start(ctx context.Context, key string, q Query, named []string) (*queryWorker, error) {
	p.mu.Lock()
	epoch := p.releases
	p.mu.Unlock()
	tables, has, release := q.ready(named)
	path, args, env := p.config.Command()
	process, err := worker.StartQuery(ctx, worker.Spec{
		Path: path, Args: args,
		// The C library would give each thread an arena of its own, in address
		// space that counts.
		Env:        append([]string{"MALLOC_ARENA_MAX=2"}, env...),
		Unconfined: p.config.unconfined,
	}, worker.OpenRequest{Tables: tables, Memory: p.config.Memory, Threads: p.config.Threads, Exposed: p.config.exposed})
	if err != nil {
		if release != nil {
			release()
		}
		return nil, err
	}
	w := &queryWorker{Process: process, key: key, has: has, release: release, startEpoch: epoch}
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

// ready gives the tables that a worker can have now, and holds their files.
// Without a Source that is all of them, for no time.
func (q Query) ready(named []string) (tables []Table, has map[string]bool, release func()) {
	if q.Source == nil {
		return q.Tables, nil, nil
	}
	files, release := q.Source.Ready(named)
	has = make(map[string]bool, len(files))
	for _, t := range q.Tables {
		if paths, ok := files[t.Name]; ok {
			t.Files, has[t.Name] = paths, true
			tables = append(tables, t)
		}
	}
	return tables, has, release
}

// key names a user and a set of tables at their versions. A worker is never for
// two users: what one leaves behind in DuckDB, the other must not meet.
func (p *Pool) key(user string, tables []Table) string {
	sorted := slices.SortedFunc(slices.Values(tables), func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	// Encoding what holds strings and numbers alone cannot fail.
	_ = json.NewEncoder(h).Encode(user)
	_ = json.NewEncoder(h).Encode(sorted)
	return hex.EncodeToString(h.Sum(nil))
}
