package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley/storage/sqlstore"
)

// now is the machine's clock, which may be wrong and may be set at any time. What
// goes by it: tokens, the addresses of uploads, and the embedded database.
var now = time.Now

// openObservedStore opens the records of a server, with metrics.
func openObservedStore(ctx context.Context, cfg config, registry *prometheus.Registry) (*sqlstore.Store, error) {
	cfg.store.Observer = newStoreMetrics(registry)
	return OpenStore(ctx, cfg.store, cfg.migrate)
}

// OpenStore opens the records, with a schema that this program works with. An
// empty database and the embedded one are brought up to it; another is changed
// only when migrate says so, because other processes may be at work on it.
func OpenStore(ctx context.Context, cfg sqlstore.Config, migrate bool) (*sqlstore.Store, error) {
	cfg.Now = now
	store, err := sqlstore.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	embedded := cfg.DatabaseURL == ""
	err = prepareSchema(ctx, store, migrate || embedded)
	if err == nil && embedded {
		err = store.ExpireLeases(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// CheckSchema reports whether this program works with the schema there is, or
// can bring it up to date.
func CheckSchema(ctx context.Context, store *sqlstore.Store) error {
	schema, err := store.Schema(ctx)
	switch {
	case err != nil:
		return err
	case schema.Current == 0:
		return errors.New("the database has none of parley's tables")
	case schema.TooNew():
		return newerSchema(schema)
	}
	return nil
}

func newerSchema(schema sqlstore.Schema) error {
	return fmt.Errorf("the database's schema has version %d, from a newer parley, for programs made for %d on; this one was made for %d",
		schema.Current, schema.Oldest, schema.Wanted)
}

func prepareSchema(ctx context.Context, store *sqlstore.Store, migrate bool) error {
	schema, err := store.Schema(ctx)
	switch {
	case err != nil:
		return err
	case schema.TooNew():
		return newerSchema(schema)
	case schema.Current >= schema.Wanted:
		return nil
	case schema.Current == 0, migrate:
		return store.Migrate(ctx)
	}
	return fmt.Errorf("the database's schema has version %d and this parley works with %d: run `parley migrate`, or `parley serve --migrate`", schema.Current, schema.Wanted)
}
