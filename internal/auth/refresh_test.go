package auth_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

// bubble runs a test on a clock of its own, with a provider that is reached
// without a network. It fails when a goroutine outlives Close.
func bubble(t *testing.T, test func(t *testing.T, provider *idp)) {
	t.Helper()
	t.Parallel()
	keys := []any{one().jwk()}
	synctest.Test(t, func(t *testing.T) { test(t, memoryIDP(keys...)) })
}

func (p *idp) config() auth.Config {
	return auth.Config{Issuer: p.issuer, HTTPClient: p.memoryClient()}
}

// pass lets time go by and everything due happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func wantFetches(t *testing.T, provider *idp, want int) {
	t.Helper()
	if _, got := provider.counts(); got != want {
		t.Fatalf("keys were fetched %d times, want %d", got, want)
	}
}

func TestKeysAreRefreshedByTheHour(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		a := open(t, provider.config())
		synctest.Wait()
		wantFetches(t, provider, 1)

		provider.publish(two().jwk())
		pass(50 * time.Minute)
		wantFetches(t, provider, 1)
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
		pass(10 * time.Minute)
		wantFetches(t, provider, 2)
		wantCaller(t, a, two().token(alice(provider.issuer)), aliceCaller)
		wantFetches(t, provider, 2)
		wantRefused(t, a, one().token(alice(provider.issuer)), unknownKey)
		pass(24 * time.Hour)
		if _, fetches := provider.counts(); fetches < 3+23 || fetches > 3+27 {
			t.Errorf("a day brought %d fetches", fetches)
		}
	})
}

func TestOutageIsRetriedWithBackoff(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		provider.down = true
		start := time.Now()
		a := open(t, provider.config())
		if took := time.Since(start); took != 0 {
			t.Errorf("New took %v", took)
		}
		synctest.Wait()
		for i, wait := range []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60} {
			pass(wait * time.Second)
			if attempts, _ := provider.counts(); attempts != i+1 {
				t.Fatalf("attempt %d: the provider was asked %d times", i, attempts)
			}
		}
		provider.set(func(p *idp) { p.down = false })
		pass(time.Minute)
		wantFetches(t, provider, 1)
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
		pass(50 * time.Minute)
		wantFetches(t, provider, 1)

		// The next outage starts from the shortest wait again.
		provider.set(func(p *idp) { p.down = true; p.attempts = 0 })
		for attempts := 0; attempts == 0; attempts, _ = provider.counts() {
			pass(100 * time.Millisecond)
		}
		pass(time.Second)
		if attempts, _ := provider.counts(); attempts != 2 {
			t.Errorf("a second into the next outage the provider was asked %d times", attempts)
		}
	})
}

func TestOutageKeepsTheKeys(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		a := open(t, provider.config())
		synctest.Wait()
		provider.set(func(p *idp) { p.down = true })
		pass(72 * time.Hour)
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
	})
}

func TestUnknownKeysDoNotFloodTheProvider(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		a := open(t, provider.config())
		synctest.Wait()
		unknown := two().token(alice(provider.issuer))
		for range 100 {
			wantRefused(t, a, unknown, unknownKey)
		}
		wantFetches(t, provider, 1+3)
		provider.publish(one().jwk(), two().jwk())
		wantRefused(t, a, unknown, unknownKey)
		pass(10 * time.Second)
		wantCaller(t, a, unknown, aliceCaller)
		wantFetches(t, provider, 1+3+1)
	})
}

func TestRequestsShareAFetch(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		provider.delay = time.Second
		a := open(t, provider.config())
		everyone := func(token string) {
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() { wantCaller(t, a, token, aliceCaller) })
			}
			group.Wait()
		}
		everyone(one().token(alice(provider.issuer)))
		wantFetches(t, provider, 1)
		provider.publish(one().jwk(), two().jwk())
		everyone(two().token(alice(provider.issuer)))
		wantFetches(t, provider, 2)
	})
}

func TestSlowProvider(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		provider.delay = 8 * time.Second
		a := open(t, provider.config())
		token := one().token(alice(provider.issuer))
		start := time.Now()
		wantUnavailable(t, a, token)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the request was held for %v, want 5s", took)
		}
		wantCaller(t, a, token, aliceCaller)
		if took := time.Since(start); took != 8*time.Second {
			t.Errorf("the keys came after %v, want 8s", took)
		}

		// Beyond the time for a fetch it counts as down.
		provider.set(func(p *idp) { p.delay = time.Hour })
		pass(time.Hour + 10*time.Second)
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
		wantUnavailable(t, a, two().token(alice(provider.issuer)))
		provider.set(func(p *idp) { p.delay = 0 })
		pass(2 * time.Minute)
		wantRefused(t, a, two().token(alice(provider.issuer)), unknownKey)
	})
}

func TestRequestThatIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		provider.delay = 3 * time.Second
		a := open(t, provider.config())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := a.Authenticate(ctx, one().token(alice(provider.issuer)))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("Authenticate = %v after %v", err, time.Since(start))
		}
		// The fetch is not the request's, and goes on.
		pass(2 * time.Second)
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
		wantFetches(t, provider, 1)
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		provider.delay = time.Minute
		waiting := open(t, provider.config())
		result := make(chan error)
		go func() {
			_, err := waiting.Authenticate(context.Background(), one().token(alice(provider.issuer)))
			result <- err
		}()
		synctest.Wait()
		start := time.Now()
		waiting.Close()
		if provider.active.Load() != 0 {
			t.Error("Close left a fetch under way")
		}
		waiting.Close()
		wantError(t, <-result, domain.ErrUnavailable, "the identity provider cannot be reached")
		if took := time.Since(start); took != 0 {
			t.Errorf("Close took %v", took)
		}

		provider.set(func(p *idp) { p.delay = 0 })
		a := open(t, provider.config())
		synctest.Wait()
		a.Close()
		wantCaller(t, a, one().token(alice(provider.issuer)), aliceCaller)
		for range 5 {
			wantUnavailable(t, a, two().token(alice(provider.issuer)))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("requests waited for %v after Close", took)
		}
	})
}

func TestOutageIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T, provider *idp) {
		var log bytes.Buffer
		cfg := provider.config()
		cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
		open(t, cfg)
		told := func(want string) {
			t.Helper()
			if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
				t.Errorf("logged %q, want one line with %q", got, want)
			}
			log.Reset()
		}
		synctest.Wait()
		told(`level=INFO msg="identity provider's keys fetched" keys=1`)
		pass(5 * time.Hour)
		if log.Len() > 0 {
			t.Errorf("all is well, and logged %q", &log)
		}
		provider.set(func(p *idp) { p.down = true })
		for attempts, _ := provider.counts(); ; pass(100 * time.Millisecond) {
			if now, _ := provider.counts(); now > attempts {
				break
			}
		}
		told(`level=WARN msg="identity provider's keys not refreshed" error="discover the identity provider:`)
		provider.set(func(p *idp) { p.down = false })
		pass(2 * time.Second)
		told("level=INFO")
	})
}
