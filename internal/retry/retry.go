// Package retry repeats calls that fail, with growing pauses. The caller says which errors
// are temporary.
package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy says when to call again.
type Policy struct {
	// Initial is the first pause. Each further one is twice as long, up to Max.
	Initial, Max time.Duration
	// Jitter shortens each pause at random, by at most half.
	Jitter bool
	// Tries limits the calls in a row that fail; 0 for no limit.
	Tries int
	// Timeout limits the time from the first failure to the last call; 0 for no limit.
	Timeout time.Duration
	// Retryable says whether an error is temporary; nil for all.
	Retryable func(error) bool
	// After returns the shortest pause that an error asks for; nil for none.
	After func(error) time.Duration
	// Notify, unless nil, is called before each pause.
	Notify func(err error, pause time.Duration)
	// Sleep waits, or gives an error when ctx ends; nil for a timer. Tests replace it.
	Sleep func(ctx context.Context, pause time.Duration) error
}

// Do calls until there is no error, a permanent one, or the policy ends. It does not begin
// a pause that ends after ctx's deadline. When ctx ends during a pause, the error wraps
// that of the last call, that of ctx and its cause.
func Do(ctx context.Context, policy Policy, call func() error) error {
	return New(policy).Do(ctx, call)
}

// Retrier is a Do that can be told of progress. It is for one goroutine.
type Retrier struct {
	policy   Policy
	pauses   backoff.ExponentialBackOff
	failures int
	// since is when the first of the failures was.
	since time.Time
}

// New makes a Retrier.
func New(policy Policy) *Retrier {
	r := &Retrier{policy: policy, pauses: backoff.ExponentialBackOff{
		InitialInterval: policy.Initial, MaxInterval: policy.Max, Multiplier: 2,
	}}
	if policy.Jitter {
		// The library randomizes around a value: three quarters, more or less a third.
		r.pauses.InitialInterval, r.pauses.MaxInterval = policy.Initial*3/4, policy.Max*3/4
		r.pauses.RandomizationFactor = 1. / 3
	}
	if policy.Sleep == nil {
		r.policy.Sleep = sleep
	}
	return r
}

// Reset forgets the failures so far, since there was progress.
func (r *Retrier) Reset() {
	r.failures = 0
	r.pauses.Reset()
}

// Do is the function Do. A call may use Reset.
func (r *Retrier) Do(ctx context.Context, call func() error) error {
	for {
		err := call()
		if err == nil || r.policy.Retryable != nil && !r.policy.Retryable(err) {
			return err
		}
		pause, more := r.next(ctx, err)
		if !more {
			return err
		}
		if r.policy.Notify != nil {
			r.policy.Notify(err, pause)
		}
		if r.policy.Sleep(ctx, pause) != nil {
			return fmt.Errorf("%w, then: %w", err, endOf(ctx))
		}
	}
}

// next returns the pause after a failure, and whether to call again.
func (r *Retrier) next(ctx context.Context, err error) (pause time.Duration, more bool) {
	now := time.Now()
	if r.failures == 0 {
		r.since = now
	}
	if r.failures++; r.failures == r.policy.Tries {
		return 0, false
	}
	pause = r.pauses.NextBackOff()
	if r.policy.After != nil {
		pause = max(pause, r.policy.After(err))
	}
	end := now.Add(pause)
	if r.policy.Timeout > 0 && end.Sub(r.since) >= r.policy.Timeout {
		return 0, false
	}
	deadline, limited := ctx.Deadline()
	return pause, !limited || !end.After(deadline)
}

// sleep waits for a pause or until ctx ends.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
	case <-ctx.Done():
	}
	return ctx.Err()
}

// endOf returns the error of a context that has ended, with its cause.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return context.Cause(ctx)
}
