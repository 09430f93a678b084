// Package demo is `parley demo`: a server on this machine with sample data.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/demo/sample"
	"parley/cmd/parley/internal/serve"
)

// Command is `parley demo`. It ignores the variables of a real server, except those of
// language models.
type Command struct {
	Listen   string     `env:"-" placeholder:"HOST:PORT" help:"The address to listen on (127.0.0.1:8080, or a free port if that is in use)."`
	Data     string     `env:"-" placeholder:"DIR" help:"A folder to keep, new or from an earlier demo. Without it, the demo uses a temporary folder and deletes it at the end."`
	LogLevel slog.Level `env:"-" default:"warn" placeholder:"debug|info|warn|error" help:"The lowest level to log (${default})."`
	serve.ModelSettings
}

// tokenLife is how long the tokens are valid.
const tokenLife = 7 * 24 * time.Hour

// Run serves the sample until the context ends.
func (d *Command) Run(ctx context.Context, env command.Env) (err error) {
	folder, err := openFolder(d.Data)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, folder.close()); err == nil {
			fmt.Fprintln(env.Stdout, folder.afterExit())
		}
	}()
	server, err := serve.Local(d.ModelSettings)
	if err != nil {
		return err
	}
	server.Data, server.LogLevel, server.Listen = folder.path, d.LogLevel, cmp.Or(d.Listen, server.Listen)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	err = server.Serve(ctx, env, serve.Options{
		AnyPort: d.Listen == "",
		Ready: func(ctx context.Context, url string) error {
			screen := welcomeScreen{URL: url, Program: programName(self, os.Args[0]), Folder: folder.onExit(), Models: strings.Join(d.LLM, ",")}
			if err := prepare(ctx, folder, &screen, console.NewProgress(env.Stderr)); err != nil {
				return err
			}
			return screen.print(env.Stdout)
		},
	})
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another port, or leave out --listen for a free one", err)
	}
	return err
}

// prepare creates the tokens and loads the sample if that is not loaded yet: users may
// have changed it.
func prepare(ctx context.Context, folder *dataFolder, screen *welcomeScreen, show *console.Progress) (err error) {
	if screen.Alice, err = serve.LocalToken(folder.path, sample.Alice, tokenLife); err != nil {
		return err
	}
	if screen.Bob, err = serve.LocalToken(folder.path, sample.Bob, tokenLife); err != nil {
		return err
	}
	if folder.loaded {
		return nil
	}
	defer show.Clear()
	loader := sampleLoader{
		users: map[string]*apiclient.Client{
			sample.Alice: apiclient.New(screen.URL, screen.Alice, 1),
			sample.Bob:   apiclient.New(screen.URL, screen.Bob, 1),
		},
		reload: folder.started,
		loaded: func(done, of int) { show.Printf("loading the sample: %d of %d datasets", done, of) },
	}
	if err := loader.load(ctx); err != nil {
		return fmt.Errorf("load the sample: %w", err)
	}
	return folder.markLoaded()
}
