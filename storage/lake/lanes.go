package lake

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"parley/internal/fair"
	"parley/internal/worktime"
)

const (
	// shortSlice limits a query on a worker for short queries. On another worker, a query
	// that takes longer gets a lower priority.
	shortSlice = 500 * time.Millisecond
	// longFor is how long a user's queries do not start on a worker for short queries after
	// one of them exceeded its slice.
	longFor = 30 * time.Second
)

// errLong is the cause when a query exceeds its slice.
var errLong = errors.New("the query is not short")

// lanes decides when a query runs. A query that must wait may start on a worker for short
// queries, where it ends after a slice; then it starts again on one of the usual workers. So
// a user waits for others' long queries at most a slice for each of these users, and only
// while their queries are not known to be long.
type lanes struct {
	usual, short *fair.Queue
	// slice is shortSlice, except in tests.
	slice time.Duration

	mu      sync.Mutex
	waiting int
	// long has the users of queries that exceeded their slices, and until when that counts.
	long map[string]time.Time
}

// lane is where a query runs.
type lane struct {
	short bool
	// limit limits the time of the query once it has a worker; the cause is errLong.
	limit func(context.Context) (context.Context, func())
	// release must be called when the worker is free.
	release func()
}

// run calls f when a query may run. After errLong it calls f again, in the usual lane.
func (l *lanes) run(ctx context.Context, user string, f func(context.Context, lane) error) error {
	usual, err := l.usual.Acquire(user)
	if err != nil {
		return err
	}
	granted := false
	defer func() {
		if !granted {
			usual.Release()
		}
	}()
	if ended, err := l.runShort(ctx, user, usual, f); ended {
		return err
	}
	if _, err := l.wait(ctx, usual, usual); err != nil {
		return err
	}
	granted = true
	unlimited := func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	return f(ctx, lane{limit: unlimited, release: usual.Release})
}

// runShort calls f when a short query may run, unless the usual slot is granted first. It
// reports whether the query has ended.
func (l *lanes) runShort(ctx context.Context, user string, usual *fair.Slot, f func(context.Context, lane) error) (ended bool, err error) {
	short := l.short.AcquireUnbounded(user)
	first, err := l.wait(ctx, usual, short)
	if err != nil {
		return true, err
	}
	if first == usual || l.isLong(user) {
		short.Release()
		return false, nil
	}
	limit := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		timer := time.AfterFunc(l.slice, func() {
			l.setLong(user)
			cancel(errLong)
		})
		return ctx, func() {
			timer.Stop()
			cancel(nil)
		}
	}
	err = f(ctx, lane{short: true, limit: limit, release: short.Release})
	return !errors.Is(err, errLong), err
}

// wait is fair.WaitFirst, and counts who waits.
func (l *lanes) wait(ctx context.Context, a, b *fair.Slot) (*fair.Slot, error) {
	defer worktime.Pause(ctx)()
	l.mu.Lock()
	l.waiting++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	return fair.WaitFirst(ctx, a, b)
}

// waits is how many queries wait.
func (l *lanes) waits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

func (l *lanes) isLong(user string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Before(l.long[user])
}

func (l *lanes) setLong(user string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.long, func(_ string, until time.Time) bool { return !now.Before(until) })
	l.long[user] = now.Add(longFor)
}
