// Package worktime limits the processor time of work, not how long it takes. So the result does
// not depend on how much others do.
package worktime

import (
	"context"
	"sync"
	"time"
)

type budgetKey struct{}

// budget is the time that is left of a limit.
type budget struct {
	mu   sync.Mutex
	left time.Duration
	// exceeded ends the context.
	exceeded func()
}

// minInterval is the least time between two measurements of work.
const minInterval = 50 * time.Millisecond

// WithLimit returns a context that ends with [context.DeadlineExceeded] when work has used a time:
// see [Measure]. stop ends the context and returns the time that is left.
func WithLimit(ctx context.Context, limit time.Duration) (_ context.Context, stop func() time.Duration) {
	ctx, cancel := context.WithCancelCause(ctx)
	b := &budget{left: limit, exceeded: func() { cancel(context.DeadlineExceeded) }}
	b.use(0)
	return context.WithValue(ctx, budgetKey{}, b), func() time.Duration {
		defer cancel(nil)
		return b.use(0)
	}
}

// Measure counts the time of work for the limit of a context, if it has one, until stop is called.
// used returns the time that the work has used, from any start. Work on several processors may use
// as many times what is left before the context ends: nothing is measured before this time.
func Measure(ctx context.Context, used func() time.Duration) (stop func()) {
	b, limited := ctx.Value(budgetKey{}).(*budget)
	if !limited {
		return func() {}
	}
	counted := used()
	count := func() (left time.Duration) {
		now := used()
		defer func() { counted = max(counted, now) }()
		return b.use(max(0, now-counted))
	}
	ended := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for left := b.use(0); left > 0; left = count() {
			select {
			case <-ended:
				return
			case <-time.After(max(left, minInterval)):
			}
		}
	})
	return sync.OnceFunc(func() {
		close(ended)
		group.Wait()
		count()
	})
}

// use subtracts a time from what is left, and returns the rest.
func (b *budget) use(used time.Duration) (left time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = max(0, b.left-used)
	if b.left == 0 {
		b.exceeded()
	}
	return b.left
}
