package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/auth"
)

// scratchUser asks the questions of a scratch server, for as long as scratchLife.
const (
	scratchUser = "eval"
	scratchLife = 30 * 24 * time.Hour
)

// scratch is a server in this process, on a folder and a port of its own.
type scratch struct {
	url, token string
	dir        string
	stop       context.CancelFunc
	done       chan error
}

// startScratch starts a server that knows of no settings but these models: what
// the variables say is meant for a real one, with a database perhaps.
func startScratch(ctx context.Context, out output, models modelSettings, parallel int) (s *scratch, err error) {
	dir, err := os.MkdirTemp("", "parley-eval-")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	// What asks is interrupted first, and the server stops after it.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	s = &scratch{dir: dir, stop: stop, done: make(chan error, 1)}
	var line cli
	parser, err := kong.New(&line)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	command, err := parser.Parse([]string{"serve", "--listen=127.0.0.1:0", "--data=" + dir, "--log-level=error",
		"--drain-timeout=1s", "--ingestions=" + strconv.Itoa(max(parallel, 2))})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	line.Serve.modelSettings = models
	line.Serve.traceSettings = traceSettings{OTelSampler: "always_off", OTelSamplerArg: "0"}

	ready, said := io.Pipe()
	go func() {
		err := line.Serve.Run(life, command, output{stdout: said, stderr: out.stderr})
		_ = said.CloseWithError(err)
		s.done <- err
	}()
	first, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start a scratch server: %w", err), s.close())
	}
	s.url = strings.TrimSpace(strings.TrimPrefix(first, readyLine))
	key, err := auth.LoadLocalKey(dir)
	if err == nil {
		s.token, err = auth.Sign(auth.Config{LocalKey: key}, scratchUser, scratchLife)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close ends the server and removes its folder.
func (s *scratch) close() error {
	s.stop()
	return errors.Join(<-s.done, os.RemoveAll(s.dir))
}
