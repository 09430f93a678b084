// Package client has the commands that talk to a server: they ask, list, ingest and
// share. What goes over the wire is in apiclient, how a terminal looks in
// console.
package client

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/storage"
)

// connectionSettings say which server a command talks to, and for whom.
type connectionSettings struct {
	Server string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server to talk to (${default})."`
	Token  string `placeholder:"TEXT" help:"A token that says who you are. Better set by its variable."`
}

func (s connectionSettings) read(c *command.Checker) {
	if s.Server == "" {
		c.Refuse("server", "must be the address of a server")
	}
	c.PublicURL("server", s.Server)
}

// connections is how many connections to a server a command keeps.
const connections = 8

// client makes a client of the server. Without a token there is no use in one.
func (s connectionSettings) client() (*apiclient.Client, error) {
	token := strings.TrimSpace(s.Token)
	if token == "" {
		return nil, command.ErrNoToken
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
	own := storage.NormalizeUsername(cmp.Or(u.Preferred, u.Subject))
	return own != "" && own == storage.NormalizeUsername(name)
}
