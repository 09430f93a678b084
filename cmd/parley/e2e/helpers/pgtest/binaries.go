package pgtest

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

var errNoPostgres = errors.New("pgtest: no PostgreSQL server binaries found: " +
	"install them (Debian: apt-get install postgresql; macOS: brew install postgresql), " +
	"or set PARLEY_TEST_DATABASE_URL to a server where databases may be made")

// findBinaries returns the folder that holds initdb and postgres.
func findBinaries() (string, error) {
	var candidates []string
	if path, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	// Debian keeps the server's programs out of PATH.
	versions, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	for _, dir := range append(candidates, newestFirst(versions)...) {
		if isFile(filepath.Join(dir, "initdb")) && isFile(filepath.Join(dir, "postgres")) {
			return filepath.Abs(dir)
		}
	}
	return "", errNoPostgres
}

// newestFirst sorts folders like /usr/lib/postgresql/15/bin by version.
func newestFirst(dirs []string) []string {
	version := func(dir string) float64 {
		v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(dir)), 64) // 0 for another name
		return v
	}
	return slices.SortedStableFunc(slices.Values(dirs), func(a, b string) int { return cmp.Compare(version(b), version(a)) })
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
