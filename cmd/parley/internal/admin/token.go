package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/serve"
	"parley/internal/auth"
	"parley/internal/domain"
)

// Token is `parley token [USER]`.
type Token struct {
	User  *string       `arg:"" optional:"" help:"The user of the token. By default, your name on this machine, as in the link that serve prints."`
	TTL   time.Duration `env:"-" name:"ttl" default:"24h" placeholder:"DURATION" help:"How long the token is valid (${default})."`
	Group []string      `env:"-" sep:"none" placeholder:"NAME" help:"A group of the user; can be repeated."`
	serve.DataSettings
	serve.AuthSettings
}

// Run prints a token that a server with the same settings accepts.
func (t *Token) Run(_ context.Context, env command.Env) error {
	c := env.NewChecker()
	name := serve.LocalUser()
	if t.User != nil {
		name = *t.User
	}
	c.Username(name)
	for _, group := range t.Group {
		if problem := domain.CheckGrantee(domain.NormalizeUsername(domain.GroupPrefix + group)); problem != "" {
			c.Refuse("group", "%s", problem)
		}
	}
	t.DataSettings.Check(c)
	t.AuthSettings.Check(c)
	if err := c.Err(); err != nil {
		return err
	}
	if !t.UsesLocalKey() && t.AuthSecret == "" {
		return errors.New("an identity provider is set: get tokens from it")
	}
	_, statErr := os.Stat(filepath.Join(t.Data, auth.LocalKeyFile))
	cfg, err := t.AuthSettings.Config(t.Data)
	if err != nil {
		return err
	}
	if t.UsesLocalKey() && errors.Is(statErr, fs.ErrNotExist) {
		fmt.Fprintf(env.Stderr, "parley: %s had no signing key; made one\n", t.Data)
	}
	token, err := auth.Sign(cfg, name, t.TTL, t.Group...)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.Stdout, token)
	return err
}
