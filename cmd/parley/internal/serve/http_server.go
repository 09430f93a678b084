package serve

import (
	"cmp"
	"context"
	"errors"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"parley/cmd/parley/internal/connlimit"
	"parley/rest"
)

const (
	// maxHeaderBytes limits the headers of a request, which take memory before the user is
	// known. net/http adds 4 KiB.
	maxHeaderBytes = 64 << 10
	// maxStreams limits the requests that an HTTP/2 connection has at a time.
	maxStreams = 250
	// pingAfter is how long an HTTP/2 connection may be silent before it must answer a
	// ping within pingTimeout.
	pingAfter, pingTimeout = 30 * time.Second, 15 * time.Second
)

// servers serve one handler at the addresses that are listened on, within one limit of
// connections.
type servers struct {
	all    []*http.Server
	failed chan error
}

// newServer makes a server of HTTP/1 and, without TLS, HTTP/2.
func newServer(cfg *Command, handler http.Handler, log *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      cfg.answerTimeout() + time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          stdlog.New(&connLog{log: log}, "", 0),
		Protocols:         new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
			WriteByteTimeout:     streamWrite,
		},
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// serve starts to serve.
func serve(cfg *Command, on listeners, handler *rest.Server, log *slog.Logger) *servers {
	s := &servers{failed: make(chan error, 2)}
	limited := connlimit.New(on.main, log)
	start := func(listener *connlimit.Listener, handler http.Handler) {
		server := newServer(cfg, handler, log)
		listener.Install(server, rest.IsHealthCheck)
		s.all = append(s.all, server)
		go func() { s.failed <- server.Serve(listener) }()
	}
	start(limited, handler)
	if on.grpc != nil {
		start(limited.Also(on.grpc), onlyGRPC(handler, on.main.Addr()))
	}
	return s
}

// onlyGRPC serves calls of gRPC alone. Cards in their answers are about the address that
// everything else is at.
func onlyGRPC(handler http.Handler, main net.Addr) http.Handler {
	_, port, _ := net.SplitHostPort(main.String())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !rest.IsGRPC(r) {
			http.Error(w, "this address is for gRPC", http.StatusNotFound)
			return
		}
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		r.Host = net.JoinHostPort(cmp.Or(host, "localhost"), port)
		handler.ServeHTTP(w, r)
	})
}

// shutdown stops accepting requests and waits for the running ones, until ctx ends.
func (s *servers) shutdown(ctx context.Context) (err error) {
	for _, server := range s.all {
		err = errors.Join(err, server.Shutdown(ctx))
	}
	return err
}

// close breaks off the running requests.
func (s *servers) close() {
	for _, server := range s.all {
		_ = server.Close()
	}
}
