package auth

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// minKey is the fewest bytes that a key for HS256 should have.
const minKey = 32

// Problems lists everything that is wrong with what tokens depend on, but for
// an authority that is not set yet: the local key may be still to load.
func (c Config) Problems() []string {
	var wrong []string
	add := func(bad bool, format string, args ...any) {
		if bad {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	add(c.JWKSURL != "" && len(c.Secret) > 0, "set the identity provider's keys or a shared secret, not both")
	add(len(c.LocalKey) > 0 && len(c.Secret) > 0, "the local key is for running without a shared secret")
	add(len(c.LocalKey) > 0 && (c.Issuer != "" || c.JWKSURL != ""), "the local key is for running without an identity provider")
	add(len(c.LocalKey) > 0 && len(c.LocalKey) < minKey, "the local key is shorter than %d bytes", minKey)
	add(c.Issuer == ownIssuer, "the issuer %q is taken by users' own tokens", ownIssuer)
	registered := []string{"iss", "aud", "exp", "nbf", "iat", "jti"}
	add(slices.Contains(registered, c.UsernameClaim), "the claim %q does not name users", c.UsernameClaim)
	if c.JWKSURL != "" {
		add(!webAddress(c.JWKSURL), "the address of the identity provider's keys is not an http(s) URL: %q", c.JWKSURL)
	} else if c.provider() && c.Issuer != "" {
		add(!webAddress(c.Issuer), "the issuer is not an http(s) URL, and the address of its keys is not set: %q", c.Issuer)
	}
	return wrong
}

// check is Problems for a configuration that is complete.
func (c Config) check() error {
	wrong := c.Problems()
	if c.provider() && c.Issuer == "" && c.JWKSURL == "" {
		wrong = append(wrong, "no identity provider, shared secret or local key")
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New("auth: " + strings.Join(wrong, "; "))
}

// provider reports whether an identity provider is the authority.
func (c Config) provider() bool { return len(c.Secret) == 0 && len(c.LocalKey) == 0 }

// sharedKey is the key of the other two authorities.
func (c Config) sharedKey() []byte {
	if len(c.Secret) > 0 {
		return bytes.Clone(c.Secret)
	}
	return bytes.Clone(c.LocalKey)
}

func (c Config) withDefaults() Config {
	if c.HTTPClient == nil {
		c.HTTPClient = &http.Client{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

func webAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
