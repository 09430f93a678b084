package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/retry"
)

var (
	errBusy  = errors.New("busy")
	errWrong = errors.New("wrong")
)

// failing is a call that fails with each of some errors, and then with the last for ever.
func failing(errs ...error) (call func() error, calls *int) {
	calls = new(int)
	return func() error {
		*calls++
		return errs[min(*calls, len(errs))-1]
	}, calls
}

func TestDo(t *testing.T) {
	t.Parallel()
	busy := func(err error) bool { return errors.Is(err, errBusy) }
	base := retry.Policy{Initial: time.Second, Max: 4 * time.Second, Retryable: busy}
	with := func(change func(*retry.Policy)) retry.Policy {
		policy := base
		change(&policy)
		return policy
	}
	for name, test := range map[string]struct {
		policy retry.Policy
		errs   []error
		want   error
		calls  int
		took   time.Duration
	}{
		"success":         {base, []error{nil}, nil, 1, 0},
		"permanent error": {base, []error{errWrong}, errWrong, 1, 0},
		"growing pauses":  {base, []error{errBusy, errBusy, errBusy, errBusy, errBusy, nil}, nil, 6, (1 + 2 + 4 + 4 + 4) * time.Second},
		"permanent later": {base, []error{errBusy, errWrong}, errWrong, 2, time.Second},
		"tries":           {with(func(p *retry.Policy) { p.Tries = 3 }), []error{errBusy}, errBusy, 3, 3 * time.Second},
		"one try":         {with(func(p *retry.Policy) { p.Tries = 1 }), []error{errBusy}, errBusy, 1, 0},
		"timeout":         {with(func(p *retry.Policy) { p.Timeout = 8 * time.Second }), []error{errBusy}, errBusy, 4, 7 * time.Second},
		"all are":         {with(func(p *retry.Policy) { p.Retryable = nil }), []error{errWrong, nil}, nil, 2, time.Second},
		"longer by wish":  {with(func(p *retry.Policy) { p.After = func(error) time.Duration { return time.Minute } }), []error{errBusy, nil}, nil, 2, time.Minute},
		"no shorter":      {with(func(p *retry.Policy) { p.After = func(error) time.Duration { return 1 } }), []error{errBusy, nil}, nil, 2, time.Second},
		"wish and timeout": {with(func(p *retry.Policy) {
			p.After, p.Timeout = func(error) time.Duration { return time.Minute }, time.Minute
		}), []error{errBusy}, errBusy, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				call, calls := failing(test.errs...)
				start := time.Now()
				err := retry.Do(t.Context(), test.policy, call)
				if !errors.Is(err, test.want) || *calls != test.calls || time.Since(start) != test.took {
					t.Errorf("%v after %d calls and %v, want %v after %d and %v", err, *calls, time.Since(start), test.want, test.calls, test.took)
				}
			})
		})
	}
}

// TestTimeoutFromFirstFailure has a call that takes long before it fails.
func TestTimeoutFromFirstFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := retry.Do(t.Context(), retry.Policy{Initial: time.Second, Max: time.Second, Timeout: time.Minute}, func() error {
			if calls++; calls == 1 {
				time.Sleep(time.Hour)
				return errBusy
			}
			return nil
		})
		if err != nil || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

func TestJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var pauses []time.Duration
		call, _ := failing(errBusy)
		policy := retry.Policy{Initial: time.Second, Max: 4 * time.Second, Jitter: true, Tries: 100}
		policy.Notify = func(_ error, pause time.Duration) { pauses = append(pauses, pause) }
		if err := retry.Do(t.Context(), policy, call); !errors.Is(err, errBusy) {
			t.Fatal(err)
		}
		for i, pause := range pauses {
			if longest := min(time.Second<<i, 4*time.Second); i < 3 && (pause < longest/2 || pause > longest) {
				t.Errorf("pause %d is %v", i, pause)
			}
		}
		last := pauses[3:]
		if slices.Min(last) < 2*time.Second || slices.Max(last) > 4*time.Second || slices.Max(last)-slices.Min(last) < time.Second {
			t.Errorf("%v to %v", slices.Min(last), slices.Max(last))
		}
	})
}

// TestCanceled ends the context during a pause.
func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { stop(stopped) })
		call, calls := failing(errBusy)
		start := time.Now()
		err := retry.Do(ctx, retry.Policy{Initial: time.Second, Max: time.Second}, call)
		if *calls != 2 || time.Since(start) != 1500*time.Millisecond || err.Error() != "busy, then: context canceled: stopped" ||
			!errors.Is(err, errBusy) || !errors.Is(err, context.Canceled) || !errors.Is(err, stopped) {
			t.Errorf("%v after %d calls and %v", err, *calls, time.Since(start))
		}
	})
}

// TestDeadline begins no pause that would outlast the context.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		call, calls := failing(errBusy)
		err := retry.Do(ctx, retry.Policy{Initial: time.Second, Max: time.Second}, call)
		if *calls != 3 || !errors.Is(err, errBusy) || ctx.Err() != nil {
			t.Errorf("%v after %d calls, %v", err, *calls, ctx.Err())
		}
	})
}

// TestReset counts failures, pauses and time anew after progress.
func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, start := 0, time.Now()
		r := retry.New(retry.Policy{Initial: time.Second, Max: time.Minute, Tries: 3, Timeout: 4 * time.Second})
		err := r.Do(t.Context(), func() error {
			if calls++; calls <= 3 {
				r.Reset()
			}
			return errBusy
		})
		if !errors.Is(err, errBusy) || calls != 5 || time.Since(start) != (1+1+1+2)*time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(start))
		}
	})
}
