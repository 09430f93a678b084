package serve

import (
	"fmt"
	"os/user"
	"time"

	"github.com/alecthomas/kong"

	"parley/internal/auth"
	"parley/internal/domain"
)

// Local returns a server with these settings alone, without those of the environment,
// which are meant for a real server. It drains for a second only.
func Local(models ModelSettings, args ...string) (*Command, error) {
	var server Command
	parser, err := kong.New(&server)
	if err != nil {
		return nil, fmt.Errorf("read the settings of a server: %w", err)
	}
	if _, err := parser.Parse(append([]string{"--drain-timeout=1s"}, args...)); err != nil {
		return nil, fmt.Errorf("read the settings of a server: %w", err)
	}
	server.ModelSettings = models
	server.traceSettings = traceSettings{OTelSampler: "always_off", OTelSamplerArg: "0"}
	return &server, nil
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
