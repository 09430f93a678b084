package auth_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/auth"
	"parley/internal/domain"
)

func TestSign(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]auth.Config{
		"secret":         {Secret: secret},
		"short secret":   {Secret: []byte("short")},
		"secret, strict": {Secret: secret, Issuer: "https://issuer.example", Audience: "parley", UsernameClaim: "email"},
		"username claim": {Secret: secret, UsernameClaim: "preferred_username"},
		"local":          {LocalKey: secret},
		"local, strict":  {LocalKey: secret, Audience: "parley", UsernameClaim: "sub"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token, err := auth.Sign(cfg, "Alice", time.Hour)
			if err != nil {
				t.Fatalf("Sign: %v", err)
			}
			wantCaller(t, open(t, cfg), token, aliceCaller)

			later := cfg
			later.Now = func() time.Time { return time.Now().Add(time.Hour) }
			wantRefused(t, open(t, later), token, "the token has expired")
			stranger := cfg
			stranger.Secret, stranger.LocalKey = nil, bytes.Repeat([]byte("x"), 32)
			stranger.Issuer = ""
			wantRefused(t, open(t, stranger), token, badSignature)
		})
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg      auth.Config
		username string
		ttl      time.Duration
	}{
		"no key":             {auth.Config{}, "alice", time.Hour},
		"identity provider":  {auth.Config{Issuer: "https://idp.example"}, "alice", time.Hour},
		"no user":            {auth.Config{LocalKey: secret}, "", time.Hour},
		"self":               {auth.Config{LocalKey: secret}, "Self", time.Hour},
		"blank in user":      {auth.Config{LocalKey: secret}, "a b", time.Hour},
		"no time":            {auth.Config{LocalKey: secret}, "alice", 0},
		"too short":          {auth.Config{LocalKey: secret}, "alice", time.Second - 1},
		"claim of the times": {auth.Config{LocalKey: secret, UsernameClaim: "exp"}, "alice", time.Hour},
	}
	for name, test := range tests {
		if token, err := auth.Sign(test.cfg, test.username, test.ttl); err == nil {
			t.Errorf("%s: Sign = %s", name, token)
		}
	}
}

func TestSharedKeyRefuses(t *testing.T) {
	t.Parallel()
	for mode, cfg := range map[string]auth.Config{
		"secret": {Secret: secret, Issuer: "https://issuer.example", Audience: "parley"},
		"local":  {LocalKey: secret, Audience: "parley"},
	} {
		a := open(t, cfg)
		claims := alice("https://issuer.example")
		hs := func(changes map[string]any) string { return signed("HS256", secret, with(claims, changes)) }
		wantCaller(t, a, hs(nil), aliceCaller)
		wantCaller(t, a, hs(map[string]any{"preferred_username": nil, "sub": "Bob"}), domain.Caller{Username: "bob"})
		tests := map[string]struct{ token, message string }{
			"another key":        {signed("HS256", []byte("another key of more than thirty-two bytes"), claims), badSignature},
			"key cut":            {signed("HS256", secret[:32], claims), badSignature},
			"HS384":              {signed("HS384", secret, claims), badAlgorithm},
			"HS512":              {signed("HS512", secret, claims), badAlgorithm},
			"RS256":              {one().token(claims), badAlgorithm},
			"none":               {unsigned(`{"alg":"none"}`, `{"sub":"alice","aud":"parley","exp":9999999999}`, ""), badAlgorithm},
			"crit":               {signed("HS256", secret, claims, map[string]any{"crit": []string{"x"}}), "the token uses an unknown extension"},
			"expired":            {hs(map[string]any{"exp": time.Now().Unix()}), "the token has expired"},
			"without expiry":     {hs(map[string]any{"exp": nil}), lacking},
			"not yet valid":      {hs(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "the token is not valid yet"},
			"another audience":   {hs(map[string]any{"aud": "other"}), "the token is meant for another audience"},
			"no user":            {hs(map[string]any{"preferred_username": nil, "sub": nil}), noUser},
			"a user's own token": {hs(map[string]any{"iss": "parley/user-token"}), badSignature},
		}
		if mode == "secret" {
			tests["another issuer"] = struct{ token, message string }{hs(map[string]any{"iss": "x"}), "the token comes from another issuer"}
		}
		for name, test := range tests {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				wantRefused(t, a, test.token, test.message)
			})
		}
	}
}

// The cause of a failure is for the log: its text tells it, and it can neither
// be told to clients by mistake nor be taken for the kind of the failure.
func TestCauseIsForTheLog(t *testing.T) {
	t.Parallel()
	a := open(t, auth.Config{Secret: secret})
	_, err := a.Authenticate(t.Context(), signed("HS256", secret, with(alice(""), map[string]any{"nbf": "soon"})))
	wantError(t, err, domain.ErrUnauthorized, wrongType)
	if !strings.Contains(err.Error(), wrongType+": ") || !strings.Contains(err.Error(), "nbf") {
		t.Errorf("the log is told %q", err)
	}
	if errors.Is(err, jwt.ErrInvalidType) {
		t.Error("the cause can be unwrapped")
	}
}
