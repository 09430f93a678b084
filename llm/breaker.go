package llm

import (
	"errors"
	"sync"
	"time"
)

// errBreakerOpen says that a model failed too often of late to be asked.
var errBreakerOpen = errors.New("the model failed several times in a row and is left alone for a while")

const (
	// openAfter is how many failures in a row it takes.
	openAfter = 6
	// openFor is for how long a model is left alone then.
	openFor = 30 * time.Second
)

// outcome is what a call says about whether a model can be reached.
type outcome int

const (
	callSucceeded outcome = iota
	callFailed
	// callCanceled is a call that the caller gave up.
	callCanceled
)

// breaker keeps callers from waiting for a model that does not answer: after
// some failures in a row nobody is let through for a while, then one at a time,
// until one succeeds.
type breaker struct {
	mu       sync.Mutex
	failures int
	// openUntil is when the rest ends; zero while there is none.
	openUntil time.Time
	probing   bool
}

// allow asks to be let through. Whoever is, says in the end how it went.
func (b *breaker) allow() (record func(outcome), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.openUntil.IsZero() {
		return func(result outcome) { b.record(result, false) }, nil
	}
	if b.probing || time.Now().Before(b.openUntil) {
		return nil, errBreakerOpen
	}
	b.probing = true
	return func(result outcome) { b.record(result, true) }, nil
}

// record is told how a call went, and whether it was the one that is let through
// after a rest: others may have begun long before.
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
