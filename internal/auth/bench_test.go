package auth_test

import (
	"testing"

	"parley/internal/auth"
)

func BenchmarkAuthenticate(b *testing.B) {
	es := key{"e", "ES256", p256()}
	ed := key{"ed", "EdDSA", edwards()}
	provider := memoryIDP(one().jwk(), es.jwk(), ed.jwk())
	store := newTokenStore()
	idp := open(b, auth.Config{Issuer: provider.issuer, Audience: "parley", HTTPClient: provider.memoryClient(), Tokens: store})
	shared := open(b, auth.Config{Secret: secret, Audience: "parley"})
	local := open(b, auth.Config{LocalKey: secret})
	own, _ := issue(b, idp, store, false)
	claims := alice(provider.issuer)

	for _, mode := range []struct {
		name  string
		a     *auth.Authenticator
		token string
	}{
		{"provider/RS256", idp, one().token(claims)},
		{"provider/ES256", idp, es.token(claims)},
		{"provider/EdDSA", idp, ed.token(claims)},
		{"secret", shared, signed("HS256", secret, claims)},
		{"local", local, signed("HS256", secret, claims)},
		{"own", idp, own},
		{"refused", shared, signed("HS512", secret, claims)},
	} {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := mode.a.Authenticate(b.Context(), mode.token); (err == nil) == (mode.name == "refused") {
						b.Error(err)
					}
				}
			})
		})
	}
}
