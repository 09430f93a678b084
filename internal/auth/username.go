package auth

import (
	"fmt"

	"github.com/golang-jwt/jwt/v5"

	"parley/storage"
)

// The claims that name the user when no other is set.
const (
	preferredUsername = "preferred_username"
	subject           = "sub"
)

// username gives the name in verified claims, in its normal form. The claim is
// the one to read, "" for the usual ones.
func username(claims jwt.MapClaims, claim string) (string, error) {
	if claim == "" {
		claim = preferredUsername
		// A claim that is there and wrong is not passed over: the user would
		// silently become another one.
		if claims[claim] == nil {
			claim = subject
		}
	}
	value, ok := claims[claim].(string)
	if !ok {
		return "", noUser(fmt.Errorf("claim %q is a %T", claim, claims[claim]))
	}
	name, problem := normalUsername(value)
	if problem != "" {
		return "", unauthorized("the token's username "+problem, fmt.Errorf("claim %q is not a username", claim))
	}
	return name, nil
}

// normalUsername gives a name in its normal form and what is wrong with it.
func normalUsername(name string) (normal, problem string) {
	normal = storage.NormalizeUsername(name)
	return normal, storage.CheckUsername(normal)
}

func noUser(cause error) error { return unauthorized("the token names no user", cause) }
