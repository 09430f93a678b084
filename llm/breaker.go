package llm

import (
	"errors"
	"sync"
	"time"

	"parley/internal/lru"
)

// errBreakerOpen says that the circuit breaker is open.
var errBreakerOpen = errors.New("the model failed several times in a row and is left alone for a while")

// The breaker opens for openFor after openAfter consecutive failures.
const (
	openAfter = 6
	openFor   = 30 * time.Second
)

// outcome says whether a call found the model available.
type outcome int

const (
	callSucceeded outcome = iota
	callFailed
	callCanceled
)

// breakers are circuit breakers, one for each user: what somebody asks may take too long each time, and
// stops nobody else.
type breakers struct {
	once sync.Once
	all  *lru.Cache[string, *breaker]
	mu   sync.Mutex
}

// maxBreakers limits the users whose failures are remembered.
const maxBreakers = 10_000

// of returns the breaker of a user.
func (b *breakers) of(user string) *breaker {
	b.once.Do(func() { b.all = lru.New[string, *breaker](maxBreakers) })
	b.mu.Lock()
	defer b.mu.Unlock()
	found, ok := b.all.Get(user)
	if !ok {
		found = &breaker{}
		b.all.Put(user, found, 1)
	}
	return found
}

// breaker is a circuit breaker: after several consecutive failures it refuses calls for a
// while, then allows one at a time until one succeeds.
type breaker struct {
	mu       sync.Mutex
	failures int
	// openUntil is when a probe is allowed; zero while the breaker is closed.
	openUntil time.Time
	probing   bool
}

// allow permits a call, whose result the caller records, or returns errBreakerOpen.
func (b *breaker) allow() (record func(outcome), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	probe := !b.openUntil.IsZero()
	if probe && (b.probing || time.Now().Before(b.openUntil)) {
		return nil, errBreakerOpen
	}
	b.probing = b.probing || probe
	return func(result outcome) { b.record(result, probe) }, nil
}

// record counts the result of a call. probe says that it was the one allowed call of an
// open breaker; others may have started long before.
func (b *breaker) record(result outcome, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch result {
	case callSucceeded:
		b.failures, b.openUntil = 0, time.Time{}
	case callFailed:
		if b.failures++; b.failures >= openAfter {
			b.openUntil = time.Now().Add(openFor)
		}
	}
}
