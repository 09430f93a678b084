package rest_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/internal/waittest"
	"parley/rest"
	"parley/storage/sqlstore/sqlstoretest"
)

// heldAuth holds back the verification of a token, and counts it.
type heldAuth struct {
	rest.Authenticator
	token string
	gate  chan struct{}
	calls atomic.Int64
}

func (a *heldAuth) Session(ctx context.Context, token string) (auth.Session, error) {
	if token == a.token {
		a.calls.Add(1)
		<-a.gate
	}
	return a.Authenticator.Session(ctx, token)
}

// TestRequestsTakeTurns sends many requests with a token, valid or not: only some are started,
// others' requests do not wait for them, and those whose clients go away before cost nothing.
func TestRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]func(s *service) string{
		"a user's": func(s *service) string {
			token := s.token("alice")
			s.vars["alice"] = token
			if got := s.send("alice", http.MethodGet, "/query/models", "", ""); got.status != http.StatusOK {
				s.t.Fatalf("%d %s", got.status, got.body)
			}
			return token
		},
		"an invalid one": func(*service) string { return "a.b.c" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := &heldAuth{gate: make(chan struct{})}
			s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
				held.Authenticator = cfg.Auth
				cfg.Auth = held
			})
			s.rest.SetHoldTime(time.Hour)
			s.vars["bob"] = s.token("bob")
			asBob := func() {
				t.Helper()
				if got := s.send("bob", http.MethodGet, "/query/models", "", ""); got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
				}
			}
			asBob()
			held.token = token(s)
			const waiting = 100
			atOnce := 12 * runtime.GOMAXPROCS(0)
			ctx, cancel := context.WithCancel(t.Context())
			var done sync.WaitGroup
			for range atOnce + waiting {
				done.Go(func() {
					request := httptest.NewRequestWithContext(ctx, http.MethodGet, rest.Root+"/query/models", nil)
					request.RemoteAddr = "127.0.0.2:1"
					request.Header.Set("Authorization", "Bearer "+held.token)
					s.rest.ServeHTTP(httptest.NewRecorder(), request)
				})
			}
			waittest.Until(t, "the requests start or wait", func() bool {
				now := s.rest.RequestStats()
				return now.Running == atOnce && now.Waiting == waiting && held.calls.Load() == int64(atOnce)
			})
			asBob()
			cancel()
			waittest.Until(t, "no request waits", func() bool { return s.rest.RequestStats().Waiting == 0 })
			close(held.gate)
			done.Wait()
			logged := strings.Count(s.log.String(), `"client":"127.0.0.2"`)
			if held.calls.Load() != int64(atOnce) || logged != atOnce {
				t.Errorf("%d tokens were verified and %d requests logged, want %d", held.calls.Load(), logged, atOnce)
			}
		})
	}
}

// TestRequestsThatTakeLong holds requests: others of their user start when these have held
// their slots for long.
func TestRequestsThatTakeLong(t *testing.T) {
	t.Parallel()
	held := &heldAuth{gate: make(chan struct{})}
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
		held.Authenticator = cfg.Auth
		cfg.Auth = held
	})
	held.token = s.token("alice")
	many := 32 * runtime.GOMAXPROCS(0)
	var done sync.WaitGroup
	for range many {
		done.Go(func() {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, rest.Root+"/query/models", nil)
			request.Header.Set("Authorization", "Bearer "+held.token)
			s.rest.ServeHTTP(httptest.NewRecorder(), request)
		})
	}
	waittest.Until(t, "all requests have started", func() bool { return held.calls.Load() == int64(many) })
	close(held.gate)
	done.Wait()
}
