package datasets

import (
	"context"
	"errors"
	"sync"
	"time"

	"parley/internal/fair"
	"parley/internal/worktime"
)

// errLong is the cause when short work exceeds a limit.
var errLong = errors.New("this takes too long for a slot for short work")

// meter charges users for the processor time of their workers. Work that must wait may start in
// a slot for short work, where it has a slice of processor time, unless its user has used much
// lately. After its slice, it is long: it waits for a usual slot and starts again there.
type meter struct {
	usage *fair.Usage
	// slice limits the processor time of short work, timeout its time: it may wait for the
	// processor.
	slice, timeout time.Duration
	// most is what a user may have used lately whose work starts in a slot for short work, unless
	// another has used many times as much.
	most time.Duration
}

// wasted is how many times the processor time of short work is charged that does not end by
// itself, at least a slice if it exceeds a limit. The work was for nothing, and its user will
// probably send more like it.
const wasted = 10

// heavy reports whether a user has used much lately.
func (m *meter) heavy(user string) bool { return m.usage.IsHeavy(user, m.most) }

// run calls f, which has a worker work for a user, and charges the user, also if that fails or is
// canceled. The context of f ends when short work exceeds a limit; the cause, and the error, are
// errLong. run calls slow when the work has used a slice, at once for a user who has used much
// lately, and not after f.
func (m *meter) run(ctx context.Context, user string, short bool, processorTime func() time.Duration, slow func(), f func(context.Context) error) error {
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer worktime.Measure(ctx, processorTime)()
	if short {
		var stop context.CancelFunc
		limited, stop = context.WithTimeoutCause(limited, m.timeout, errLong)
		defer stop()
	}
	before := processorTime()
	charged := before
	charge := func() (used time.Duration) {
		now := processorTime()
		m.usage.Add(user, now-charged)
		charged = now
		return now - before
	}
	isSlow := m.heavy(user)
	if isSlow {
		slow()
	}
	ended := make(chan struct{})
	var group sync.WaitGroup
	defer func() {
		close(ended)
		group.Wait()
		if used := charge(); short && limited.Err() != nil {
			lost := used
			if errors.Is(context.Cause(limited), errLong) {
				lost = max(used, m.slice) // it had the slot, though it may have waited for the disk
			}
			m.usage.Add(user, wasted*lost-used)
		}
	}()
	group.Go(func() {
		// What ends within this time is short, whatever its threads have used.
		for wait := m.slice; ; {
			select {
			case <-ended:
				return
			case <-time.After(wait):
			}
			used := charge()
			if used < m.slice {
				wait = max(m.slice-used, m.slice/10)
				continue
			}
			wait = m.slice
			if !isSlow {
				isSlow = true
				slow()
			}
			if short {
				cancel(errLong)
			}
		}
	})
	err := f(limited)
	if err != nil && errors.Is(context.Cause(limited), errLong) {
		err = errLong
	}
	return err
}
