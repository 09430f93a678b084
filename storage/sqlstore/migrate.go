package sqlstore

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema has the version of the schema of a database and the one of this program. A database
// without our tables has version 0.
type Schema struct {
	Current int64
	Wanted  int64
	// Oldest is the oldest version whose program works with the current one.
	Oldest int64
}

// TooNew reports whether this program cannot work with the schema, because it is newer and
// does not only add.
func (s Schema) TooNew() bool { return s.Current > s.Wanted && s.Oldest > s.Wanted }

// Schema reads the version of the schema and changes nothing.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	provider, err := s.provider()
	if err != nil {
		return Schema{}, err
	}
	sources := provider.ListSources()
	schema := Schema{Wanted: sources[len(sources)-1].Version}
	var migrated bool
	if err := s.read.GetContext(ctx, &migrated, s.dialect.hasVersions); err != nil {
		return Schema{}, wrap("find schema version", err)
	}
	if !migrated {
		return schema, nil
	}
	if schema.Current, err = provider.GetDBVersion(ctx); err != nil {
		return Schema{}, wrap("read schema version", err)
	}
	schema.Oldest = schema.Current
	if schema.Current >= readersSince {
		if err := s.read.GetContext(ctx, &schema.Oldest, `SELECT MAX(oldest) FROM schema_readers`); err != nil {
			return Schema{}, wrap("read schema readers", err)
		}
	}
	return schema, nil
}

// readersSince is the first version with the table schema_readers.
const readersSince = 3

// Migrate migrates the schema to the version of this program, each migration in its own
// transaction. Several processes may call it at once.
func (s *Store) Migrate(ctx context.Context) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		if partial, ok := errors.AsType[*goose.PartialError](err); ok {
			err = partial.Err
		}
		return wrap("migrate schema", err)
	}
	return nil
}

func (s *Store) provider() (*goose.Provider, error) {
	sub, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("find migrations: %w", err)
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable)}
	if s.dialect.goose == goose.DialectPostgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, fmt.Errorf("make migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(s.dialect.goose, s.write.DB, schemaFS{sub, s.dialect}, options...)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return provider, nil
}
