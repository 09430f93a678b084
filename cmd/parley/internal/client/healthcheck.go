package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"parley/cmd/parley/internal/command"
)

// Healthcheck is `parley healthcheck`, for containers without another HTTP client.
type Healthcheck struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"The address of the server (${default})."`
}

// healthTimeout is how long the server may take to answer.
const healthTimeout = 4 * time.Second

// Run fails when the server of this machine is not ready.
func (h *Healthcheck) Run(ctx context.Context, env command.Env) error {
	host, port, err := net.SplitHostPort(h.Listen)
	if err != nil {
		c := env.NewChecker()
		c.Refuse("listen", "must be an address such as 127.0.0.1:8080, not %q", h.Listen)
		return c.Err()
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server is not ready: %s", response.Status)
	}
	return nil
}
