package sqlstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"parley/internal/pgtest"
	"parley/storage"
	"parley/storage/sqlstore"
)

// databases gives a Config for a new, empty database of each kind.
func databases(t *testing.T) map[string]sqlstore.Config {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "an odd %20 folder?name=#x")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return map[string]sqlstore.Config{
		"sqlite":   {Path: filepath.Join(dir, "parley.db")},
		"postgres": {DatabaseURL: pgtest.URL(t)},
	}
}

func open(t *testing.T, cfg sqlstore.Config) *sqlstore.Store {
	t.Helper()
	store, err := sqlstore.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	for name, cfg := range databases(t) {
		store := open(t, cfg)
		before, err := store.Schema(t.Context())
		if err != nil || before.Current != 0 || before.Wanted < 1 {
			t.Fatalf("%s: schema of an empty database: %+v, %v", name, before, err)
		}
		again, err := store.Schema(t.Context())
		if err != nil || again != before {
			t.Errorf("%s: looking at the schema changed it: %+v, %v", name, again, err)
		}
		for range 2 {
			if err := store.Migrate(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		after, err := store.Schema(t.Context())
		if err != nil || after.Current != after.Wanted {
			t.Errorf("%s: schema after migration: %+v, %v", name, after, err)
		}
	}
}

// TestMigrateTogether has several processes' worth of stores migrate one
// database at once.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	cfg := sqlstore.Config{DatabaseURL: pgtest.URL(t)}
	stores := make([]*sqlstore.Store, writers)
	for i := range stores {
		stores[i] = open(t, cfg)
	}
	together(func(i int) {
		if err := stores[i].Migrate(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if err := stores[0].CreateDataset(t.Context(), user("alice"), "ns", "one", storage.Definition{}); err != nil {
		t.Error(err)
	}
}

func TestSQLiteFileIsWhereItWasAskedFor(t *testing.T) {
	t.Parallel()
	cfg := databases(t)["sqlite"]
	open(t, cfg)
	if _, err := os.Stat(cfg.Path); err != nil {
		t.Error(err)
	}
}
