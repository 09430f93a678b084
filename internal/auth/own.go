package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"parley/storage"
)

// ownIssuer is the `iss` of users' own tokens.
const ownIssuer = "parley/user-token"

// Tokens is the part of storage.Tokens that verifies users' own tokens.
type Tokens interface {
	// TokenCaller gives whom a token speaks for, ErrNotFound when it was
	// revoked.
	TokenCaller(ctx context.Context, id string, hash []byte) (storage.Caller, error)
	// RevokedTokens gives those of some tokens, by id, that were revoked.
	RevokedTokens(ctx context.Context, ids []string) ([]string, error)
	// SigningKey gives the key of users' own tokens, always the same.
	SigningKey(ctx context.Context, purpose storage.KeyPurpose) ([]byte, error)
}

var _ Tokens = storage.Tokens(nil)

// ownTokens signs and verifies the tokens that users make for themselves.
type ownTokens struct {
	store    Tokens
	verifier verifier
	key      atomic.Pointer[[]byte]
}

func newOwnTokens(store Tokens, now func() time.Time) *ownTokens {
	return &ownTokens{
		store:    store,
		verifier: newVerifier([]string{sharedAlgorithm}, ownIssuer, "", now),
	}
}

// verify finds a token's id once its signature and times are verified.
func (o *ownTokens) verify(ctx context.Context, t unverified) (verified, error) {
	key, err := o.signingKey(ctx)
	if err != nil {
		return verified{}, err
	}
	claims, err := o.verifier.verify(t, fixedKey(key))
	if err != nil {
		return verified{}, refuse(err)
	}
	text, _ := claims["jti"].(string)
	id, err := uuid.Parse(text)
	if err != nil {
		return verified{}, unauthorized("the token is malformed", fmt.Errorf("read jti: %w", err))
	}
	return verified{ownID: id.String(), expires: expiry(claims)}, nil
}

// caller asks the store whether a token still stands, each time: a revoked token
// is refused from the next request on.
func (o *ownTokens) caller(ctx context.Context, id string, hash []byte) (storage.Caller, error) {
	caller, err := o.store.TokenCaller(ctx, id, hash)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return storage.Caller{}, unauthorized("the token has been revoked", err)
	case err != nil:
		return storage.Caller{}, fmt.Errorf("look up a user's own token: %w", err)
	}
	return caller, nil
}

// signingKey asks the store once; its key never changes.
func (o *ownTokens) signingKey(ctx context.Context) ([]byte, error) {
	if key := o.key.Load(); key != nil {
		return *key, nil
	}
	key, err := o.store.SigningKey(ctx, storage.KeyForTokens)
	if err != nil {
		return nil, fmt.Errorf("read the signing key of users' own tokens: %w", err)
	}
	if len(key) < minKey {
		return nil, fmt.Errorf("the signing key of users' own tokens has %d bytes, fewer than %d", len(key), minKey)
	}
	o.key.Store(&key)
	return key, nil
}

// Issue makes a token of a user's own that ends at expires, to the second. It
// gives the token's text, which is to be shown once, and what is to be kept of
// it: the caller adds Name and Permissions and stores that, and only then does
// the token hold. An expiry that has passed is ErrInvalid.
func (a *Authenticator) Issue(ctx context.Context, username string, expires time.Time) (string, storage.NewToken, error) {
	name, problem := normalUsername(username)
	if problem != "" {
		return "", storage.NewToken{}, storage.Invalid(storage.FieldError{Field: "username", Message: problem})
	}
	created := a.now().UTC().Truncate(time.Second)
	expires = expires.UTC().Truncate(time.Second)
	if !expires.After(created) {
		return "", storage.NewToken{}, storage.Invalid(storage.FieldError{Field: "expires_at", Message: "must be in the future"})
	}
	key, err := a.own.signingKey(ctx)
	if err != nil {
		return "", storage.NewToken{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return "", storage.NewToken{}, fmt.Errorf("make a token's id: %w", err)
	}
	text, err := sign(key, jwt.MapClaims{
		"iss": ownIssuer,
		"sub": name,
		"jti": id.String(),
		// All else is in the store: this is what makes its hash say nothing.
		"nonce": rand.Text(),
		"iat":   created.Unix(),
		"exp":   expires.Unix(),
	})
	if err != nil {
		return "", storage.NewToken{}, err
	}
	hash := sha256.Sum256([]byte(text))
	return text, storage.NewToken{
		Token: storage.Token{ID: id.String(), CreatedAt: created, ExpiresAt: expires},
		Hash:  hash[:],
	}, nil
}
