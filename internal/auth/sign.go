package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Sign creates a token with all rights of a user for as long as ttl, which a server with the
// same configuration accepts. It is an error when an identity provider is the authority. Tokens,
// Users, HTTPClient and Log are not needed.
func Sign(cfg Config, username string, ttl time.Duration, groups ...string) (string, error) {
	if err := cfg.check(); err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	key := cfg.sharedKey()
	if len(key) == 0 {
		return "", errors.New("sign a token: there is no shared secret or local key; tokens come from the identity provider")
	}
	if ttl < time.Second {
		return "", fmt.Errorf("sign a token: it must be valid for at least one second, not %v", ttl)
	}
	name, problem := normalUsername(username)
	if problem != "" {
		return "", fmt.Errorf("sign a token: the username %s", problem)
	}
	now := cfg.withDefaults().Now()
	claims := jwt.MapClaims{"sub": name, "iat": now.Unix(), "exp": now.Add(ttl).Unix()}
	if len(groups) > 0 && len(cfg.Claims) > 0 {
		claims[cfg.Claims[0]] = groups
	}
	if cfg.Issuer != "" {
		claims["iss"] = cfg.Issuer
	}
	if cfg.Audience != "" {
		claims["aud"] = cfg.Audience
	}
	if cfg.UsernameClaim != "" {
		claims[cfg.UsernameClaim] = name
	}
	return sign(key, claims)
}

func sign(key []byte, claims jwt.MapClaims) (string, error) {
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(key)
}
