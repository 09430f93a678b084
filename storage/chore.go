package storage

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Chore is work that one process does for all that share a store.
type Chore struct {
	Name string
	// Fence tells this turn at it from the later ones.
	Fence int64
}

// Chores says who does a chore.
type Chores interface {
	// BeginChore gives holder a chore for that long, unless it is kept.
	// ErrConflict while it is somebody's.
	BeginChore(ctx context.Context, name, holder string, lasts time.Duration) (Chore, error)
	// KeepChore makes a chore the holder's for that long from now. ErrConflict
	// when it is no longer the holder's.
	KeepChore(ctx context.Context, chore Chore, lasts time.Duration) error
	// EndChore says that a chore may be begun by anybody. ErrConflict as above.
	EndChore(ctx context.Context, chore Chore) error
}

// DoChore does a chore, unless somebody is at it or has begun it within rest: then
// it does nothing. Of a process that dies it is left to others after lasts. The
// context of f ends when the chore is, or may be, another's.
func DoChore(ctx context.Context, chores Chores, name, holder string, lasts, rest time.Duration, f func(context.Context) error) error {
	chore, err := chores.BeginChore(ctx, name, holder, lasts)
	if errors.Is(err, ErrConflict) {
		return nil
	}
	if err != nil {
		return err
	}
	began := time.Now()
	if err = keeping(ctx, chores, chore, lasts, f); err != nil {
		rest = 0
	}
	rest -= time.Since(began)
	return errors.Join(err, endChore(context.WithoutCancel(ctx), chores, chore, rest))
}

// endChore ends a chore that need not be done again for rest.
func endChore(ctx context.Context, chores Chores, chore Chore, rest time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var err error
	if rest > 0 {
		err = chores.KeepChore(ctx, chore, rest)
	} else {
		err = chores.EndChore(ctx, chore)
	}
	if errors.Is(err, ErrConflict) {
		return nil // somebody took it over
	}
	return err
}

// keeping runs f and keeps the chore meanwhile.
func keeping(ctx context.Context, chores Chores, chore Chore, lasts time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewal sync.WaitGroup
	defer renewal.Wait()
	defer cancel(nil)
	renewal.Go(func() {
		ticker := time.NewTicker(max(lasts/3, time.Millisecond))
		defer ticker.Stop()
		for kept := time.Now(); ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			began := time.Now()
			err := chores.KeepChore(ctx, chore, lasts)
			switch {
			case err == nil:
				kept = began
			case errors.Is(err, ErrConflict), time.Since(kept) > lasts*2/3:
				cancel(err)
				return
			}
		}
	})
	return f(ctx)
}
