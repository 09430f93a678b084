package auth_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

// FuzzAuthenticate wants every text but the very ones that were signed to be
// refused, by words for the client.
func FuzzAuthenticate(f *testing.F) {
	provider := memoryIDP(one().jwk(), key{"e", "ES256", p256()}.jwk())
	store := newTokenStore()
	modes := []*auth.Authenticator{
		open(f, auth.Config{Issuer: provider.issuer, HTTPClient: provider.memoryClient(), Tokens: store}),
		open(f, auth.Config{Secret: secret, Tokens: store}),
		open(f, auth.Config{LocalKey: secret, Audience: "parley", Tokens: store}),
	}
	claims := with(alice(provider.issuer), map[string]any{"exp": time.Now().Add(24 * time.Hour).Unix()})
	own, _ := issue(f, modes[0], store, true)
	callers := map[string]domain.Caller{
		one().token(claims):                             aliceCaller,
		one().token(claims, map[string]any{"kid": nil}): aliceCaller,
		key{"e", "ES256", p256()}.token(claims):         aliceCaller,
		signed("HS256", secret, claims):                 aliceCaller,
		own:                                             {},
	}
	for _, token := range slices.Sorted(maps.Keys(callers)) {
		f.Add(token)
		parts := strings.Split(token, ".")
		f.Add(parts[0] + "." + parts[1] + ".")
		f.Add(parts[0] + ".." + parts[2])
	}
	for _, header := range []string{`{"alg":"none"}`, `{"alg":"RS256"}`, `{"alg":"ES256","kid":"e"}`, `{"alg":"HS256"}`, `{"alg":"EdDSA","crit":[]}`, `null`} {
		f.Add(unsigned(header, `{"iss":"parley/user-token","jti":"x","exp":1e18,"aud":[1]}`, "x"))
	}
	f.Add("")
	f.Add("..")
	f.Add("a.b.c.d.e")

	f.Fuzz(func(t *testing.T, token string) {
		for _, a := range modes {
			caller, err := a.Authenticate(t.Context(), token)
			if _, good := callers[token]; err == nil && (!good || caller.Username != "alice") {
				t.Fatalf("%q is %+v", token, caller)
			}
			var said *domain.Error
			if err != nil && (!errors.Is(err, domain.ErrUnauthorized) || !errors.As(err, &said) || caller != (domain.Caller{})) {
				t.Fatalf("%q: %+v, %v", token, caller, err)
			}
		}
	})
}
