package serve

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"
	"time"

	"parley/a2aserver"
	"parley/agents"
	"parley/internal/auth"
	"parley/internal/fair"
	"parley/llm"
	"parley/rest"
	"parley/rest/page"
	"parley/storage/trace"
)

// handlerParts are the parts that the handler calls.
type handlerParts struct {
	auth     *auth.Authenticator
	feedback *trace.Feedback
	models   *llm.Models
	data     *dataPlane
	host     *a2aserver.Host
	reads    *fair.Queue
}

func newHandler(cfg *Command, b base, p handlerParts) (*rest.Server, error) {
	return rest.New(rest.Config{
		Store:          b.store,
		Auth:           p.auth,
		Uploads:        p.data.uploads,
		Lake:           p.data.datasets,
		Agents:         p.host,
		Charts:         agents.NewCharts(agents.Config{Lake: p.data.datasets, Profiles: b.store}),
		Feedback:       p.feedback,
		Models:         modelsOf(p.models),
		Describer:      describer{p.models},
		Objects:        p.data.objects,
		Parts:          p.data.objects.parts,
		Log:            b.log,
		Metrics:        b.registry,
		BaseURL:        cfg.BaseURL,
		MaxBody:        limits.MaxBody,
		MaxAgentBody:   limits.MaxBody + int64(base64.StdEncoding.EncodedLen(int(limits.MaxAttachment))),
		MaxRowsBody:    limits.MaxRowsBody,
		RequestTimeout: cfg.answerTimeout(),
		Reads:          p.reads,
		RunTimeout:     cfg.RunTimeout + time.Minute,
		WriteTimeout:   streamWrite,
		TrustedProxies: cfg.TrustedProxies,
		CORSOrigins:    cfg.CORSOrigins,
		Page: page.Config{
			AuthURL: cfg.AuthURL, ClientID: cfg.AuthClientID,
			UsernameClaim: cfg.AuthUsernameClaim, UploadOrigin: p.data.objects.origin,
		},
	})
}

// listen listens on an address or, with anyPort, on a free port if that is in use.
func listen(ctx context.Context, address string, anyPort bool) (*net.TCPListener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if host, _, _ := net.SplitHostPort(address); anyPort && errors.Is(err, syscall.EADDRINUSE) {
		listener, err = config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return listener.(*net.TCPListener), nil
}

// listeners are what is listened on; grpc may be nil.
type listeners struct{ main, grpc *net.TCPListener }

// openListeners listens where the settings say.
func openListeners(ctx context.Context, cfg *Command, anyPort bool) (on listeners, err error) {
	if on.main, err = listen(ctx, cfg.Listen, anyPort); err != nil {
		return on, err
	}
	if cfg.GRPCListen != "" {
		if on.grpc, err = listen(ctx, cfg.GRPCListen, false); err != nil {
			_ = on.main.Close()
		}
	}
	return on, err
}

// serveHTTP serves until ctx ends, then stops accepting requests and waits for the
// running ones.
func serveHTTP(ctx context.Context, cfg *Command, on listeners, handler *rest.Server, ready func(context.Context, string) error, drain func(), log *slog.Logger) error {
	serving := serve(cfg, on.main, on.grpc, handler, log)
	notReady := ready(ctx, "http://"+reachable(on.main.Addr()))
	if ctx.Err() != nil {
		notReady = nil // it was interrupted
	}
	if notReady == nil {
		select {
		case err := <-serving.failed:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
		}
	}
	log.Info("draining", "after", cfg.DrainDelay, "at_most", cfg.DrainTimeout)
	handler.Drain()
	time.Sleep(cfg.DrainDelay) // a second signal ends the process
	drain()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.DrainTimeout)
	defer cancel()
	if err := serving.shutdown(deadline); err != nil {
		log.Warn("drain timeout exceeded, requests aborted", "error", err)
		serving.close()
	}
	log.Info("stopped")
	return notReady
}

// reachable returns the host and port of a listener as seen from this machine.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
