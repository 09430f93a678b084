package sqlstore_test

import (
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// databases returns a Config for a new, empty database of each kind.
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
	if err := stores[0].CreateDataset(t.Context(), user("alice"), "ns", "one", domain.Definition{}); err != nil {
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

func TestUnfitDatabasesAreRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 { // root may write to anything
		cfg := databases(t)["sqlite"]
		if err := open(t, cfg).Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(cfg.Path, 0o400); err != nil {
			t.Fatal(err)
		}
		if store, err := sqlstore.Open(t.Context(), cfg); err == nil {
			t.Error("a file that cannot be written was opened", store.Close())
		}
	}

	server, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlx.Open("postgres", server.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := "latin_" + strings.ToLower(rand.Text())
	if _, err := db.Exec(`CREATE DATABASE ` + name + ` ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		again, err := sqlx.Open("postgres", server.String())
		if err == nil {
			_, err = again.Exec(`DROP DATABASE ` + name)
			err = errors.Join(err, again.Close())
		}
		if err != nil {
			t.Error(err)
		}
	})
	latin := *server
	latin.Path = "/" + name
	if _, err := sqlstore.Open(t.Context(), sqlstore.Config{DatabaseURL: latin.String()}); err == nil || !strings.Contains(err.Error(), "UTF8") {
		t.Errorf("a database in another encoding: %v", err)
	}
}

func TestSQLiteFilesArePrivate(t *testing.T) {
	t.Parallel()
	cfg := databases(t)["sqlite"]
	store := open(t, cfg)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(cfg.Path), "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

// TestMigrationsSayWhoCanReadThem: from the third on, each one has to.
func TestMigrationsSayWhoCanReadThem(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("migrations/*.sql")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files[2:] {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "schema_readers") {
			t.Errorf("%s does not say in schema_readers who can work with what it leaves", file)
		}
	}
}
