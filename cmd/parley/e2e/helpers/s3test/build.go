package s3test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	module  = "github.com/versity/versitygw"
	command = module + "/cmd/versitygw"
	version = "v1.8.0"

	// buildTimeout leaves some of go test's ten minutes to the tests.
	buildTimeout = 8 * time.Minute
)

// program returns the path of the server's program and builds it if necessary.
func program() (string, error) {
	if path := os.Getenv("PARLEY_TEST_VERSITYGW"); path != "" {
		return path, nil
	}
	var failures []string
	for _, dir := range buildFolders() {
		path, err := programIn(dir)
		if err == nil {
			return path, nil
		}
		failures = append(failures, fmt.Sprintf("in %s: %v", dir, err))
	}
	return "", fmt.Errorf("%w: versitygw %s cannot be built; set PARLEY_TEST_VERSITYGW to a program of it, or let go reach a module proxy\n%s",
		errNoServer, version, strings.Join(failures, "\n"))
}

// buildFolders names the folders for the program, best first.
func buildFolders() []string {
	var dirs []string
	name := fmt.Sprintf("versitygw-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "parley-test", name))
	}
	// claim refuses what another user has put there.
	return append(dirs, filepath.Join(os.TempDir(), fmt.Sprintf("parley-test-%d-%s", os.Getuid(), name)))
}

// programIn returns the path of the program in a folder that only this user can write
// to. One of the processes that ask at the same time builds it.
func programIn(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := claim(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "versitygw")
	if isProgram(path) {
		return path, nil
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = lock.Unlock() }()
	if isProgram(path) {
		return path, nil
	}
	return path, build(dir, path)
}

// build puts the program at path, by a rename.
func build(dir, path string) error {
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, goCommand(), "install", "-trimpath", "-ldflags=-s -w", command+"@"+version)
	cmd.Dir = tmp // outside any module
	cmd.Env = buildEnv(tmp)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install %s@%s: %w\n%s", command, version, err, output)
	}
	return os.Rename(filepath.Join(tmp, "versitygw"), path)
}

// buildEnv is this process's environment with settings for this machine. Of a variable
// that is there twice the last one counts.
func buildEnv(tmp string) []string {
	env := append(os.Environ(), "GOBIN="+tmp, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off",
		"GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	// A user without a home that can be written to can build too.
	if cache, err := os.UserCacheDir(); err != nil || !writable(cache) {
		if os.Getenv("GOCACHE") == "" {
			env = append(env, "GOCACHE="+filepath.Join(tmp, "cache"))
		}
		if os.Getenv("GOPATH") == "" && os.Getenv("GOMODCACHE") == "" {
			env = append(env, "GOPATH="+filepath.Join(tmp, "go"), "GOFLAGS=-buildvcs=false -modcacherw")
		}
	}
	return env
}

func goCommand() string {
	if path, err := exec.LookPath("go"); err == nil {
		return path
	}
	// PATH may lack the go that started the tests.
	return filepath.Join(os.Getenv("GOROOT"), "bin", "go")
}

func writable(dir string) bool {
	if os.MkdirAll(dir, 0o700) != nil {
		return false
	}
	probe, err := os.MkdirTemp(dir, "parley-test-")
	return err == nil && os.Remove(probe) == nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o100 != 0
}
