package llm

import (
	"errors"
	"sync"
	"time"
)

// errTired says that a model failed too often of late to be asked.
var errTired = errors.New("the model failed several times in a row and is left alone for a while")

const (
	// tiredAfter is how many failures in a row it takes.
	tiredAfter = 6
	// restFor is for how long a model is left alone then.
	restFor = 30 * time.Second
)

// outcome is what a call says about whether a model can be reached.
type outcome int

const (
	reached outcome = iota
	missed
	// unclear is a call that the caller gave up.
	unclear
)

// breaker keeps callers from waiting for a model that does not answer: after
// some failures in a row nobody is let through for a while, then one at a time,
// until one succeeds.
type breaker struct {
	mu       sync.Mutex
	failures int
	// until is when the rest ends; zero while there is none.
	until   time.Time
	probing bool
}

// enter asks to be let through. Whoever is, says in the end how it went.
func (b *breaker) enter() (leave func(outcome), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return func(how outcome) { b.leave(how, false) }, nil
	}
	if b.probing || time.Now().Before(b.until) {
		return nil, errTired
	}
	b.probing = true
	return func(how outcome) { b.leave(how, true) }, nil
}

// leave is told how a call went, and whether it was the one that is let through
// after a rest: others may have begun long before.
func (b *breaker) leave(how outcome, probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch how {
	case reached:
		b.failures, b.until = 0, time.Time{}
	case missed:
		if b.failures++; b.failures >= tiredAfter {
			b.until = time.Now().Add(restFor)
		}
	}
}
