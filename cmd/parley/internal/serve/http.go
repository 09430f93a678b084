package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"parley/a2aserver"
	"parley/cmd/parley/internal/connlimit"
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

// newHandler returns the handler of all requests.
func newHandler(cfg config, b base, p handlerParts) (*rest.Server, error) {
	return rest.New(rest.Config{
		Store:          b.store,
		Auth:           p.auth,
		Uploads:        p.data.uploads,
		Lake:           p.data.datasets,
		Agents:         p.host,
		Feedback:       p.feedback,
		Describer:      describer{p.models},
		Objects:        p.data.objects,
		Parts:          p.data.objects.parts,
		Log:            b.log,
		Metrics:        b.registry,
		BaseURL:        cfg.http.baseURL,
		MaxBody:        cfg.http.maxBody,
		MaxRowsBody:    cfg.lake.maxRowsBody,
		RequestTimeout: cfg.answerTimeout(),
		Reads:          p.reads,
		RunTimeout:     cfg.agents.runTimeout + time.Minute,
		WriteTimeout:   streamWrite,
		TrustedProxies: cfg.http.trustedProxies,
		CORSOrigins:    cfg.http.corsOrigins,
		Page: page.Config{
			AuthURL: cfg.http.authURL, ClientID: cfg.http.authClientID,
			UsernameClaim: cfg.auth.UsernameClaim, UploadOrigin: p.data.objects.origin,
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

// maxHeaderBytes limits the headers of a request, which take memory before the user is
// known. net/http adds 4 KiB.
const maxHeaderBytes = 64 << 10

// serveHTTP serves until ctx ends, then stops accepting requests and waits for the
// running ones.
func serveHTTP(ctx context.Context, cfg config, listener *net.TCPListener, handler *rest.Server, ready func(context.Context, string) error, drain func(), log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      cfg.answerTimeout() + time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	limited := connlimit.New(listener, log)
	limited.Install(server)
	go func() { failed <- server.Serve(limited) }()
	notReady := ready(ctx, "http://"+reachable(listener.Addr()))
	if ctx.Err() != nil {
		notReady = nil // it was interrupted
	}
	if notReady == nil {
		select {
		case err := <-failed:
			return fmt.Errorf("serve: %w", err)
		case <-ctx.Done():
		}
	}
	log.Info("draining", "after", cfg.http.drainDelay, "at_most", cfg.http.drainTimeout)
	handler.Drain()
	time.Sleep(cfg.http.drainDelay) // a second signal ends the process
	drain()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.http.drainTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		log.Warn("drain timeout exceeded, requests aborted", "error", err)
		_ = server.Close()
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
