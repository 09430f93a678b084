package auth

import (
	"errors"
	"fmt"

	"github.com/golang-jwt/jwt/v5"
)

// maxToken is the most bytes that a token may have: far more than any provider
// needs, and little to decode.
const maxToken = 16 << 10

// unverified is what a token says of itself. It serves to choose who verifies
// it, and is never believed.
type unverified struct {
	text      string
	algorithm string
	issuer    string
	// named is whether the token names its key.
	named bool
}

var unverifiedParser = jwt.NewParser(jwt.WithStrictDecoding())

// read takes a token apart, refusing what cannot be a token for Parley.
func read(text string) (unverified, error) {
	if len(text) > maxToken {
		return unverified{}, unauthorized("the token is too long", fmt.Errorf("%d bytes", len(text)))
	}
	if !compact(text) {
		return unverified{}, unauthorized("the token is malformed", errors.New("not three base64url parts"))
	}
	claims := jwt.MapClaims{}
	token, _, err := unverifiedParser.ParseUnverified(text, claims)
	switch {
	case errors.Is(err, jwt.ErrTokenUnverifiable):
		return unverified{}, unauthorized("the token's algorithm is not accepted", err)
	case err != nil:
		return unverified{}, unauthorized("the token is malformed", err)
	}
	// A signer marks with `crit` what must not be ignored. Parley knows no
	// extensions, so there is nothing that it could honour.
	if _, critical := token.Header["crit"]; critical {
		return unverified{}, unauthorized("the token uses an unknown extension", errors.New("crit in the header"))
	}
	kid, named := token.Header["kid"]
	if _, isText := kid.(string); named && !isText {
		return unverified{}, unauthorized("the token is malformed", fmt.Errorf("kid is a %T", kid))
	}
	issuer, _ := claims["iss"].(string)
	return unverified{text: text, algorithm: token.Method.Alg(), issuer: issuer, named: named}, nil
}

// compact reports whether a text is three parts in the alphabet of tokens.
// Decoders of base64 skip line breaks, so that without this one token could be
// written in many ways.
func compact(text string) bool {
	dots := 0
	for _, c := range []byte(text) {
		switch {
		case c == '.':
			dots++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return dots == 2
}
