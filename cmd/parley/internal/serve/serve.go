// Package serve is the server: its settings, the parts that it is made of and how they
// are joined, and their metrics. What the parts do is theirs.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/connlimit"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/fair"
	"parley/rest"
	"parley/storage/trace"
)

// Command is `parley serve`.
type Command struct {
	httpSettings
	DataSettings
	objectSettings
	lakeSettings
	retentionSettings
	Migrate command.Toggle `help:"Bring a PostgreSQL database's schema up to date first. The embedded one, and one that is new to parley, always are."`
	AuthSettings
	agentSettings
	ModelSettings
	traceSettings
	logSettings
}

// Run says where the server is, once it can be asked.
func (s *Command) Run(ctx context.Context, env command.Env) error {
	return s.Serve(ctx, env, Options{
		UnknownVariables: command.UnknownVariables(env.Model, os.Environ()),
		Ready: func(_ context.Context, url string) error {
			fmt.Fprintln(env.Stdout, "Parley is ready at "+url)
			return nil
		},
	})
}

// Options is what the commands that serve do differently.
type Options struct {
	// UnknownVariables are warned of: they are no settings.
	UnknownVariables []string
	// AnyPort takes a free port where the one to listen on is taken.
	AnyPort bool
	// Ready is called when the server can be asked. An error of it stops the server.
	Ready func(ctx context.Context, url string) error
}

// Serve serves until the context ends, and then until what is running is done.
func (s *Command) Serve(ctx context.Context, env command.Env, options Options) (err error) {
	c := env.NewChecker()
	web, records, identity, level := s.httpSettings.read(c), s.DataSettings.Read(c), s.AuthSettings.Read(c), s.logSettings.read(c)
	bytes, rows := s.objectSettings.read(c), s.lakeSettings.read(c)
	traces, minds, bounds := s.traceSettings.read(c, env.Version), s.ModelSettings.read(c), s.agentSettings.read(c)
	migrate, keep := c.Bool("migrate", s.Migrate), s.retentionSettings.read(c)
	if err := c.Err(); err != nil {
		return err
	}
	tuneMemory()
	log := newLogger(env.Stderr, s.LogFormat, level)
	for _, name := range options.UnknownVariables {
		log.Warn("a variable that is no setting", "name", name)
	}
	release, err := datadir.Lock(s.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	web.Metrics = newRegistry()
	records.Observer = newStoreMetrics(web.Metrics)
	store, err := OpenStore(ctx, records, migrate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	if s.Local() {
		if identity.LocalKey, err = auth.LoadLocalKey(s.Data); err != nil {
			return err
		}
	}
	identity.Tokens, identity.Log, identity.Now = store, log, now
	authenticator, err := auth.New(identity)
	if err != nil {
		return err
	}
	defer authenticator.Close()

	tracing, err := openTracing(ctx, traces, trace.FeedbackConfig{Records: store, Log: log})
	if err != nil {
		return err
	}
	defer tracing.close()

	minds.chat.Observe = newModelMetrics(web.Metrics).observe
	models, err := openModels(ctx, minds)
	if err != nil {
		return err
	}
	rows.datasets.Extract = extractor(models)
	plane, err := openDataPlane(ctx, bytes, rows, s.Data, store, keep, web.Metrics, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	registerCacheMetrics(web.Metrics, plane.objects.cache)

	web.Metrics.MustRegister(loadMetrics{store, log}, poolMetrics{plane.pool})
	web.Store, web.Auth, web.Log, web.Describer = store, authenticator, log, describer{models}
	web.Uploads, web.Parts, web.Lake, web.MaxRowsBody = plane.uploads, plane.objects.parts, plane.datasets, rows.maxRowsBody
	web.Feedback = tracing.feedback
	web.Page.UsernameClaim, web.Page.UploadOrigin = identity.UsernameClaim, plane.objects.origin
	bounds.requestTimeout = web.RequestTimeout
	web.Reads = fair.New(largeAnswers())
	bounds.reads = web.Reads
	bounds.version = env.Version
	host, err := openHost(ctx, bounds, store, plane.datasets, models, tracing.tracer, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHost(ctx, host)) }()
	web.Agents, web.RunTimeout, web.WriteTimeout = host, bounds.runTimeout+time.Minute, streamWrite
	web.Objects = plane.objects
	web.RequestTimeout += rows.datasets.Timeout // of which asking for rows is a part
	handler, err := rest.New(web.Config)
	if err != nil {
		return err
	}
	web.Metrics.MustRegister(turnsOf(handler, plane))
	listener, err := listen(ctx, web.listen, options.AnyPort)
	if err != nil {
		return err
	}
	if records.DatabaseURL != "" && bytes.bucket == nil {
		log.Info("uploads and datasets are in the data folder, where other processes on this database cannot reach them; --objects shares them")
	}
	log.Info("starting", "version", env.Version, "address", listener.Addr().String(), "data", s.Data, "postgres", records.DatabaseURL != "")
	return serveHTTP(ctx, listener, handler, web, options.Ready, host.Drain, log)
}

// largeAnswers bounds the bytes of answers that are read from the database whole, or
// turn by turn, and are in memory until they are sent. Slow readers keep no other
// user waiting: besides Places, each user may have one answer in memory.
func largeAnswers() fair.Config {
	return fair.Config{
		What: "large answers", Places: 64 << 20, PlacesEach: 16 << 20, Waiting: 4096, WaitingEach: 256,
		Uncounted: 64 << 10, FirstAtOnce: true,
	}
}

// listen listens on an address or, where that is taken and anyPort, on a free
// port beside it.
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

// tuneMemory lets garbage gather while there is little of anything, unless Go's
// own variables say otherwise.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(rest.GCPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(512 << 20)
	}
}

// maxHeaderBytes is the most that the headers of a request may be in memory while
// they come in, before it is known whose they are. net/http adds 4 KiB.
const maxHeaderBytes = 64 << 10

// serveHTTP serves until ctx ends, then stops taking requests and waits for
// those that are running.
func serveHTTP(ctx context.Context, listener *net.TCPListener, handler *rest.Server, cfg httpConfig, ready func(context.Context, string) error, drain func(), log *slog.Logger) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      cfg.RequestTimeout + time.Minute,
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
	log.Info("draining", "after", cfg.drainDelay, "at_most", cfg.drainTimeout)
	handler.Drain()
	time.Sleep(cfg.drainDelay) // a second signal ends the process
	drain()
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), cfg.drainTimeout)
	defer cancel()
	if err := server.Shutdown(deadline); err != nil {
		log.Warn("requests were cut off", "error", err)
		_ = server.Close()
	}
	log.Info("stopped")
	return notReady
}

// reachable gives the host and port at which a listener can be reached from
// this machine.
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

// newRegistry gives the metrics of the process itself; others join it.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return registry
}
