// Package serve is `parley serve`: its settings, the wiring of the server's parts, and
// their metrics. Each group of settings is in the file of the part that it configures.
package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/fair"
	"parley/storage/sqlstore"
)

// Run serves and prints the address once the server is ready.
func (s *Command) Run(ctx context.Context, env command.Env) error {
	return s.Serve(ctx, env, Options{
		UnknownVariables: command.UnknownVariables(env.Model, os.Environ()),
		Ready: func(_ context.Context, url string) error {
			fmt.Fprintln(env.Stdout, "Parley is ready at "+url)
			return s.printSignIn(env, url)
		},
	})
}

// signInTTL is how long the token of the printed link is valid.
const signInTTL = 24 * time.Hour

// printSignIn prints, on a terminal, a link that signs in the user of this machine, where
// tokens are signed with the local key.
func (s *Command) printSignIn(env command.Env, url string) error {
	if !console.StyleOf(env.Stdout).Terminal() || !s.UsesLocalKey() {
		return nil
	}
	name := LocalUser()
	if name == "" {
		fmt.Fprintln(env.Stdout, "To sign in, make a token: parley token USER")
		return nil
	}
	cfg, err := s.AuthSettings.Config(s.Data)
	if err != nil {
		return err
	}
	token, err := auth.Sign(cfg, name, signInTTL)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, "To sign in as %s, open %s/#token=%s\n", name, url, token)
	return err
}

// Options are the differences between the commands that start a server.
type Options struct {
	// UnknownVariables are logged as warnings.
	UnknownVariables []string
	// AnyPort listens on a free port if the configured one is in use.
	AnyPort bool
	// Ready is called when the server accepts requests. Its error stops the server.
	Ready func(ctx context.Context, url string) error
}

// Serve serves until the context ends, and then drains.
func (s *Command) Serve(ctx context.Context, env command.Env, options Options) (err error) {
	c := env.NewChecker()
	s.check(c)
	if err := c.Err(); err != nil {
		return err
	}
	tuneMemory()
	log := newLogger(env.Stderr, s.LogFormat, s.LogLevel)
	for _, name := range options.UnknownVariables {
		log.Warn("unknown environment variable", "name", name)
	}
	release, err := datadir.Lock(s.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	registry := newRegistry()
	records := s.Store()
	records.Observer = newStoreMetrics(registry)
	store, err := OpenStore(ctx, records, s.Migrate)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return s.serveStore(ctx, base{store, registry, log, env.Version}, options)
}

// base has what most parts need.
type base struct {
	store    *sqlstore.Store
	registry *prometheus.Registry
	log      *slog.Logger
	version  string
}

// serveStore opens the parts that work on a store, and serves.
func (s *Command) serveStore(ctx context.Context, b base, options Options) (err error) {
	identity, err := s.AuthSettings.Config(s.Data)
	if err != nil {
		return err
	}
	identity.Tokens, identity.Log, identity.Now = b.store, b.log, now
	authenticator, err := auth.New(identity)
	if err != nil {
		return err
	}
	defer authenticator.Close()
	tracing, err := openTracing(ctx, s, b)
	if err != nil {
		return err
	}
	defer tracing.close()
	models, err := openModels(ctx, s.ModelSettings, newModelMetrics(b.registry).observe)
	if err != nil {
		return err
	}
	data, err := openDataPlane(ctx, s, b, models)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	reads := fair.New(largeAnswers)
	host, err := openHost(ctx, s, b, hostParts{data.datasets, models, tracing.tracer, tracing.feedback, reads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHost(ctx, host)) }()
	handler, err := newHandler(s, b, handlerParts{authenticator, tracing.feedback, models, data, host, reads})
	if err != nil {
		return err
	}
	registerMetrics(b, data, reads, handler)
	on, err := openListeners(ctx, s, options.AnyPort)
	if err != nil {
		return err
	}
	onPostgres := s.DatabaseURL != ""
	if onPostgres && s.Objects == "" {
		b.log.Info("uploads and datasets are local: other processes on this database cannot reach them, unless --objects names a bucket")
	}
	if on.grpc != nil {
		b.log.Info("starting gRPC", "address", on.grpc.Addr().String())
	}
	b.log.Info("starting", "version", b.version, "address", on.main.Addr().String(), "data", s.Data, "postgres", onPostgres)
	return serveHTTP(ctx, s, on, handler, options.Ready, host.Drain, b.log)
}

// largeAnswers limits the memory of answers that are read from the database and held
// until they are sent. A slow client delays no other user: each user may always have
// one answer in memory.
var largeAnswers = fair.Config{
	What: "large answers", Slots: 64 << 20, SlotsPerUser: 16 << 20, MaxQueued: 4096, MaxQueuedPerUser: 256,
	FreeWeight: 64 << 10, FirstImmediately: true,
}
