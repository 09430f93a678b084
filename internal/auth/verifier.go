package auth

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// leeway forgives a signer whose clock is ahead of ours: it holds for `nbf` and
// `iat`. A token is never taken after its `exp`.
const leeway = 30 * time.Second

// sharedAlgorithm is the one algorithm for keys that the server can sign with.
const sharedAlgorithm = "HS256"

// verifier holds the rules for tokens of one kind: the algorithms that they may
// be signed by, and what their claims must say.
type verifier struct {
	algorithms []string
	parser     *jwt.Parser
	now        func() time.Time
}

// newVerifier makes a verifier that asks for an issuer and an audience unless
// they are "".
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

// verify gives the claims of a token that holds. Its errors are for refuse.
func (v verifier) verify(t unverified, key jwt.Keyfunc) (jwt.MapClaims, error) {
	if !slices.Contains(v.algorithms, t.algorithm) {
		return nil, fmt.Errorf("%w: %.32q", errAlgorithm, t.algorithm)
	}
	claims := jwt.MapClaims{}
	if _, err := v.parser.ParseWithClaims(t.text, claims, key); err != nil {
		return nil, err
	}
	if !v.now().Before(expiry(claims)) {
		return nil, fmt.Errorf("past exp: %w", jwt.ErrTokenExpired)
	}
	return claims, nil
}

// expiry gives a token's end; one without is over.
func expiry(claims jwt.MapClaims) time.Time {
	end, err := claims.GetExpirationTime()
	if err != nil || end == nil {
		return time.Time{}
	}
	return end.Time
}

// Reasons that the JWT library has no error for.
var (
	errAlgorithm  = errors.New("algorithm not accepted")
	errMisfit     = errors.New("algorithm does not fit the key")
	errUnknownKey = errors.New("no such key")
)

// words are what a client is told, by the first reason that applies: the
// signature's come before those of the claims, which mean nothing without it.
var words = []struct {
	reason  error
	message string
}{
	{errAlgorithm, "the token's algorithm is not accepted"},
	{errMisfit, "the token's algorithm does not fit its key"},
	{errUnknownKey, "the token is signed with an unknown key"},
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

// refuse turns what a verifier found into an ErrUnauthorized.
func refuse(err error) error {
	for _, w := range words {
		if errors.Is(err, w.reason) {
			return unauthorized(w.message, err)
		}
	}
	return unauthorized("the token is not valid", err)
}
