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

	"parley/a2aserver"
	"parley/cards"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/datadir"
	"parley/internal/auth"
	"parley/internal/disk"
	"parley/internal/fair"
	"parley/llm"
	"parley/storage/sqlstore"
	"parley/storage/trace"
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
	if s.AuthClientID == "" && os.Getenv("OIDC_CLIENT_SECRET") != "" {
		log.Warn("OIDC_CLIENT_SECRET has no effect without --auth-client-id")
	}
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
	running := &server{Command: s, version: env.Version, store: store, registry: registry, log: log, reads: fair.New(largeAnswers), short: fair.New(fair.ShortRequests())}
	if s.Objects == "" {
		running.files = disk.NewSpace(s.Data, store)
	}
	if s.DatabaseURL == "" {
		running.records = disk.NewSpace(s.Data, store)
	}
	return running.serve(ctx, options)
}

// server is a server and its parts.
type server struct {
	*Command
	version string
	store   *sqlstore.Store
	// files is the room for files, and records that for records, on the disk of the data folder; nil
	// where they are elsewhere.
	files, records *disk.Space
	registry       *prometheus.Registry
	log            *slog.Logger
	auth           *auth.Authenticator
	tracer         *trace.Tracer
	feedback       *trace.Feedback
	signer         *cards.Signer
	models         *llm.Models
	data           *dataPlane
	host           *a2aserver.Host
	// reads limits the memory of large answers.
	reads *fair.Queue
	// short limits the short requests of each user.
	short *fair.Queue
}

// serve opens the parts that work on the store, and serves.
func (s *server) serve(ctx context.Context, options Options) (err error) {
	identity, err := s.AuthSettings.Config(s.Data)
	if err != nil {
		return err
	}
	identity = s.signInSettings.config(identity)
	identity.Tokens, identity.Sessions, identity.Authorizations, identity.Users, identity.Log, identity.Now = s.store, s.store, s.store, s.store, s.log, now
	if s.auth, err = auth.New(identity); err != nil {
		return err
	}
	defer s.auth.Close()
	if err := s.openTracer(ctx); err != nil {
		return err
	}
	defer s.closeTracer()
	if s.models, err = openModels(ctx, s.ModelSettings, observeJobs(s.registry)); err != nil {
		return err
	}
	if s.data, err = s.openDataPlane(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.data.Close()) }()
	if s.host, err = s.openHost(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeHost(ctx, s.host)) }()
	defer s.watch(ctx)()
	handler, err := s.newHandler()
	if err != nil {
		return err
	}
	s.registerMetrics(handler)
	on, err := s.listen(ctx, options.AnyPort)
	if err != nil {
		return err
	}
	onPostgres := s.DatabaseURL != ""
	if onPostgres && s.Objects == "" {
		s.log.Info("uploads and datasets are local: other processes on this database cannot reach them, unless --objects names a bucket")
	}
	if on.grpc != nil {
		s.log.Info("starting gRPC", "address", on.grpc.Addr().String())
	}
	s.log.Info("starting", "version", s.version, "address", on.main.Addr().String(), "data", s.Data, "postgres", onPostgres)
	return s.serveHTTP(ctx, on, handler, options.Ready)
}

// largeAnswers limits the memory of answers that are read from the database and held
// until they are sent. A slow client delays no other user: each user may always have
// one answer in memory.
var largeAnswers = fair.Config{
	What: "large answers", Slots: 64 << 20, SlotsPerUser: 16 << 20, MaxQueued: 4096, MaxQueuedPerUser: 256,
	FreeWeight: 64 << 10, FirstImmediately: true,
}
