package auth

import (
	"net/http"
	"strings"

	"parley/storage"
)

// Bearer gives the token that a request's Authorization header carries. All
// that is not one token of a bearable size is ErrUnauthorized.
func Bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	switch len(values) {
	case 0:
		return "", storage.Errorf(storage.ErrUnauthorized, "a bearer token is required")
	case 1:
	default:
		return "", storage.Errorf(storage.ErrUnauthorized, "only one Authorization header may be sent")
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(values[0]), " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"), token == "", strings.ContainsAny(token, " \t,"):
		return "", storage.Errorf(storage.ErrUnauthorized, "the Authorization header does not hold a bearer token")
	case len(token) > maxToken:
		return "", storage.Errorf(storage.ErrUnauthorized, "the token is too long")
	}
	return token, nil
}
