package lake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// acquire gives a warm worker of the user for the tables, or starts one in the place of one
// that has fewer of their files, or of the one that has been idle longest.
func (p *Pool) acquire(ctx context.Context, q Query, need demand) (*process, error) {
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
		if w.alive() {
			return w, nil
		}
		w.kill()
	}
}

// pick takes an idle worker: one with the key that meets the demand. Else, of
// those that do not, or when there is no room for a new one the oldest, it takes
// a victim.
func (p *Pool) pick(key string, need demand) (w, victim *process) {
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
func (p *Pool) take(i int) *process {
	w := p.idle[i]
	w.timer.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return w.process
}

// park keeps a worker warm, whose query then no longer counts as running. It
// reports false when the pool is closed, or is to let go of the worker's files.
func (p *Pool) park(w *process) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Err() != nil || w.release != nil && w.born < p.lettingGo {
		return false
	}
	rest := &parked{process: w}
	rest.timer = time.AfterFunc(p.config.Idle, func() {
		p.mu.Lock()
		at := slices.Index(p.idle, rest)
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
	p.idle = append(p.idle, rest)
	p.stats.Running--
	return true
}

func (p *Pool) retire(w *process) {
	w.kill()
	p.mu.Lock()
	p.stats.Ended++
	p.mu.Unlock()
	p.config.Log.Debug("worker ended", "pid", w.pid, "uses", w.uses, "crash", w.said.String())
}

// start starts a worker for a query's tables, with the files of those that are
// named and at hand where the query has a Source.
func (p *Pool) start(ctx context.Context, key string, q Query, named []string) (*process, error) {
	p.mu.Lock()
	born := p.lettingGo
	p.mu.Unlock()
	tables, has, release := q.ready(named)
	path, args, env := p.config.Command()
	w, err := startProcess(ctx, launch{
		path: path, args: args,
		// The C library would give each thread an arena of its own, in address
		// space that counts.
		env:     append([]string{"MALLOC_ARENA_MAX=2"}, env...),
		memory:  p.config.Memory,
		threads: p.config.Threads,
		tables:  tables,
		exposed: p.config.exposed,
		open:    p.config.open,
	})
	if err != nil {
		if release != nil {
			release()
		}
		return nil, err
	}
	w.key, w.has, w.release, w.born = key, has, release, born
	p.mu.Lock()
	p.stats.Started++
	p.mu.Unlock()
	if len(w.lacks) > 0 {
		p.warned.Do(func() {
			p.config.Log.Warn("query workers run without some protections that this system does not allow",
				"missing", strings.Join(w.lacks, ", "))
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
