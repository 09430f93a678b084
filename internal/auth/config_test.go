package auth_test

import (
	"strings"
	"testing"

	"parley/internal/auth"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cfg  auth.Config
		want []string
	}{
		"nothing":           {auth.Config{}, []string{"no identity provider, shared secret or local key"}},
		"secret and local":  {auth.Config{Secret: secret, LocalKey: secret}, []string{"without a shared secret"}},
		"secret and keys":   {auth.Config{Secret: secret, JWKSURL: "https://idp.example/keys"}, []string{"not both"}},
		"local and issuer":  {auth.Config{LocalKey: secret, Issuer: "https://idp.example"}, []string{"without an identity provider"}},
		"local and keys":    {auth.Config{LocalKey: secret, JWKSURL: "https://idp.example/keys"}, []string{"without an identity provider"}},
		"short local key":   {auth.Config{LocalKey: []byte("short")}, []string{"shorter than 32 bytes"}},
		"issuer no address": {auth.Config{Issuer: "idp.example"}, []string{"must be an http(s) URL"}},
		"issuer a file":     {auth.Config{Issuer: "file:///idp"}, []string{"must be an http(s) URL"}},
		"keys no address":   {auth.Config{JWKSURL: "/keys"}, []string{"must be an http(s) URL"}},
		"keys unparsable":   {auth.Config{JWKSURL: "http://[::1"}, []string{"must be an http(s) URL"}},
		"reserved issuer":   {auth.Config{Secret: secret, Issuer: "parley/user-token"}, []string{"taken by users' own tokens"}},
		"reserved claim":    {auth.Config{Secret: secret, UsernameClaim: "iss"}, []string{`must name users, which "iss" does not`}},
		"all at once":       {auth.Config{JWKSURL: "x", UsernameClaim: "aud"}, []string{"must be an http(s) URL", "must name users"}},
	}
	for name, test := range tests {
		test.cfg.Tokens = newTokenStore()
		a, err := auth.New(test.cfg)
		if err == nil {
			a.Close()
			t.Errorf("%s: New made an Authenticator", name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: New: %v, want %q", name, err, want)
			}
		}
	}
	if _, err := auth.New(auth.Config{Secret: secret}); err == nil {
		t.Error("New without a store made an Authenticator")
	}
}

func TestCloseWithoutProvider(t *testing.T) {
	t.Parallel()
	a := open(t, auth.Config{Secret: secret})
	a.Close()
	a.Close()
}
