package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"parley/internal/apiclient"
	"parley/storage"
)

// connectionSettings say which server a command talks to, and for whom.
type connectionSettings struct {
	Server string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server to talk to (${default})."`
	Token  string `placeholder:"TEXT" help:"A token that says who you are. Better set by its variable."`
}

func (s connectionSettings) read(c *checker) {
	if s.Server == "" {
		c.refuse("server", "must be the address of a server")
	}
	c.secretless("server", s.Server)
}

// connections is how many connections to a server a command keeps.
const connections = 8

// client makes a client of the server. Without a token there is no use in one.
func (s connectionSettings) client() (*apiclient.Client, error) {
	token := strings.TrimSpace(s.Token)
	if token == "" {
		return nil, errNoToken
	}
	return apiclient.New(s.Server, token, connections), nil
}

// tokenUser is whom a token says that it is for. The server has the last word.
type tokenUser struct {
	Subject   string `json:"sub"`
	Preferred string `json:"preferred_username"`
}

func (s connectionSettings) user() (u tokenUser) {
	if parts := strings.Split(strings.TrimSpace(s.Token), "."); len(parts) == 3 {
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(claims, &u) // what is no token says nothing
	}
	return u
}

// is reports whether a name is the user's.
func (u tokenUser) is(name string) bool {
	own := storage.NormalUsername(cmp.Or(u.Preferred, u.Subject))
	return own != "" && own == storage.NormalUsername(name)
}

var (
	errNoToken = errors.New("no token")
	// errNoAnswer is for a question that was asked and not answered;
	// errUnanswered is one that could not be understood, or that the data has no
	// answer to.
	errNoAnswer   = errors.New("no answer")
	errUnanswered = fmt.Errorf("%w", errNoAnswer)
	// errInterrupted is for what a user has ended.
	errInterrupted = errors.New("interrupted")
)

// notFoundError is for what there is not, where no server said so.
type notFoundError string

func (e notFoundError) Error() string { return string(e) }

// exitCode tells scripts why a command failed.
func exitCode(ctx context.Context, err error) int {
	var wrong wrongSettings
	var missing notFoundError
	var refused *apiclient.RPCError
	switch status := apiclient.Status(err); {
	case errors.As(err, &wrong):
		return exitUsage
	case errors.Is(err, errInterrupted), ctx.Err() != nil && errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errNoToken), status == http.StatusUnauthorized:
		return exitNotSignedIn
	case errors.As(err, &missing), status == http.StatusNotFound, errors.As(err, &refused) && refused.Code == apiclient.TaskNotFound:
		return exitNotFound
	case apiclient.Unavailable(err):
		return exitUnavailable
	case errors.Is(err, errNoAnswer):
		return exitNoAnswer
	}
	return exitFailed
}

// advice says what to do about an error, "" when there is nothing to say.
func advice(code int, err error) string {
	var refused *apiclient.RPCError
	switch {
	case errors.Is(err, errNoToken):
		return "make a token with `parley token USER` in the server's data folder, or get one from your identity provider, and set PARLEY_TOKEN to it"
	case code == exitNotSignedIn:
		return "the token is wrong or has expired: make one with `parley token USER` in the server's data folder, or get one from your identity provider, and set PARLEY_TOKEN to it"
	case code == exitUnavailable && apiclient.Status(err) == 0:
		return "is it running? Start one with `parley serve`, or set PARLEY_SERVER to where it is"
	case code == exitUnavailable:
		return "the server has too much to do, or cannot work now: try again later"
	case errors.Is(err, errUnanswered):
		return "ask in other words; `parley datasets` lists what there is to ask about"
	case code == exitNotFound && apiclient.Status(err) == http.StatusNotFound:
		return "`parley datasets` lists what you may read"
	case code == exitNotFound && errors.As(err, &refused):
		return "`parley tasks` lists what you have asked"
	}
	return ""
}
