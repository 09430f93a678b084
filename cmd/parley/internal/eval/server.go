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
	*serve.Running
	token, dir string
}

// startScratch starts a server with these models.
func startScratch(ctx context.Context, env command.Env, models serve.ModelSettings, parallel int) (*scratch, error) {
	dir, err := os.MkdirTemp("", "parley-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	s := &scratch{dir: dir}
	server, err := serve.Local(models)
	if err == nil {
		server.Listen, server.Data, server.LogLevel, server.Ingestions = "127.0.0.1:0", dir, slog.LevelError, max(parallel, 2)
		s.Running, err = server.Start(ctx, env)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a scratch server: %w", err), os.RemoveAll(dir))
	}
	if s.token, err = serve.LocalToken(dir, scratchUser, scratchLife); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close stops the server and removes its folder.
func (s *scratch) close() error { return errors.Join(s.Stop(), os.RemoveAll(s.dir)) }
