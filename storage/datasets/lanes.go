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

// lanes decides when a query, or the making of files, runs. One that must wait may start on a
// worker for short work; after its slice it starts again on one of the usual workers. So a user who
// has used little lately waits for about one slice for each other user who is like this and sends
// long work.
type lanes struct {
	meter
	usual, short *fair.Queue

	mu      sync.Mutex
	waiting int
}

// lane is where work runs.
type lane struct {
	short bool
	// release must be called when the worker is free.
	release func()
}

// run calls f when work of a user may run, which has or waits for a usual slot. After errLong it
// calls f again, in the usual lane. After a timeout, nil for none, the work waits no longer.
func (l *lanes) run(ctx context.Context, user string, usual *fair.Slot, timeout <-chan time.Time, f func(context.Context, lane) error) error {
	granted := false
	defer func() {
		if !granted {
			usual.Release()
		}
	}()
	if ended, err := l.runShort(ctx, user, usual, timeout, f); ended {
		return err
	}
	if _, err := l.wait(ctx, usual, usual, timeout); err != nil {
		return err
	}
	granted = true
	return f(ctx, lane{release: usual.Release})
}

// runShort calls f when short work may run, unless the usual slot is granted first. It reports
// whether the work has ended.
func (l *lanes) runShort(ctx context.Context, user string, usual *fair.Slot, timeout <-chan time.Time, f func(context.Context, lane) error) (ended bool, err error) {
	short := l.short.AcquireUnbounded(user)
	first, err := l.wait(ctx, usual, short, timeout)
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
func (l *lanes) wait(ctx context.Context, a, b *fair.Slot, timeout <-chan time.Time) (*fair.Slot, error) {
	l.mu.Lock()
	l.waiting++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	return fair.WaitFirst(ctx, a, b, timeout)
}

// waits is how many wait.
func (l *lanes) waits() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}
