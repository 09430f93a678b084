package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/login"
)

// Login is `parley login`.
type Login struct {
	Server    string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server to sign in to (${default})."`
	ClientID  string `default:"parley" placeholder:"TEXT" help:"What the command line is registered as at the identity provider (${default})."`
	Device    bool   `env:"-" help:"Show a code to enter in a browser on any machine."`
	NoBrowser bool   `env:"-" help:"Print the address to open, and open no browser."`
}

// Run signs the user in and keeps the tokens for later commands.
func (l *Login) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	connectionSettings{Server: l.Server}.check(c)
	if err := c.Err(); err != nil {
		return err
	}
	flow, err := login.Begin(ctx, l.Server, l.ClientID)
	if err != nil {
		return err
	}
	var signedIn *login.Login
	if l.Device {
		signedIn, err = flow.Device(ctx, func(address, code string) {
			fmt.Fprintf(env.Stderr, "Open %s in a browser and enter the code %s\n", address, code)
		})
	} else {
		signedIn, err = flow.Browser(ctx, func(address string) { l.show(ctx, env, address) }, inputLines())
	}
	if err != nil {
		return err
	}
	if err := accept(ctx, signedIn); err != nil {
		return err
	}
	before, _ := login.Load(l.Server) // nil for none
	if err := signedIn.Save(); err != nil {
		return err
	}
	if before != nil {
		_ = before.Revoke(ctx) // it expires otherwise
	}
	fmt.Fprintf(env.Stderr, "You are signed in to %s.\n", signedIn.Server)
	return nil
}

// show opens a browser, or tells the user to.
func (l *Login) show(ctx context.Context, env command.Env, address string) {
	if !l.NoBrowser {
		fmt.Fprintln(env.Stderr, "Sign in in your browser, which opens this address:")
		go func() { _ = openLink(ctx, address) }() // the user has the address
	} else {
		fmt.Fprintln(env.Stderr, "Open this address in a browser. If that runs on another machine, paste here the address that it ends at:")
	}
	fmt.Fprintln(env.Stderr, address)
}

// inputLines are the lines of standard input.
func inputLines() <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for input := bufio.NewScanner(os.Stdin); input.Scan(); {
			lines <- input.Text()
		}
	}()
	return lines
}

// accept finds the token of a login that the server takes.
func accept(ctx context.Context, signedIn *login.Login) error {
	for {
		client := apiclient.NewRenewing(signedIn.Server, signedIn.Token, 1)
		err := client.Call(ctx, http.MethodGet, "/schema/datasets/all", nil, nil)
		if apiclient.Status(err) != http.StatusUnauthorized || signedIn.WithID || signedIn.ID == "" {
			if err != nil {
				err = fmt.Errorf("%s does not take the token of %s: %w", signedIn.Server, signedIn.Issuer, err)
			}
			return err
		}
		signedIn.WithID = true
	}
}

// Logout is `parley logout`.
type Logout struct {
	Server string `default:"http://127.0.0.1:8080" placeholder:"URL" help:"The server to sign out from (${default})."`
}

// Run ends the tokens and forgets them.
func (l *Logout) Run(ctx context.Context, env command.Env) error {
	signedIn, err := login.Load(l.Server)
	if errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(env.Stderr, "You are not signed in to %s.\n", l.Server)
		return nil
	}
	if err != nil {
		return err
	}
	err = errors.Join(signedIn.Revoke(ctx), signedIn.Remove())
	if err == nil {
		fmt.Fprintf(env.Stderr, "You are signed out from %s.\n", signedIn.Server)
	}
	return err
}
