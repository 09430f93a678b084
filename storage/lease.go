package storage

import (
	"context"
	"errors"
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

// RunLeased does a task, unless another process is doing it, or began within its interval.
func RunLeased(ctx context.Context, leases Leases, task LeasedTask) error {
	lease, err := leases.AcquireLease(ctx, task.Name, task.Holder, task.TTL)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	start := time.Now()
	err = runRenewing(ctx, leases, lease, task)
	pause := task.Interval - time.Since(start)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var released error
	if err == nil && pause > 0 {
		released = leases.RenewLease(ctx, lease, pause)
	} else {
		released = leases.ReleaseLease(ctx, lease)
	}
	if errors.Is(released, ErrConflict) {
		released = nil // another process has it
	}
	return errors.Join(err, released)
}

// runRenewing runs a task and renews its lease meanwhile.
func runRenewing(ctx context.Context, leases Leases, lease Lease, task LeasedTask) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel(nil)
	renewal.Go(func() {
		ticker := time.NewTicker(max(task.TTL/3, time.Millisecond))
		defer ticker.Stop()
		for renewed := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			start := time.Now()
			err := leases.RenewLease(ctx, lease, task.TTL)
			switch {
			case err == nil:
				renewed = start
			case errors.Is(err, ErrConflict), time.Since(renewed) > task.TTL*2/3:
				cancel(err)
				return
			}
		}
	})
	return task.Run(ctx)
}
