package auth_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

// begin starts a request with a token, and gives its context.
func begin(t *testing.T, a *auth.Authenticator, token string) context.Context {
	t.Helper()
	session, err := a.Session(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, release := session.Context(t.Context())
	t.Cleanup(release)
	return ctx
}

func wantEnded(t *testing.T, ctx context.Context, message string) {
	t.Helper()
	var said *domain.Error
	if cause := context.Cause(ctx); !errors.Is(cause, domain.ErrUnauthorized) || !errors.As(cause, &said) || said.Message != message {
		t.Errorf("the request's context ended with %v, want %q", cause, message)
	}
}

func wantOpen(t *testing.T, ctx context.Context) {
	t.Helper()
	if ctx.Err() != nil {
		t.Errorf("the request's context ended: %v", context.Cause(ctx))
	}
}

func TestRevokingEndsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newTokenStore()
		here := open(t, auth.Config{LocalKey: secret, Tokens: store})
		there := open(t, auth.Config{LocalKey: secret, Tokens: store})
		text, token := issue(t, here, store, true)
		kept, _ := issue(t, here, store, false)
		signed, err := auth.Sign(auth.Config{LocalKey: secret}, "alice", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		first, second, elsewhere := begin(t, here, text), begin(t, here, text), begin(t, there, text)
		others := []context.Context{begin(t, here, kept), begin(t, there, kept), begin(t, here, signed)}
		time.Sleep(3500 * time.Millisecond) // between two polls
		wantOpen(t, first)

		store.revoke(token.ID)
		here.EndRequests(token.ID) // no time passes
		wantEnded(t, first, revoked)
		wantEnded(t, second, revoked)
		wantOpen(t, elsewhere)
		store.fail(errors.New("disk on fire"))
		time.Sleep(3 * time.Second)
		wantOpen(t, elsewhere)
		store.fail(nil)
		time.Sleep(time.Second)
		synctest.Wait()
		wantEnded(t, elsewhere, revoked)
		for _, ctx := range others {
			wantOpen(t, ctx)
		}
	})
}

func TestExpiryEndsRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newTokenStore()
		a := open(t, auth.Config{LocalKey: secret, Tokens: store})
		text, _ := issue(t, a, store, true)
		ctx := begin(t, a, text)
		time.Sleep(time.Hour - time.Second)
		wantOpen(t, ctx)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		wantEnded(t, ctx, "the token has expired")
	})
}
