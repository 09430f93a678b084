package serve

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"parley/agents"
	"parley/rest"
	"parley/rest/page"
)

func (s *server) newHandler() (*rest.Server, error) {
	return rest.New(rest.Config{
		Store:          s.store,
		Auth:           s.auth,
		Uploads:        s.data.uploads,
		Datasets:       s.data.datasets,
		Agents:         s.host,
		Watch:          s.watcher().Begin,
		Chart:          agents.NewCharts(agents.Config{Lake: s.data.datasets, Profiles: s.store}).Chart,
		Rate:           s.feedback.Rate,
		Models:         modelsOf(s.models),
		Describe:       s.describe,
		CheckModel:     s.checkModel,
		Room:           s.records.CheckRecord,
		SignReceipt:    s.signer.SignDocument,
		CheckReceipt:   s.signer.Check,
		PingObjects:    s.data.objects.Ping,
		Parts:          s.data.objects.parts,
		Log:            s.log,
		Metrics:        s.registry,
		BaseURL:        s.BaseURL,
		MaxBody:        limits.MaxBody,
		MaxAgentBody:   limits.MaxBody + int64(base64.StdEncoding.EncodedLen(int(limits.MaxAttachment))),
		MaxRowsBody:    limits.MaxRowsBody,
		RequestTimeout: s.answerTimeout(),
		Reads:          s.reads,
		Short:          s.short,
		RunTimeout:     s.RunTimeout + time.Minute,
		WriteTimeout:   streamWrite,
		TrustedProxies: s.TrustedProxies,
		CORSOrigins:    s.CORSOrigins,
		Version:        s.version,
		Page: page.Config{
			AuthURL: s.AuthURL, ClientID: cmp.Or(s.AuthClientID, "parley"), SignsIn: s.auth.SignsIn(),
			UsernameClaim: s.AuthUsernameClaim, UploadOrigin: s.data.objects.origin,
		},
	})
}

// listenOn listens on an address or, with anyPort, on a free port if that is in use.
func listenOn(ctx context.Context, address string, anyPort bool) (*net.TCPListener, error) {
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

// listen listens where the settings say.
func (s *server) listen(ctx context.Context, anyPort bool) (on listeners, err error) {
	if on.main, err = listenOn(ctx, s.Listen, anyPort); err != nil {
		return on, err
	}
	if s.GRPCListen != "" {
		if on.grpc, err = listenOn(ctx, s.GRPCListen, false); err != nil {
			_ = on.main.Close()
		}
	}
	return on, err
}

// serveHTTP serves until ctx ends, then stops accepting requests and waits for the
// running ones.
func (s *server) serveHTTP(ctx context.Context, on listeners, handler *rest.Server, ready func(context.Context, string) error) error {
	serving := serve(s.Command, on, handler, s.log)
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
	s.log.Info("draining", "after", s.DrainDelay, "at_most", s.DrainTimeout)
	handler.Drain()
	time.Sleep(s.DrainDelay) // a second signal ends the process
	s.host.Drain()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.DrainTimeout)
	defer cancel()
	if err := serving.shutdown(deadline); err != nil {
		s.log.Warn("drain timeout exceeded, requests aborted", "error", err)
		serving.close()
	}
	s.log.Info("stopped")
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
