package pgtest

import (
	"os"
	"path/filepath"
	"testing"

	"parley/internal/servertest"
)

// TestTemplate starts clusters before there is an archive, from it, and from a damaged one.
func TestTemplate(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	bin, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	for _, archive := range []string{"missing", "whole", "damaged"} {
		srv, err := startCluster(bin)
		if err != nil {
			t.Fatalf("the archive is %s: %v", archive, err)
		}
		if err := srv.lifeline.Close(); err != nil {
			t.Error(err)
		}
		dir, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(dir, "parley-test", "*"))
		if err != nil || len(found) != 1 || filepath.Ext(found[0]) != ".tar" {
			t.Fatalf("the archive was %s, then there is %q, %v", archive, found, err)
		}
		if archive == "whole" {
			if err := os.Truncate(found[0], 1<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
}
