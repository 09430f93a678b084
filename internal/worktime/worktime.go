// Package worktime limits how long work takes, without the time in which it waits for the work
// of others. So the result does not depend on how much others do.
package worktime

import (
	"context"
	"sync"
	"time"
)

type clockKey struct{}

// clock is the time that is left. It runs while paused is 0, since the time running.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	paused  int
	running time.Time
}

// WithLimit returns a context that ends after a time, in which pauses do not count: see Pause. stop
// ends the context and returns the time that is left.
func WithLimit(ctx context.Context, limit time.Duration) (_ context.Context, stop func() time.Duration) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{left: limit, running: time.Now()}
	c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	return context.WithValue(ctx, clockKey{}, c), func() time.Duration {
		defer cancel(nil)
		return c.pause()
	}
}

// Pause has the time until resume is called not count for the limit of a context, if it has one:
// the work waits. Pauses may overlap.
func Pause(ctx context.Context) (resume func()) {
	c, limited := ctx.Value(clockKey{}).(*clock)
	if !limited {
		return func() {}
	}
	c.pause()
	return sync.OnceFunc(c.resume)
}

// pause returns the time that is left.
func (c *clock) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		c.timer.Stop()
		c.left = max(0, c.left-time.Since(c.running))
	}
	return c.left
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 {
		c.running = time.Now()
		c.timer.Reset(c.left)
	}
}
