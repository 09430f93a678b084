package auth

import "parley/storage"

// failure is an authentication that did not come to a caller. Clients are told
// what said holds; its text adds the cause, for the log. The cause cannot be
// unwrapped: a failure is of the kind that said names, and of no other.
type failure struct {
	said  *storage.Error
	cause error
}

func (f *failure) Error() string { return f.said.Message + ": " + f.cause.Error() }

func (f *failure) Unwrap() error { return f.said }

func unauthorized(message string, cause error) error {
	return &failure{said: storage.Errorf(storage.ErrUnauthorized, "%s", message), cause: cause}
}

func unavailable(cause error) error {
	return &failure{
		said:  storage.Errorf(storage.ErrUnavailable, "the identity provider cannot be reached"),
		cause: cause,
	}
}
