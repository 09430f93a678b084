package objects

import (
	"context"
	"sync"
)

// locks lets one at a time work on a thing, by its name.
type locks struct {
	mu   sync.Mutex
	held map[string]*lockOf
}

type lockOf struct {
	free  chan struct{}
	users int
}

// lock waits for its turn.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // even when it could be had
	}
	l.mu.Lock()
	if l.held == nil {
		l.held = map[string]*lockOf{}
	}
	one := l.held[name]
	if one == nil {
		one = &lockOf{free: make(chan struct{}, 1)}
		one.free <- struct{}{}
		l.held[name] = one
	}
	one.users++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(l.held, name)
		}
	}
	select {
	case <-one.free:
		return func() { one.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
