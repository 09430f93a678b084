package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// SQLite goes on writing to a file that was removed; what is written there is
// lost, so it is refused.
func TestDatabaseFileVanishes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	store := sqlstoretest.Open(t, sqlstore.Config{Path: path})
	caller := domain.Caller{Username: "ann"}
	write := func(name string) error {
		return store.CreateDataset(t.Context(), caller, "shop", name, domain.Definition{})
	}
	check := func(state string, want error) {
		t.Helper()
		for what, err := range map[string]error{"ping": store.Ping(t.Context()), "write": write(state)} {
			if !errors.Is(err, want) {
				t.Errorf("%s, %s: %v", state, what, err)
			}
		}
	}
	check("there", nil)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	check("gone", domain.ErrUnavailable)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check("replaced", domain.ErrUnavailable)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	check("back", nil)
}
