package auth

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/domain"
)

// leeway for signers whose clock is ahead of ours applies to `nbf` and `iat`, never to
// `exp`.
const leeway = 30 * time.Second

// sharedAlgorithm is the only algorithm for keys that the server can sign with.
const sharedAlgorithm = "HS256"

// verifier has the rules for tokens of one kind: their algorithms and required claims.
type verifier struct {
	algorithms []string
	parser     *jwt.Parser
	now        func() time.Time
}

// newVerifier returns a verifier; an issuer or audience of "" is not required.
func newVerifier(algorithms []string, issuer, audience string, now func() time.Time) verifier {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms),
		jwt.WithStrictDecoding(),
		jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(),
		jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(now),
	}
	if issuer != "" {
		options = append(options, jwt.WithIssuer(issuer))
	}
	if audience != "" {
		options = append(options, jwt.WithAudience(audience))
	}
	return verifier{algorithms: algorithms, parser: jwt.NewParser(options...), now: now}
}

// verify returns the claims of a valid token. Its errors are for refuse.
func (v verifier) verify(t unverified, key jwt.Keyfunc) (jwt.MapClaims, error) {
	if !slices.Contains(v.algorithms, t.algorithm) {
		return nil, fmt.Errorf("%w: %.32q", errAlgorithm, t.algorithm)
	}
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(t.text, claims, key); err != nil {
		if exp, ok := claims["exp"].(float64); ok && exp > math.MaxInt64 && errors.Is(err, jwt.ErrTokenExpired) {
			return nil, fmt.Errorf("%w: exp is %g", errTooLate, exp) // for the library it is before 1970
		}
		return nil, err
	}
	if !v.now().Before(expiry(claims)) {
		return nil, fmt.Errorf("past exp: %w", jwt.ErrTokenExpired)
	}
	return claims, nil
}

// expiry returns the end of a token; a token without one has expired.
func expiry(claims jwt.MapClaims) time.Time {
	end, err := claims.GetExpirationTime()
	if err != nil || end == nil {
		return time.Time{}
	}
	return end.Time
}

// sharedKey is an authority that signs with a key that the server has too.
type sharedKey struct {
	verifier
	key []byte
}

func newSharedKey(cfg Config) sharedKey {
	key := cfg.sharedKey()
	if len(key) < minKey {
		cfg.Log.Warn("the shared secret for tokens is short and can be guessed", "bytes", len(key), "wanted", minKey)
	}
	return sharedKey{newVerifier([]string{sharedAlgorithm}, cfg.Issuer, cfg.Audience, cfg.Now), key}
}

func (s sharedKey) claims(_ context.Context, t unverified) (jwt.MapClaims, any, error) {
	claims, err := s.verify(t, fixedKey(s.key))
	if err != nil {
		return nil, nil, refuse(err)
	}
	return claims, nil, nil
}

func (sharedKey) keys() any { return nil } // the key never changes

// fixedKey is for verifiers that have one key, whatever the token says.
func fixedKey(key []byte) jwt.Keyfunc {
	return func(*jwt.Token) (any, error) { return key, nil }
}

// Reasons that the JWT library has no error for.
var (
	errAlgorithm  = errors.New("algorithm not accepted")
	errMisfit     = errors.New("algorithm does not fit the key")
	errUnknownKey = errors.New("no such key")
	errTooLate    = errors.New("later than any time")
)

// refusals are the messages to clients. The first match counts: errors of the signature come
// before those of the claims, which mean nothing without it.
var refusals = []struct {
	reason  error
	message string
}{
	{errAlgorithm, "the token's algorithm is not accepted"},
	{errMisfit, "the token's algorithm does not fit its key"},
	{errUnknownKey, "the token is signed with an unknown key"},
	{errTooLate, "the token's exp is too large; it is in seconds since 1970"},
	{jwt.ErrTokenMalformed, "the token is malformed"},
	{jwt.ErrTokenSignatureInvalid, "the token's signature is not valid"},
	{jwt.ErrTokenExpired, "the token has expired"},
	{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
	{jwt.ErrTokenUsedBeforeIssued, "the token is not valid yet"},
	{jwt.ErrTokenInvalidIssuer, "the token comes from another issuer"},
	{jwt.ErrTokenInvalidAudience, "the token is meant for another audience"},
	{jwt.ErrTokenRequiredClaimMissing, "the token lacks a required claim"},
	{jwt.ErrInvalidType, "a claim of the token has the wrong type"},
}

// refuse converts the error of a verifier to an ErrUnauthorized.
func refuse(err error) error {
	for _, r := range refusals {
		if errors.Is(err, r.reason) {
			return unauthorized(r.message, err)
		}
	}
	return unauthorized("the token is not valid", err)
}

// failure is an error of authentication. Clients get the text of answer; the log also gets
// the cause, which cannot be unwrapped, so that the failure is of one kind only.
type failure struct {
	answer *domain.Error
	cause  error
}

func (f *failure) Error() string { return f.answer.Message + ": " + f.cause.Error() }

func (f *failure) Unwrap() error { return f.answer }

func unauthorized(message string, cause error) error {
	return &failure{domain.Errorf(domain.ErrUnauthorized, "%s", message), cause}
}

func unavailable(cause error) error {
	return &failure{domain.Errorf(domain.ErrUnavailable, "the identity provider cannot be reached"), cause}
}
