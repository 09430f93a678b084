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
	// shortSlice limits the processor time of a short query. A query that uses more is long: it
	// does not run on a worker for short queries, and has a lower priority on another one.
	shortSlice = 500 * time.Millisecond
	// shortTimeout limits the time of a query on a worker for short queries, where it may wait
	// for the processor.
	shortTimeout = 3 * time.Second
	// longFor is how long a user's queries do not start on a worker for short queries after
	// one of them exceeded its slice.
	longFor = 30 * time.Second
)

// errLong is the cause when a query on a worker for short queries exceeds a limit.
var errLong = errors.New("the query is not short")

// lanes decides when a query runs. A query that must wait may start on a worker for short
// queries, where it has a slice of processor time; then it starts again on one of the usual workers. So
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
	user string
	// limit is the time limit of a short query, 0 in the usual lane.
	limit time.Duration
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
	return f(ctx, lane{user: user, release: usual.Release})
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
	err = f(ctx, lane{user: user, limit: shortTimeout, release: short.Release})
	return !errors.Is(err, errLong), err
}

// measure calls f, with a context that ends when a short query exceeds a limit; the cause is
// errLong. It calls exceeded when the query has used a slice of processor time, not after f.
func (l *lanes) measure(ctx context.Context, in lane, processorTime func() time.Duration, exceeded func(), f func(context.Context) error) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if in.limit > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(limited, in.limit, errLong)
		defer stop()
	}
	ended := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(ended)
	before := processorTime()
	group.Go(func() {
		// A query that ends within this time is short, whatever its threads have used.
		for left := l.slice; left > 0; left = l.slice - (processorTime() - before) {
			select {
			case <-ended:
				return
			case <-time.After(max(left, l.slice/10)):
			}
		}
		exceeded()
		if in.limit > 0 {
			l.setLong(in.user)
			cancel(errLong)
		}
	})
	err := f(limited)
	if err != nil && errors.Is(context.Cause(limited), errLong) {
		err = errLong
	}
	return err
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
