package objects

import (
	"context"
	"sync"
)

// locks are mutexes by name.
type locks struct {
	mu   sync.Mutex
	held map[string]chan struct{} // each is closed on unlock
}

// lock waits until nobody else holds the name, or ctx ends.
func (l *locks) lock(ctx context.Context, name string) (unlock func(), err error) {
	for ctx.Err() == nil {
		l.mu.Lock()
		other, held := l.held[name]
		if !held {
			defer l.mu.Unlock()
			if l.held == nil {
				l.held = map[string]chan struct{}{}
			}
			released := make(chan struct{})
			l.held[name] = released
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				delete(l.held, name)
				close(released)
			}, nil
		}
		l.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
		}
	}
	return nil, context.Cause(ctx)
}
