// Package sqlstoretest gives tests a store of their own on each real database.
package sqlstoretest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/storage/sqlstore"
)

// Each runs a test on SQLite and on PostgreSQL, in parallel, each time with a
// new store.
func Each(t *testing.T, test func(t *testing.T, store *sqlstore.Store)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": SQLite, "postgres": Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// SQLite opens a new store in a folder of the test's own.
func SQLite(t testing.TB) *sqlstore.Store {
	t.Helper()
	database, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	if err := os.WriteFile(path, database, 0o600); err != nil {
		t.Fatal(err)
	}
	return Open(t, sqlstore.Config{Path: path})
}

// migrated is the file of a new database. A copy of it takes less time than all migrations.
var migrated = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "parley-sqlstore-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "parley.db")
	if err := migrate(sqlstore.Config{Path: path}); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// migratedDatabases are copies of a migrated PostgreSQL database.
var migratedDatabases = pgtest.Copies{Fill: func(url string) error { return migrate(sqlstore.Config{DatabaseURL: url}) }}

func migrate(cfg sqlstore.Config) error {
	store, err := sqlstore.Open(context.Background(), cfg)
	if err != nil {
		return err
	}
	return errors.Join(store.Migrate(context.Background()), store.Close())
}

// Postgres opens a new store in a database of the test's own.
func Postgres(t testing.TB) *sqlstore.Store {
	t.Helper()
	return Open(t, sqlstore.Config{DatabaseURL: migratedDatabases.URL(t)})
}

// Open opens a store, migrates its database, and closes it when the test ends.
func Open(t testing.TB, cfg sqlstore.Config) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Errorf("close store: %v", err)
		}
	})
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}
