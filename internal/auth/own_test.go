package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/internal/auth"
	"parley/internal/domain"
)

// tokenStore keeps users' own tokens in memory.
type tokenStore struct {
	mu       sync.Mutex
	key      []byte
	callers  map[string]domain.Caller
	hashes   map[string][]byte
	failure  error
	keyReads int
}

func newTokenStore() *tokenStore {
	return &tokenStore{
		key:     bytes.Repeat([]byte("own"), 20),
		callers: map[string]domain.Caller{},
		hashes:  map[string][]byte{},
	}
}

func (s *tokenStore) SigningKey(context.Context, domain.KeyPurpose) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keyReads++
	return s.key, s.failure
}

func (s *tokenStore) TokenCaller(_ context.Context, id string, hash []byte) (domain.Caller, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return domain.Caller{}, s.failure
	}
	caller, ok := s.callers[id]
	if !ok || !bytes.Equal(hash, s.hashes[id]) {
		return domain.Caller{}, domain.ErrNotFound
	}
	return caller, nil
}

func (s *tokenStore) RevokedTokens(_ context.Context, ids []string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(ids, func(id string) bool { _, ok := s.callers[id]; return ok }), s.failure
}

func (s *tokenStore) create(token domain.NewToken, caller domain.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers[token.ID], s.hashes[token.ID] = caller, token.Hash
}

func (s *tokenStore) revoke(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.callers, id)
}

func (s *tokenStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

var secret = []byte("a shared secret of more than thirty-two bytes")

const revoked = "the token has been revoked"

// issue makes a token and stores it.
func issue(t testing.TB, a *auth.Authenticator, store *tokenStore, restricted bool) (string, domain.NewToken) {
	t.Helper()
	text, token, err := a.Issue(t.Context(), "Alice", time.Now().Add(time.Hour))
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	caller := domain.Caller{Username: "alice"}
	if restricted {
		caller.Restriction = token.ID
	}
	store.create(token, caller)
	return text, token
}

func TestOwnTokens(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	down := startIDP(t)
	down.down = true
	modes := map[string]auth.Config{
		"identity provider": {Issuer: provider.issuer, HTTPClient: provider.client()},
		"provider is down":  {Issuer: down.issuer, HTTPClient: down.client()},
		"secret":            {Secret: secret, Issuer: "https://issuer.example", Audience: "parley", UsernameClaim: "email"},
		"local":             {LocalKey: secret},
	}
	for name, cfg := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newTokenStore()
			cfg.Tokens = store
			a := open(t, cfg)

			text, token := issue(t, a, store, false)
			wantCaller(t, a, text, domain.Caller{Username: "alice"})
			limited, restricted := issue(t, a, store, true)
			wantCaller(t, a, limited, domain.Caller{Username: "alice", Restriction: restricted.ID})

			store.revoke(token.ID)
			wantRefused(t, a, text, revoked)
			wantCaller(t, a, limited, domain.Caller{Username: "alice", Restriction: restricted.ID})
			if store.keyReads != 1 {
				t.Errorf("the signing key was read %d times, want once", store.keyReads)
			}
		})
	}
}

func TestOwnTokenHoldsOnEveryReplica(t *testing.T) {
	t.Parallel()
	store := newTokenStore()
	first := open(t, auth.Config{LocalKey: secret, Tokens: store})
	second := open(t, auth.Config{LocalKey: secret, Tokens: store})
	text, _ := issue(t, first, store, false)
	wantCaller(t, second, text, domain.Caller{Username: "alice"})
}

func TestOwnTokenRefused(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	store := newTokenStore()
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client(), Tokens: store})
	shared := open(t, auth.Config{Secret: secret, Tokens: store})
	good, kept := issue(t, a, store, false)
	_, other := issue(t, a, store, false)
	wantCaller(t, a, good, domain.Caller{Username: "alice"})

	claims := map[string]any{
		"iss": "parley/user-token", "sub": "alice", "jti": kept.ID,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	own := func(changes map[string]any) string { return signed("HS256", store.key, with(claims, changes)) }
	parts := strings.Split(good, ".")
	tests := map[string]struct{ token, message string }{
		"never stored":                   {own(map[string]any{"jti": uuid.NewString()}), revoked},
		"another text of a stored one":   {own(map[string]any{"sub": "bob"}), revoked},
		"another's id":                   {own(map[string]any{"jti": other.ID, "exp": time.Now().Add(2 * time.Hour).Unix()}), revoked},
		"signed with the shared secret":  {signed("HS256", secret, claims), "the token's signature is not valid"},
		"signed with another key":        {signed("HS256", bytes.Repeat([]byte("x"), 60), claims), "the token's signature is not valid"},
		"signed with the provider's key": {one().token(claims), "the token's algorithm is not accepted"},
		"another HMAC":                   {signed("HS512", store.key, claims), "the token's algorithm is not accepted"},
		"none":                           {unsigned(`{"alg":"none"}`, `{"iss":"parley/user-token","jti":"`+kept.ID+`","exp":9999999999}`, ""), "the token's algorithm is not accepted"},
		"another payload":                {parts[0] + "." + strings.Split(own(map[string]any{"sub": "bob"}), ".")[1] + "." + parts[2], "the token's signature is not valid"},
		"signature cut":                  {good[:len(good)-3], "the token's signature is not valid"},
		"no signature":                   {parts[0] + "." + parts[1] + ".", "the token's signature is not valid"},
		"expired":                        {own(map[string]any{"exp": time.Now().Add(-time.Second).Unix()}), "the token has expired"},
		"without expiry":                 {own(map[string]any{"exp": nil}), "the token lacks a required claim"},
		"without id":                     {own(map[string]any{"jti": nil}), "the token is malformed"},
		"id of another type":             {own(map[string]any{"jti": 7}), "the token is malformed"},
		"id that is no uuid":             {own(map[string]any{"jti": "' OR 1=1"}), "the token is malformed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, a, test.token, test.message)
			wantRefused(t, shared, test.token, test.message)
		})
	}
}

func TestOwnTokenEndsOnTime(t *testing.T) {
	t.Parallel()
	store := newTokenStore()
	now := time.Now().Truncate(time.Second)
	a := open(t, auth.Config{LocalKey: secret, Tokens: store, Now: func() time.Time { return now }})
	text, token, err := a.Issue(t.Context(), "alice", now.Add(time.Minute+time.Millisecond))
	if err != nil {
		t.Fatalf("Issue: %v", err)
	}
	if !token.ExpiresAt.Equal(now.Add(time.Minute)) || !token.CreatedAt.Equal(now) || token.ExpiresAt.Location() != time.UTC {
		t.Errorf("Issue gave %v to %v", token.CreatedAt, token.ExpiresAt)
	}
	store.create(token, domain.Caller{Username: "alice"})
	now = now.Add(time.Minute - time.Nanosecond)
	wantCaller(t, a, text, domain.Caller{Username: "alice"})
	now = now.Add(time.Nanosecond)
	wantRefused(t, a, text, "the token has expired")
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	a := open(t, auth.Config{LocalKey: secret})
	for name, test := range map[string]struct {
		username string
		expires  time.Time
	}{
		"past":      {"alice", time.Now().Add(-time.Second)},
		"now":       {"alice", time.Now()},
		"no expiry": {"alice", time.Time{}},
		"no user":   {"", time.Now().Add(time.Hour)},
		"self":      {"Self", time.Now().Add(time.Hour)},
	} {
		if text, _, err := a.Issue(t.Context(), test.username, test.expires); !errors.Is(err, domain.ErrInvalid) || text != "" {
			t.Errorf("%s: Issue = %q, %v, want ErrInvalid", name, text, err)
		}
	}
}

// A store that fails is no reason to call a user's token bad.
func TestOwnTokenStoreFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	store := newTokenStore()
	a := open(t, auth.Config{LocalKey: secret, Tokens: store})

	store.fail(broken)
	if _, _, err := a.Issue(t.Context(), "alice", time.Now().Add(time.Hour)); !errors.Is(err, broken) {
		t.Fatalf("Issue without a signing key: %v", err)
	}
	store.fail(nil)
	text, _ := issue(t, a, store, false)
	store.fail(broken)
	fresh := open(t, auth.Config{LocalKey: secret, Tokens: store})
	for _, a := range []*auth.Authenticator{a, fresh} {
		_, err := a.Authenticate(t.Context(), text)
		if !errors.Is(err, broken) || errors.Is(err, domain.ErrUnauthorized) {
			t.Fatalf("Authenticate = %v, want the store's error", err)
		}
	}
	store.fail(nil)
	wantCaller(t, a, text, domain.Caller{Username: "alice"})
	wantCaller(t, fresh, text, domain.Caller{Username: "alice"})
}

func TestShortSigningKeyIsNotUsed(t *testing.T) {
	t.Parallel()
	store := newTokenStore()
	store.key = []byte("short")
	a := open(t, auth.Config{LocalKey: secret, Tokens: store})
	if _, _, err := a.Issue(t.Context(), "alice", time.Now().Add(time.Hour)); err == nil {
		t.Fatal("Issue signed with a short key")
	}
}

// TestOwnTokensCannotBeRebuilt looks for the part of a token that the store does
// not have.
func TestOwnTokensCannotBeRebuilt(t *testing.T) {
	t.Parallel()
	a := open(t, auth.Config{Secret: secret})
	nonces := map[string]bool{}
	for range 2 {
		text, _, err := a.Issue(t.Context(), "alice", time.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		var claims struct{ Nonce string }
		if err := json.Unmarshal(payload, &claims); err != nil || len(claims.Nonce) < 20 {
			t.Errorf("claims %s: %v", payload, err)
		}
		nonces[claims.Nonce] = true
	}
	if len(nonces) != 2 {
		t.Errorf("nonces: %v", nonces)
	}
}
