package client

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"parley/cmd/parley/internal/command"
	"parley/internal/baseurl"
)

// Open is `parley open`.
type Open struct {
	Print command.Toggle `env:"-" help:"Print the address instead. It holds your token."`
	connectionSettings
}

// Run opens the server's page in a browser, signed in with the user's token.
func (o *Open) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	show := c.Bool("print", o.Print)
	if _, err := o.connect(c); err != nil {
		return err
	}
	address := strings.TrimSuffix(strings.TrimRight(o.Server, "/"), baseurl.Root)
	link := address + "/#token=" + strings.TrimSpace(o.Token)
	if show {
		_, err := fmt.Fprintln(env.Stdout, link)
		return err
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	if err := exec.CommandContext(ctx, opener, link).Run(); err != nil {
		return fmt.Errorf("no browser could be opened (%w); `parley open --print` prints the address to open", err)
	}
	fmt.Fprintf(env.Stdout, "Opened %s in your browser.\n", address)
	return nil
}
