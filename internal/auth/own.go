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

	"parley/internal/domain"
)

// ownIssuer is the `iss` of users' own tokens.
const ownIssuer = "parley/user-token"

// Tokens has the records of users' own tokens.
type Tokens interface {
	// TokenCaller returns the caller of a token; ErrNotFound when it was revoked.
	TokenCaller(ctx context.Context, id string, hash []byte) (domain.Caller, error)
	// RevokedTokens returns the ids of those tokens that were revoked.
	RevokedTokens(ctx context.Context, ids []string) ([]string, error)
	// SigningKey returns the key of users' own tokens, which never changes.
	SigningKey(ctx context.Context, purpose domain.KeyPurpose) ([]byte, error)
}

// ownTokens signs and verifies the tokens that users create for themselves.
type ownTokens struct {
	store    Tokens
	verifier verifier
	key      storedKey
}

func newOwnTokens(store Tokens, now func() time.Time) *ownTokens {
	return &ownTokens{store: store, verifier: newVerifier([]string{sharedAlgorithm}, ownIssuer, "", now), key: storedKey{store: store, purpose: domain.KeyForTokens}}
}

// verify returns the id of a token with a valid signature and times.
func (o *ownTokens) verify(ctx context.Context, t unverified) (verified, error) {
	key, err := o.key.read(ctx)
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

// caller reads the caller of a token from the store for each request, so that a revoked
// token is refused at once.
func (o *ownTokens) caller(ctx context.Context, id string, hash []byte) (domain.Caller, error) {
	caller, err := o.store.TokenCaller(ctx, id, hash)
	switch {
	case errors.Is(err, domain.ErrNotFound):
		return domain.Caller{}, unauthorized("the token has been revoked", err)
	case err != nil:
		return domain.Caller{}, fmt.Errorf("look up a user's own token: %w", err)
	}
	return caller, checkOwner(caller.Username)
}

// checkOwner refuses the user of a token or session that was made when such names were allowed.
func checkOwner(name string) error {
	if problem := domain.CheckUsername(name); problem != "" {
		return unauthorized("the token's username "+problem, errors.New("the owner is no username"))
	}
	return nil
}

// storedKey is a key of the store, which is read once.
type storedKey struct {
	store   Tokens
	purpose domain.KeyPurpose
	value   atomic.Pointer[[]byte]
}

func (k *storedKey) read(ctx context.Context) ([]byte, error) {
	if key := k.value.Load(); key != nil {
		return *key, nil
	}
	key, err := k.store.SigningKey(ctx, k.purpose)
	if err != nil {
		return nil, fmt.Errorf("read the signing key for %s: %w", k.purpose, err)
	}
	if len(key) < minKey {
		return nil, fmt.Errorf("the signing key for %s has %d bytes, fewer than %d", k.purpose, len(key), minKey)
	}
	k.value.Store(&key)
	return key, nil
}

// Issue creates a token of a user's own that expires at a time, to the second. It returns
// the text, which is shown once, and the record: the token is valid when the caller has added
// name and permissions and stored it. An expiry in the past is ErrInvalid.
func (a *Authenticator) Issue(ctx context.Context, username string, expires time.Time) (text string, token domain.NewToken, err error) {
	return a.issue(ctx, domain.NewID(), username, expires)
}

// issue is Issue for a token with an id.
func (a *Authenticator) issue(ctx context.Context, id, username string, expires time.Time) (text string, token domain.NewToken, err error) {
	name, problem := normalUsername(username)
	if problem != "" {
		return "", token, domain.Invalid(domain.FieldError{Field: "username", Message: problem})
	}
	created := a.now().UTC().Truncate(time.Second)
	expires = expires.UTC().Truncate(time.Second)
	if !expires.After(created) {
		return "", token, domain.Invalid(domain.FieldError{Field: "expires_at", Message: "must be in the future"})
	}
	key, err := a.own.key.read(ctx)
	if err != nil {
		return "", token, err
	}
	text, err = sign(key, jwt.MapClaims{
		"iss": ownIssuer,
		"sub": name,
		"jti": id,
		// All other claims are in the store: this makes the hash useless to its reader.
		"nonce": rand.Text(),
		"iat":   created.Unix(),
		"exp":   expires.Unix(),
	})
	hash := sha256.Sum256([]byte(text))
	token.ID, token.CreatedAt, token.ExpiresAt, token.Hash = id, created, expires, hash[:]
	return text, token, err
}
