package eval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/serve"
)

// scratchUser is the user of a scratch server, with a token for scratchLife.
const (
	scratchUser = "eval"
	scratchLife = 30 * 24 * time.Hour
)

// scratch is a server in this process with its own folder and port.
type scratch struct {
	url, token string
	dir        string
	stop       context.CancelFunc
	done       chan error
}

// startScratch starts a server with these models.
func startScratch(ctx context.Context, env command.Env, models serve.ModelSettings, parallel int) (*scratch, error) {
	dir, err := os.MkdirTemp("", "parley-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	server, err := serve.Local(models)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	server.Listen, server.Data, server.LogLevel, server.Ingestions = "127.0.0.1:0", dir, slog.LevelError, max(parallel, 2)
	// An interruption ends the questions first, and then the server.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &scratch{dir: dir, stop: stop, done: make(chan error, 1)}
	url := make(chan string, 1)
	go func() {
		defer close(url)
		s.done <- server.Serve(life, env, serve.Options{Ready: func(_ context.Context, at string) error {
			url <- at
			return nil
		}})
	}()
	if s.url = <-url; s.url == "" {
		return nil, fmt.Errorf("start a scratch server: %w", s.close())
	}
	if s.token, err = serve.LocalToken(dir, scratchUser, scratchLife); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close stops the server and removes its folder.
func (s *scratch) close() error {
	s.stop()
	return errors.Join(<-s.done, os.RemoveAll(s.dir))
}
