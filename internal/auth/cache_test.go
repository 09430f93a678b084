package auth_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

// TestRememberedTokenExpires has a token that was taken be sent again at its
// end.
func TestRememberedTokenExpires(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(time.Now().Unix())
	cfg := auth.Config{Secret: secret, Now: func() time.Time { return time.Unix(now.Load(), 0) }}
	a := open(t, cfg)
	token, err := auth.Sign(cfg, "alice", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := a.Authenticate(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		now.Add(15)
	}
	now.Add(15)
	if _, err := a.Authenticate(t.Context(), token); !errors.Is(err, domain.ErrUnauthorized) {
		t.Errorf("at its end: %v", err)
	}
}

// TestManyTokens sends more tokens than are remembered, twice: each speaks for
// its own user.
func TestManyTokens(t *testing.T) {
	t.Parallel()
	cfg := auth.Config{Secret: secret}
	a := open(t, cfg)
	tokens := make([]string, 5000)
	for i := range tokens {
		var err error
		if tokens[i], err = auth.Sign(cfg, fmt.Sprint("user", i), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		for i, token := range tokens {
			caller, err := a.Authenticate(t.Context(), token)
			if err != nil || caller.Username != fmt.Sprint("user", i) {
				t.Fatalf("token %d: %+v, %v", i, caller, err)
			}
		}
	}
}
