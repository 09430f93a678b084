package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley/internal/auth"
)

// tokenCmd is `parley token USER`.
type tokenCmd struct {
	User string `arg:"" help:"The user that the token speaks for."`
	TTL  string `env:"-" name:"ttl" default:"24h" placeholder:"DURATION" help:"How long the token holds (${default})."`
	dataSettings
	authSettings
}

// Run prints a token that a server with the same settings accepts.
func (t *tokenCmd) Run(_ context.Context, out output) error {
	c := &checker{}
	c.user(t.User)
	ttl := c.duration("ttl", t.TTL)
	t.dataSettings.read(c)
	cfg := t.authSettings.read(c)
	if err := c.err(); err != nil {
		return err
	}
	if t.local() {
		_, statErr := os.Stat(filepath.Join(t.Data, auth.LocalKeyFile))
		key, err := auth.LoadLocalKey(t.Data)
		if err != nil {
			return err
		}
		if errors.Is(statErr, fs.ErrNotExist) {
			fmt.Fprintf(out.stderr, "parley: %s had no signing key; made one\n", t.Data)
		}
		cfg.LocalKey = key
	} else if t.AuthSecret == "" {
		return errors.New("with an identity provider set, tokens come from it")
	}
	token, err := auth.Sign(cfg, t.User, ttl)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out.stdout, token)
	return err
}
