package serve

import (
	"context"
	"fmt"
	"os/user"
	"time"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
	"parley/internal/auth"
	"parley/internal/domain"
)

// Local returns a server with the default settings and these models, without the settings
// of the environment, which are meant for a real server. It drains for a second only.
func Local(models ModelSettings) (*Command, error) {
	server := &Command{local: true}
	parser, err := kong.New(server, new(command.Flags))
	if err == nil {
		_, err = parser.Parse(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("read the settings of a server: %w", err)
	}
	server.ModelSettings, server.traceSettings, server.DrainTimeout = models, traceSettings{}, time.Second
	return server, nil
}

// Running is a server in this process.
type Running struct {
	URL  string
	stop context.CancelFunc
	done chan error
}

// Start starts the server, beyond the end of the context too: what uses it ends first.
func (s *Command) Start(ctx context.Context, env command.Env) (*Running, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &Running{stop: stop, done: make(chan error, 1)}
	url := make(chan string, 1)
	go func() {
		defer close(url)
		r.done <- s.Serve(life, env, Options{Ready: func(_ context.Context, at string) error {
			url <- at
			return nil
		}})
	}()
	if r.URL = <-url; r.URL == "" {
		return nil, r.Stop()
	}
	return r, nil
}

// Stop stops the server.
func (r *Running) Stop() error {
	r.stop()
	return <-r.done
}

// LocalUser returns the name of the user of this process, "" if it is no username.
func LocalUser() string {
	who, err := user.Current()
	if err != nil {
		return ""
	}
	name := domain.NormalizeUsername(who.Username)
	if domain.CheckUsername(name) != "" {
		return ""
	}
	return name
}

// LocalToken signs a token with the key of a data folder.
func LocalToken(dir, user string, life time.Duration) (string, error) {
	key, err := auth.LoadLocalKey(dir)
	if err != nil {
		return "", err
	}
	return auth.Sign(auth.Config{LocalKey: key}, user, life)
}
