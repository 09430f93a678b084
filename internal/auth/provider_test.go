package auth_test

import (
	"net/http"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/auth"
	"parley/internal/domain"
)

var aliceCaller = domain.Caller{Username: "alice"}

const (
	unknownKey   = "the token is signed with an unknown key"
	badSignature = "the token's signature is not valid"
	badAlgorithm = "the token's algorithm is not accepted"
)

func TestProviderAlgorithms(t *testing.T) {
	t.Parallel()
	keys := []key{
		{"r2", "RS256", rsaOne()}, {"r3", "RS384", rsaOne()}, {"r5", "RS512", rsaOne()},
		{"s2", "PS256", rsaTwo()}, {"s3", "PS384", rsaTwo()}, {"s5", "PS512", rsaTwo()},
		{"e2", "ES256", p256()}, {"e3", "ES384", p384()}, {"e5", "ES512", p521()},
		{"ed", "EdDSA", edwards()},
	}
	for _, k := range keys {
		t.Run(k.algorithm, func(t *testing.T) {
			t.Parallel()
			for name, published := range map[string]any{
				"whole":       k.jwk(),
				"without alg": k.jwk(map[string]any{"alg": nil, "use": nil}),
				"key_ops":     k.jwk(map[string]any{"use": nil, "key_ops": []string{"verify"}}),
			} {
				provider := startIDP(t, published)
				a := open(t, auth.Config{Issuer: provider.issuer, Audience: "parley", HTTPClient: provider.client()})
				t.Log(name)
				wantCaller(t, a, k.token(alice(provider.issuer)), aliceCaller)
			}
		})
	}
}

func TestProviderByAddressOfKeys(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	provider.discovery = answer(http.StatusNotFound, "")

	lenient := open(t, auth.Config{JWKSURL: provider.issuer + "/keys", HTTPClient: provider.client()})
	wantCaller(t, lenient, one().token(alice("https://somebody.example")), aliceCaller)
	wantCaller(t, lenient, one().token(with(alice(""), map[string]any{"iss": nil})), aliceCaller)

	strict := open(t, auth.Config{JWKSURL: provider.issuer + "/keys", Issuer: "parley's own", HTTPClient: provider.client()})
	wantCaller(t, strict, one().token(alice("parley's own")), aliceCaller)
	wantRefused(t, strict, one().token(alice("https://somebody.example")), "the token comes from another issuer")
}

// An issuer is compared to the letter, while its description is found with and
// without the slash.
func TestProviderTrailingSlash(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	jwks := provider.issuer + "/keys"
	withSlash := provider.issuer + "/"
	provider.discovery = func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, map[string]string{"issuer": withSlash, "jwks_uri": jwks})
	}
	a := open(t, auth.Config{Issuer: withSlash, HTTPClient: provider.client()})
	wantCaller(t, a, one().token(alice(withSlash)), aliceCaller)
	wantRefused(t, a, one().token(alice(provider.issuer)), "the token comes from another issuer")
	wantUnavailable(t, open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()}), one().token(alice(provider.issuer)))
}

func TestProviderRotation(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	old, fresh := one().token(alice(provider.issuer)), two().token(alice(provider.issuer))
	wantCaller(t, a, old, aliceCaller)

	provider.publish(one().jwk(), two().jwk())
	wantCaller(t, a, fresh, aliceCaller)
	wantCaller(t, a, old, aliceCaller)

	provider.publish(two().jwk(), three().jwk())
	wantCaller(t, a, three().token(alice(provider.issuer)), aliceCaller)
	wantRefused(t, a, old, unknownKey)
	wantCaller(t, a, fresh, aliceCaller)
}

func TestTokenThatNamesNoKey(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk(map[string]any{"kid": nil}))
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	nameless := func(k key) string { return k.token(alice(provider.issuer), map[string]any{"kid": nil}) }
	wantCaller(t, a, nameless(one()), aliceCaller)

	// The new key is found although nothing in the token tells that it is new.
	provider.publish(one().jwk(), two().jwk(), key{"e", "ES256", p256()}.jwk())
	wantCaller(t, a, nameless(two()), aliceCaller)
	wantCaller(t, a, nameless(one()), aliceCaller)
	wantCaller(t, a, nameless(key{"e", "ES256", p256()}), aliceCaller)
	wantRefused(t, a, nameless(three()), badSignature)
	wantRefused(t, a, nameless(key{"s", "PS256", rsaOne()}), unknownKey)
}

func TestProviderUnreachableAtStart(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	provider.down = true
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	token := one().token(alice(provider.issuer))
	for range 10 {
		wantUnavailable(t, a, token)
	}
	provider.set(func(p *idp) { p.down = false })
	waittest.Until(t, "the provider's tokens are taken", func() bool {
		caller, err := a.Authenticate(t.Context(), token)
		return err == nil && caller == aliceCaller
	})
}

func TestProviderUnreachableLater(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()})
	known, unknown := one().token(alice(provider.issuer)), two().token(alice(provider.issuer))
	wantCaller(t, a, known, aliceCaller)

	provider.set(func(p *idp) { p.down = true })
	// The later ones find that the provider was asked just now, in vain.
	for range 10 {
		wantUnavailable(t, a, unknown)
	}
	wantCaller(t, a, known, aliceCaller)
	wantRefused(t, a, one().token(with(alice(provider.issuer), map[string]any{"exp": 1})), "the token has expired")
}

func TestProviderTalksNonsense(t *testing.T) {
	t.Parallel()
	for name, handler := range nonsense() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := startIDP(t, one().jwk())
			cfg := auth.Config{Issuer: provider.issuer, HTTPClient: provider.client()}
			a := open(t, cfg)
			known := one().token(alice(provider.issuer))
			wantCaller(t, a, known, aliceCaller)

			provider.set(func(p *idp) { p.jwks = handler })
			wantUnavailable(t, a, two().token(alice(provider.issuer)))
			wantCaller(t, a, known, aliceCaller)
			wantUnavailable(t, open(t, cfg), known)
		})
	}
}

func TestDiscoveryTalksNonsense(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	describe := func(issuer, jwks string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, map[string]string{"issuer": issuer, "jwks_uri": jwks})
		}
	}
	jwks := provider.issuer + "/keys"
	handlers := map[string]http.HandlerFunc{
		"another issuer": describe("https://evil.example", jwks),
		"no issuer":      describe("", jwks),
		"longer issuer":  describe(provider.issuer+"/realm", jwks),
		"no address":     describe(provider.issuer, ""),
		"relative":       describe(provider.issuer, "/keys"),
		"a file":         describe(provider.issuer, "file:///etc/passwd"),
		"ftp":            describe(provider.issuer, "ftp://idp.example/keys"),
		"no host":        describe(provider.issuer, "http:///keys"),
		"a page":         answer(http.StatusOK, "<html>"),
		"500":            answer(http.StatusInternalServerError, `{}`),
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broken := startIDP(t)
			broken.discovery = handler
			client := provider.client()
			next := client.Transport
			client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/keys" {
					t.Error("keys were fetched in spite of the description")
				}
				r = r.Clone(r.Context())
				r.URL.Host = broken.issuer[len("http://"):]
				return next.RoundTrip(r)
			})
			a := open(t, auth.Config{Issuer: provider.issuer, HTTPClient: client})
			wantUnavailable(t, a, one().token(alice(provider.issuer)))
		})
	}
}
