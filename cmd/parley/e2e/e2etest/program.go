package e2etest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
)

// Root is the folder of the module.
func Root(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Program is the path of the program, built from the sources as they are.
func Program(t testing.TB) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// moduleRoot looks for go.mod in the folder of the test and those above.
var moduleRoot = sync.OnceValues(func() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if Exists(dir, "go.mod") {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the test")
		}
		dir = parent
	}
})

// program builds the program once for each process of tests. Packages are tested
// side by side: a lock has one of them link it, and the others find it up to date.
var program = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if err := noteSources(root); err != nil {
		return "", err
	}
	dir, err := buildFolder(root)
	if err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the folder of the program: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	path := filepath.Join(dir, "parley")
	args := []string{"build", "-tags", "parleytest", "-o", path}
	if RaceDetector {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "./cmd/parley")...)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, output)
	}
	return path, nil
})

// buildFolder makes the folder for the program of this source tree.
func buildFolder(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("parley-test-%d", os.Getuid()))
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:16]
	if RaceDetector {
		name += "-race"
	}
	dir := filepath.Join(cache, "parley-e2e", name)
	return dir, os.MkdirAll(dir, 0o700)
}

// noteSources opens every folder of the sources. `go test` reuses the result of a
// package's last run unless a file has changed that the test is built from or has
// opened, and folders count with the sizes and times of their files. The tests do
// not import the program, so that they have to open what it is built from.
func noteSources(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		name := entry.Name()
		if path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		return nil
	})
}
