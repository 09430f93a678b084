// Package client has the commands that call a server: ask, tasks, cancel, ingest,
// datasets, share, healthcheck and completion. The protocol is in apiclient, terminal
// output in console.
package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"unicode"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/login"
	"parley/internal/domain"
)

// connectionSettings name the server that a command calls, and the user.
type connectionSettings struct {
	Server string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server to call (${default})."`
	Token  string `placeholder:"TEXT" help:"Your token. Prefer the variable."`
}

// connect checks the settings and returns a client, or all problems that c has.
func (s connectionSettings) connect(c *command.Checker) (*apiclient.Client, error) {
	s.check(c)
	if err := c.Err(); err != nil {
		return nil, err
	}
	return s.client()
}

func (s connectionSettings) check(c *command.Checker) {
	if s.Server == "" {
		c.Refuse("server", "must be the address of a server")
	}
	c.PublicURL("server", s.Server)
}

// connections is how many idle connections a client has.
const connections = 8

// client returns a client of the server. It needs a token, or a login.
func (s connectionSettings) client() (*apiclient.Client, error) {
	token := strings.TrimSpace(s.Token)
	if token == "" {
		signedIn, err := s.login()
		if err != nil {
			return nil, err
		}
		return apiclient.NewRenewing(s.Server, signedIn.Token, connections), nil
	}
	if strings.ContainsFunc(token, unicode.IsControl) {
		return nil, command.ErrBadToken
	}
	return apiclient.New(s.Server, token, connections), nil
}

func (s connectionSettings) login() (*login.Login, error) {
	found, err := login.Load(s.Server)
	if errors.Is(err, os.ErrNotExist) {
		err = command.ErrNoToken
	}
	return found, err
}

// token returns the user's token for something else than a client: that of the settings, or of a
// login. Without one it is "".
func (s connectionSettings) token(ctx context.Context) (string, error) {
	if token := strings.TrimSpace(s.Token); token != "" {
		return token, nil
	}
	found, err := s.login()
	if errors.Is(err, command.ErrNoToken) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return found.Token(ctx)
}

// tokenUser is the user that a token names. Only the server verifies it.
type tokenUser struct {
	Subject   string `json:"sub"`
	Preferred string `json:"preferred_username"`
}

func (s connectionSettings) user() (u tokenUser) {
	token := strings.TrimSpace(s.Token)
	if token == "" {
		if found, err := s.login(); err == nil {
			token = found.Text()
		}
	}
	if parts := strings.Split(token, "."); len(parts) == 3 {
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		_ = json.Unmarshal(claims, &u) // empty for what is not a token
	}
	return u
}

// is reports whether a name is the user's.
func (u tokenUser) is(name string) bool {
	own := domain.NormalizeUsername(cmp.Or(u.Preferred, u.Subject))
	return own != "" && own == domain.NormalizeUsername(name)
}

// shortNamespace returns a namespace without its owner if that is the user.
func (u tokenUser) shortNamespace(namespace string) string {
	if owner, name, found := strings.Cut(namespace, "/"); found && u.is(owner) {
		return name
	}
	return namespace
}
