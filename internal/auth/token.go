package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/domain"
)

// maxToken limits the bytes of a token: more than any provider needs, and little to decode.
const maxToken = 16 << 10

// Bearer returns the token of a request's Authorization header; ErrUnauthorized when it has
// none, several, or one that is too long.
func Bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", domain.Errorf(domain.ErrUnauthorized, "a bearer token is required")
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case len(values) > 1:
		return "", domain.Errorf(domain.ErrUnauthorized, "only one Authorization header may be sent")
	case !strings.EqualFold(scheme, "Bearer"), token == "", strings.ContainsAny(token, " \t,"):
		return "", domain.Errorf(domain.ErrUnauthorized, "the Authorization header does not hold a bearer token")
	case len(token) > maxToken:
		return "", domain.Errorf(domain.ErrUnauthorized, "the token is too long")
	}
	return token, nil
}

// TokenSent reports whether a request has a bearer token, valid or not.
func TokenSent(h http.Header) bool {
	for _, value := range h.Values("Authorization") {
		scheme, token, _ := strings.Cut(strings.TrimSpace(value), " ")
		if strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(token) != "" {
			return true
		}
	}
	return false
}

// unverified is a token whose signature is not checked yet. Its values only choose the
// verifier.
type unverified struct {
	text      string
	algorithm string
	issuer    string
	named     bool // whether the token names its key
}

var unverifiedParser = jwt.NewParser(jwt.WithStrictDecoding())

// tokenAlphabet has the characters of base64url and the dot between parts.
const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."

// parse decodes a token and refuses what cannot be one for Parley.
func parse(text string) (unverified, error) {
	if len(text) > maxToken {
		return unverified{}, unauthorized("the token is too long", fmt.Errorf("%d bytes", len(text)))
	}
	// Decoders of base64 skip line breaks: a token could be written in many ways.
	if strings.Count(text, ".") != 2 || strings.Trim(text, tokenAlphabet) != "" {
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
	// Extensions in `crit` must not be ignored, and Parley knows none.
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

// username returns the normalized username in verified claims. The claim "" is
// preferred_username, or sub without it.
func username(claims jwt.MapClaims, claim string) (string, error) {
	if claim == "" {
		claim = "preferred_username"
		// An invalid claim is not skipped: the user would silently become another one.
		if claims[claim] == nil {
			claim = "sub"
		}
	}
	value, ok := claims[claim].(string)
	if !ok {
		return "", unauthorized("the token names no user", fmt.Errorf("claim %q is a %T", claim, claims[claim]))
	}
	name, problem := normalUsername(value)
	if problem != "" {
		return "", unauthorized("the token's username "+problem, fmt.Errorf("claim %q is not a username", claim))
	}
	return name, nil
}

// normalUsername normalizes a username and returns its error, "" for none.
func normalUsername(name string) (normal, problem string) {
	normal = domain.NormalizeUsername(name)
	return normal, domain.CheckUsername(normal)
}
