package serve

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/storage/sqlstore"
)

// now is the machine's clock, which tests replace. Tokens, upload URLs and the embedded
// database use it.
var now = time.Now

// OpenStore opens a store with a schema that this program supports. It migrates an empty
// database and the embedded one, and another only with migrate: other processes may use
// it.
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

// CheckSchema reports whether this program supports the schema or can migrate it.
func CheckSchema(ctx context.Context, store *sqlstore.Store) error {
	schema, err := store.Schema(ctx)
	switch {
	case err != nil:
		return err
	case schema.Current == 0:
		return errors.New("the database has no parley tables")
	case schema.TooNew():
		return newerSchema(schema)
	}
	return nil
}

func newerSchema(schema sqlstore.Schema) error {
	return fmt.Errorf("the database's schema has version %d, from a newer parley; it needs a program for version %d or later, and this one is for %d",
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
