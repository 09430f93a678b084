package main

import (
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/auth"
)

// localServe gives a server with no settings but these: what the variables say
// is meant for a real one, with a database perhaps. It does not wait for long
// when it is stopped.
func localServe(models modelSettings, args ...string) (*serveCmd, error) {
	var line cli
	parser, err := kong.New(&line)
	if err != nil {
		return nil, fmt.Errorf("read the settings of a server: %w", err)
	}
	if _, err := parser.Parse(append([]string{"serve", "--drain-timeout=1s"}, args...)); err != nil {
		return nil, fmt.Errorf("read the settings of a server: %w", err)
	}
	line.Serve.modelSettings = models
	line.Serve.traceSettings = traceSettings{OTelSampler: "always_off", OTelSamplerArg: "0"}
	return &line.Serve, nil
}

// localToken signs a token with the key of a data folder.
func localToken(dir, user string, life time.Duration) (string, error) {
	key, err := auth.LoadLocalKey(dir)
	if err != nil {
		return "", err
	}
	return auth.Sign(auth.Config{LocalKey: key}, user, life)
}
