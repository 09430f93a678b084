package auth

import (
	"context"

	"github.com/golang-jwt/jwt/v5"
)

// authority is whoever says who a user is.
type authority interface {
	// claims gives what a token says once its signature, times, issuer and
	// audience are verified, and the keys that it was verified with.
	claims(ctx context.Context, t unverified) (claims jwt.MapClaims, keys any, err error)
	// keys are those to verify with now, as something to compare.
	keys() any
	close()
}

var (
	_ authority = sharedKey{}
	_ authority = (*provider)(nil)
)

func newAuthority(cfg Config) authority {
	if cfg.provider() {
		return newProvider(cfg)
	}
	key := cfg.sharedKey()
	if len(key) < minKey {
		cfg.Log.Warn("the shared secret for tokens is short and can be guessed", "bytes", len(key), "wanted", minKey)
	}
	return sharedKey{
		verifier: newVerifier([]string{sharedAlgorithm}, cfg.Issuer, cfg.Audience, cfg.Now),
		key:      key,
	}
}

// sharedKey is whoever holds the key that the server holds too.
type sharedKey struct {
	verifier verifier
	key      []byte
}

func (s sharedKey) claims(_ context.Context, t unverified) (jwt.MapClaims, any, error) {
	claims, err := s.verifier.verify(t, fixedKey(s.key))
	if err != nil {
		return nil, nil, refuse(err)
	}
	return claims, s.keys(), nil
}

func (sharedKey) keys() any { return nil } // there is one, for good

func (sharedKey) close() {}

// fixedKey is for verifiers that have one key, whatever the token says.
func fixedKey(key []byte) jwt.Keyfunc {
	return func(*jwt.Token) (any, error) { return key, nil }
}
