package e2etest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// buildTimeout leaves some of go test's ten minutes to the tests.
const buildTimeout = 8 * time.Minute

// Root is the folder of the module.
func Root(t testing.TB) string {
	t.Helper()
	return must(t, moduleRoot)
}

// Program is the path of the program, built from the current sources.
func Program(t testing.TB) string {
	t.Helper()
	return must(t, program)
}

func must(t testing.TB, path func() (string, error)) string {
	t.Helper()
	text, err := path()
	if err != nil {
		t.Fatal(err)
	}
	return text
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

// program builds the program once per process.
var program = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if err := noteSources(root); err != nil {
		return "", err
	}
	// Without data for debuggers and symbols it is linked faster and is smaller:
	// each package has go build look whether it is up to date.
	flags := []string{"-tags", "parleytest", "-ldflags=-s -w"}
	if RaceDetector {
		flags = append(flags, "-race")
	}
	return build("parley", root, append(flags, "./cmd/parley")...)
})

// build builds a program from the module in a folder and returns its path. Packages are
// tested in parallel: a lock makes one of them build it.
func build(name, module string, args ...string) (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir, err := buildFolder(root)
	if err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(dir, name+".lock"))
	if err := lock.Lock(); err != nil {
		return "", fmt.Errorf("lock the folder of %s: %w", name, err)
	}
	defer func() { _ = lock.Unlock() }()
	path := filepath.Join(dir, name)
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-o", path}, args...)...)
	cmd.Dir = module
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, output)
	}
	return path, nil
}

// buildFolder creates the folder for the programs of this source tree.
func buildFolder(root string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for programs: %w", err)
	}
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:16]
	if RaceDetector {
		name += "-race"
	}
	dir := filepath.Join(cache, "parley-e2e", name)
	return dir, os.MkdirAll(dir, 0o700)
}

// noteSources opens every folder of the sources. `go test` caches the result of a package
// until a file changes that the test is built from or has opened, and folders count with
// the sizes and times of their files. The tests do not import the program, so they must
// open its sources.
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

// A2ACommand is the path of the SDK's command, built in its own module, which has
// its own dependencies and their sums.
func A2ACommand(t testing.TB) string {
	t.Helper()
	return must(t, a2aCommand)
}

var a2aCommand = sync.OnceValues(func() (string, error) {
	module, err := exec.CommandContext(context.Background(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/a2aproject/a2a-go/v2").Output()
	if err != nil {
		return "", fmt.Errorf("find the SDK: %w", err)
	}
	return build("a2a", strings.TrimSpace(string(module)), "-trimpath", "-buildvcs=false", "./cmd/a2a")
})
