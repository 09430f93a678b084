package agents

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
)

func TestRetryWhileUnavailable(t *testing.T) {
	t.Parallel()
	later := domain.Errorf(domain.ErrUnavailable, "the database is unavailable")
	for name, test := range map[string]struct {
		retryTimeout time.Duration
		// errs are what the data says one time after another; the last again and
		// again.
		errs []error
		want error
		took time.Duration
	}{
		"at once":                  {retryTimeout: time.Minute, errs: []error{nil}},
		"available in time":        {retryTimeout: time.Minute, errs: []error{later, domain.ErrTooMany, later, nil}, took: 350 * time.Millisecond},
		"unavailable for too long": {retryTimeout: 3 * time.Second, errs: []error{later}, want: domain.ErrUnavailable, took: 2550 * time.Millisecond},
		"a wrong query":            {retryTimeout: time.Minute, errs: []error{domain.ErrInvalid}, want: domain.ErrInvalid},
		"wrong afterwards":         {retryTimeout: time.Minute, errs: []error{later, domain.ErrInvalid}, want: domain.ErrInvalid, took: 50 * time.Millisecond},
		"none":                     {errs: []error{later}, want: domain.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, asked, began := &Run{config: Config{RetryTimeout: test.retryTimeout}}, 0, time.Now()
				_, err := retryWhileUnavailable(t.Context(), w, func() (int, error) {
					asked++
					return 0, test.errs[min(asked, len(test.errs))-1]
				})
				if !errors.Is(err, test.want) || time.Since(began) != test.took {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(began), test.want, test.took)
				}
			})
		})
	}
}

func TestRetryEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { stop(stopped) })
		w, began := &Run{config: Config{RetryTimeout: time.Hour}}, time.Now()
		_, err := retryWhileUnavailable(ctx, w, func() (int, error) { return 0, domain.ErrUnavailable })
		if !errors.Is(err, stopped) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
