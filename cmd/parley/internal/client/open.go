package client

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/internal/baseurl"
)

// Open is `parley open`.
type Open struct {
	Print bool `env:"-" help:"Print the address, with your token, instead of opening it."`
	connectionSettings
}

// openTime is how long a browser has to read the file that sends it on.
const openTime = 5 * time.Second

// Run opens the server's page in a browser, signed in with the user's token.
func (o *Open) Run(ctx context.Context, env command.Env) error {
	c := env.NewChecker()
	if _, err := o.connect(c); err != nil {
		return err
	}
	address := strings.TrimSuffix(strings.TrimRight(o.Server, "/"), baseurl.Root)
	token, err := o.token(ctx)
	if err != nil {
		return err
	}
	link := address + "/#token=" + token
	if o.Print {
		_, err := fmt.Fprintln(env.Stdout, link)
		return err
	}
	if err := openLink(ctx, link); err != nil {
		return fmt.Errorf("no browser could be opened (%w); `parley open --print` prints the address to open", err)
	}
	fmt.Fprintf(env.Stdout, "Opened %s in your browser.\n", address)
	return nil
}

// openLink opens a link by a file that only the user can read: all users can read the
// arguments of a program.
func openLink(ctx context.Context, link string) error {
	dir, err := os.MkdirTemp("", "parley-open-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	page := filepath.Join(dir, "open.html")
	text := `<!doctype html><meta http-equiv="refresh" content="0;url=` + html.EscapeString(link) + `">`
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		return err
	}
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	if err := exec.CommandContext(ctx, opener, page).Run(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(openTime):
	}
	return nil
}
