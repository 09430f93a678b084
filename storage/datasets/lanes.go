package datasets

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/internal/fair"
)

// queryMeter makes the meter of queries.
func queryMeter() meter {
	return meter{usage: fair.NewUsage(10 * time.Second), slice: 500 * time.Millisecond, timeout: 3 * time.Second, most: 2 * time.Second}
}

// lanes decides when a query runs. A query that must wait may start on a worker for short
// queries; then it starts again on one of the usual workers. So a user who has used little
// lately waits for about one slice for each other user who is like this and sends a long query.
type lanes struct {
	meter
	usual, short *fair.Queue

	mu      sync.Mutex
	waiting int
}

// lane is where a query runs.
type lane struct {
	short bool
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
	return f(ctx, lane{release: usual.Release})
}

// runShort calls f when a short query may run, unless the usual slot is granted first. It
// reports whether the query has ended.
func (l *lanes) runShort(ctx context.Context, user string, usual *fair.Slot, f func(context.Context, lane) error) (ended bool, err error) {
	short := l.short.AcquireUnbounded(user)
	first, err := l.wait(ctx, usual, short)
	if err != nil {
		return true, err
	}
	if first == usual || l.heavy(user) {
		short.Release()
		return false, nil
	}
	err = f(ctx, lane{short: true, release: short.Release})
	return !errors.Is(err, errLong), err
}

// wait is fair.WaitFirst, and counts who waits.
func (l *lanes) wait(ctx context.Context, a, b *fair.Slot) (*fair.Slot, error) {
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
