package domain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is the right of one process to do a task, for a time.
type Lease struct {
	Name string
	// Fence is greater for each later lease of the name.
	Fence int64
}

// Leases says which process does a task.
type Leases interface {
	// AcquireLease acquires a lease for ttl. ErrConflict while a process holds it.
	AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (Lease, error)
	// RenewLease extends a lease to ttl from now. ErrConflict when another process
	// acquired it meanwhile.
	RenewLease(ctx context.Context, lease Lease, ttl time.Duration) error
	// ReleaseLease lets others acquire a lease. ErrConflict as above.
	ReleaseLease(ctx context.Context, lease Lease) error
}

// LeasedTask is work that one process does for all that share a store.
type LeasedTask struct {
	Name   string
	Holder string
	// TTL is how long others wait for a process that has died.
	TTL time.Duration
	// Interval is how long the task is not done again after it began, unless it failed.
	Interval time.Duration
	// Run does it. Its context ends when another process has the lease, or may have.
	Run func(ctx context.Context) error
}

// errLeaseExpired ends a task whose lease could not be renewed in time.
var errLeaseExpired = fmt.Errorf("%w: the lease was not renewed in time", ErrUnavailable)

// RunLeased does a task, unless another process is doing it, or began within its interval. It
// stops a task whose lease another process has acquired.
func RunLeased(ctx context.Context, leases Leases, task LeasedTask) error {
	start := time.Now()
	lease, err := leases.AcquireLease(ctx, task.Name, task.Holder, task.TTL)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	ended, err := runRenewing(ctx, leases, lease, task, start)
	pause := task.Interval - time.Since(start)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var released error
	if err == nil && pause > 0 {
		released = leases.RenewLease(ctx, lease, pause)
	} else {
		released = leases.ReleaseLease(ctx, lease)
	}
	if errors.Is(released, ErrConflict) { // another process has it, and does the task
		if ended || errors.Is(err, ErrConflict) {
			return nil
		}
		return err
	}
	return errors.Join(err, released)
}

// runRenewing runs a task and renews the lease meanwhile that was asked for at a time. The
// task's context ends while a quarter of the lease is left, also during a renewal without an
// answer. ended says that it has ended.
func runRenewing(ctx context.Context, leases Leases, lease Lease, task LeasedTask, asked time.Time) (ended bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	interval := max(task.TTL/4, time.Millisecond)
	expiry := time.AfterFunc(task.TTL-interval-time.Since(asked), func() { cancel(errLeaseExpired) })
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel(nil)
	defer expiry.Stop()
	renewal.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			start := time.Now()
			bounded, done := context.WithTimeout(ctx, interval)
			err := leases.RenewLease(bounded, lease, task.TTL)
			done()
			switch {
			case err == nil:
				expiry.Reset(task.TTL - interval - time.Since(start))
			case errors.Is(err, ErrConflict):
				cancel(err)
				return
			}
		}
	})
	err = task.Run(ctx)
	return ctx.Err() != nil, err
}
