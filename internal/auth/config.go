package auth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// minKey is the recommended minimum of a key for HS256, in bytes.
const minKey = 32

// Problem is the error of a field of a Config.
type Problem struct{ Field, Message string }

// Problems returns the errors of all settings, except a missing authority: the local key may
// be loaded later.
func (c Config) Problems() []Problem {
	var wrong []Problem
	add := func(bad bool, field, format string, args ...any) {
		if bad {
			wrong = append(wrong, Problem{field, fmt.Sprintf(format, args...)})
		}
	}
	add(c.JWKSURL != "" && len(c.Secret) > 0, "Secret", "must not be set beside the identity provider's keys: tokens are signed with the one or the other, not both")
	add(len(c.LocalKey) > 0 && len(c.Secret) > 0, "LocalKey", "is for running without a shared secret")
	add(len(c.LocalKey) > 0 && (c.Issuer != "" || c.JWKSURL != ""), "LocalKey", "is for running without an identity provider")
	add(len(c.LocalKey) > 0 && len(c.LocalKey) < minKey, "LocalKey", "is shorter than %d bytes", minKey)
	add(c.Issuer == ownIssuer, "Issuer", "must not be %q, which is taken by users' own tokens", ownIssuer)
	registered := []string{"iss", "aud", "exp", "nbf", "iat", "jti"}
	add(slices.Contains(registered, c.UsernameClaim), "UsernameClaim", "must name users, which %q does not", c.UsernameClaim)
	add(c.UsernameClaim != "" && strings.TrimSpace(c.UsernameClaim) == "", "UsernameClaim", "must not be blank")
	for _, claim := range c.Claims {
		add(slices.Contains(registered, claim) || strings.TrimSpace(claim) != claim || claim == "", "Claims", "must name claims, not %q", claim)
	}
	if c.JWKSURL != "" {
		add(!webAddress(c.JWKSURL), "JWKSURL", "must be an http(s) URL, not %q", c.JWKSURL)
	} else if c.provider() && c.Issuer != "" {
		add(!webAddress(c.Issuer), "Issuer", "must be an http(s) URL, not %q, where the address of its keys is not set", c.Issuer)
	}
	return wrong
}

// check is Problems for a complete configuration.
func (c Config) check() error {
	var wrong []error
	for _, problem := range c.Problems() {
		wrong = append(wrong, fmt.Errorf("auth: %s %s", problem.Field, problem.Message))
	}
	if c.provider() && c.Issuer == "" && c.JWKSURL == "" {
		wrong = append(wrong, errors.New("auth: no identity provider, shared secret or local key"))
	}
	return errors.Join(wrong...)
}

// provider reports whether an identity provider is the authority.
func (c Config) provider() bool { return len(c.Secret) == 0 && len(c.LocalKey) == 0 }

// SignsIn reports whether browsers can sign in with the identity provider.
func (c Config) SignsIn() bool { return c.provider() && webAddress(c.Issuer) && c.ClientID != "" }

// sharedKey is the key of the other two authorities.
func (c Config) sharedKey() []byte {
	if len(c.Secret) > 0 {
		return bytes.Clone(c.Secret)
	}
	return bytes.Clone(c.LocalKey)
}

func (c Config) withDefaults() Config {
	c.HTTPClient = cmp.Or(c.HTTPClient, http.DefaultClient)
	c.Log = cmp.Or(c.Log, slog.Default())
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func webAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
