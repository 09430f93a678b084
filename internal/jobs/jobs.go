// Package jobs has the mechanism for work that one of several processes on a store does: runs,
// ingestions, push notifications, ratings and leased tasks.
//
// A job has a lease: a holder, a fence and a time at which it expires, by the clock of the store.
// A process finds free jobs in a Loop, claims one by acquiring its lease, renews the lease while
// it works (Renewal), and releases it. If the process dies, the lease expires and another process
// claims the job. The store refuses what the first one writes later, because its fence is old.
//
// A host has one lease for all its runs and push notifications: they name the host as their
// holder, which is their fence. Other jobs have a lease each.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"parley/internal/domain"
)

// HostLease is the name of the lease of a host.
func HostLease(host string) string { return "host/" + host }

// Leases stores leases.
type Leases interface {
	// AcquireLease acquires a lease for ttl. ErrConflict while another holder has it.
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (domain.Lease, error)
	// RenewLease extends a lease to ttl from now; 0 releases it, but keeps its fence and holder.
	// ErrConflict if another holder acquired it meanwhile.
	RenewLease(ctx context.Context, lease domain.Lease, ttl time.Duration) error
	// ReleaseLease lets others acquire a lease. ErrConflict as above.
	ReleaseLease(ctx context.Context, lease domain.Lease) error
}

// Kind is a kind of job that hosts hold by their own lease.
type Kind string

// The kinds of jobs of hosts. The id of a push is that of its run and its own, with a slash.
const (
	Runs   Kind = "runs"
	Pushes Kind = "pushes"
)

// Loop searches for work.
type Loop struct {
	interval time.Duration
	wake     chan struct{}
}

// NewLoop makes a Loop that searches at least once in an interval.
func NewLoop(interval time.Duration) *Loop {
	return &Loop{interval: interval, wake: make(chan struct{}, 1)}
}

// Wake starts a search at once. It does not block.
func (l *Loop) Wake() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Run searches at once, after each interval and when woken, until ctx ends. Several goroutines
// can run one loop: Wake starts one of them.
func (l *Loop) Run(ctx context.Context, search func(woken bool)) {
	ticker := time.NewTicker(l.interval)
	defer ticker.Stop()
	for woken := false; ctx.Err() == nil; {
		search(woken)
		select {
		case <-ctx.Done():
		case <-l.wake:
			woken = true
		case <-ticker.C:
			woken = false
		}
	}
}

// Renewal says how a lease is renewed while its job is done.
type Renewal struct {
	// TTL is how long the lease lasts without a renewal. A renewal has a quarter of it for its
	// response.
	TTL time.Duration
	// Interval is the time between renewals, at most a quarter of TTL; 0 for that.
	Interval time.Duration
	// Renew renews the lease. ErrConflict if another holder has it, ErrNotFound if the job is
	// gone: both end the job. Other errors do not, because the next renewal may succeed.
	Renew func(ctx context.Context) error
	// Fenced says that the store refuses all results of the job once another holder has the
	// lease. So the job continues while it is not known whether the lease lasts. Other jobs end
	// before it can expire.
	Fenced bool
	// Asked is when the lease was asked for; zero for now.
	Asked time.Time
}

// errExpired ends a job whose lease could not be renewed in time.
var errExpired = fmt.Errorf("%w: the lease was not renewed in time", domain.ErrUnavailable)

// Hold does a job and renews its lease meanwhile. The context of the job ends with the lease. If
// the job fails then, the error is the reason for that.
func (r Renewal) Hold(ctx context.Context, do func(ctx context.Context) error) error {
	held, end := context.WithCancelCause(ctx)
	limit := max(r.TTL/4, time.Millisecond)
	interval := limit
	if r.Interval > 0 {
		interval = min(limit, r.Interval)
	}
	expiry := time.AfterFunc(math.MaxInt64, func() { end(errExpired) })
	extend := func(asked time.Time) {
		if !r.Fenced {
			expiry.Reset(r.TTL - limit - time.Since(asked))
		}
	}
	if r.Asked.IsZero() {
		r.Asked = time.Now()
	}
	extend(r.Asked)
	var renewing sync.WaitGroup
	defer renewing.Wait()
	defer end(nil)
	defer expiry.Stop()
	renewing.Go(func() {
		for asked := r.Asked; sleep(held, interval-time.Since(asked)); {
			asked = time.Now()
			bounded, done := context.WithTimeout(held, limit)
			err := r.Renew(bounded)
			done()
			switch {
			case err == nil:
				extend(asked)
			case errors.Is(err, domain.ErrConflict), errors.Is(err, domain.ErrNotFound):
				end(err)
			}
		}
	})
	err := do(held)
	if err != nil && held.Err() != nil && ctx.Err() == nil {
		return context.Cause(held)
	}
	return err
}

// sleep waits. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// releaseTimeout limits the release of a lease.
const releaseTimeout = 5 * time.Second

// Release calls release with a time limit of its own, also after ctx has ended.
func Release(ctx context.Context, release func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return release(ctx)
}

// Task is work that one process does for all that share a store.
type Task struct {
	// Name is that of its lease, which processes of other versions know too.
	Name   string
	Holder string
	// TTL is how long others wait for a process that has died.
	TTL time.Duration
	// Interval is how long the task is not done again after it began, unless it failed.
	Interval time.Duration
	// Run does it. Its context ends when another process has the lease, or may have.
	Run func(ctx context.Context) error
}

// RunTask does a task, unless another process is doing it, or began within its interval. It
// stops a task whose lease another process has acquired; that is no error.
func RunTask(ctx context.Context, leases Leases, task Task) error {
	start := time.Now()
	lease, err := leases.AcquireLease(ctx, task.Name, task.Holder, task.TTL)
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	renewal := Renewal{TTL: task.TTL, Asked: start, Renew: func(ctx context.Context) error { return leases.RenewLease(ctx, lease, task.TTL) }}
	err = renewal.Hold(ctx, task.Run)
	released := Release(ctx, func(ctx context.Context) error {
		if pause := task.Interval - time.Since(start); err == nil && pause > 0 {
			return leases.RenewLease(ctx, lease, pause)
		}
		return leases.ReleaseLease(ctx, lease)
	})
	if !errors.Is(released, domain.ErrConflict) {
		return errors.Join(err, released)
	}
	if errors.Is(err, domain.ErrConflict) || errors.Is(err, errExpired) {
		return nil // another process has the lease, and does the task
	}
	return err
}
