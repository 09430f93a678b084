package pgtest

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// TestArchive starts clusters before there is an archive, from it, and from a damaged one.
func TestArchive(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	bin, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	first, path := startOne(t, bin), archived(t)
	if second := startOne(t, bin); second != first {
		t.Errorf("the second cluster is %s and not a copy of %s", second, first)
	}
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	if third := startOne(t, bin); third == first {
		t.Error("the third cluster is from a damaged archive")
	}
	fourth := startOne(t, bin)
	if again := archived(t); again != path {
		t.Errorf("the archive is %s and was %s", again, path)
	}
	if fifth := startOne(t, bin); fifth != fourth {
		t.Errorf("the last cluster is %s and not a copy of %s", fifth, fourth)
	}
}

// startOne starts and ends a cluster, and gives its identifier.
func startOne(t *testing.T, bin string) (identifier string) {
	t.Helper()
	srv, err := startCluster(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.lifeline.Close() }()
	db, err := sql.Open("postgres", srv.admin.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(context.Background(), "SELECT system_identifier FROM pg_control_system()").Scan(&identifier); err != nil {
		t.Fatal(err)
	}
	return identifier
}

// archived returns the path of the only archive.
func archived(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "parley-test", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there is %q, %v", found, err)
	}
	return found[0]
}
