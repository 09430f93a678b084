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
)

const (
	module  = "github.com/versity/versitygw"
	command = module + "/cmd/versitygw"
	version = "v1.8.0"

	// buildTimeout leaves a busy machine some minutes, and the rest of go test's
	// ten to the tests.
	buildTimeout = 8 * time.Minute
)

// program returns the path of the server's program, built if need be.
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

// buildFolders names where the program may be kept, best first.
func buildFolders() []string {
	var dirs []string
	name := fmt.Sprintf("versitygw-%s-%s-%s", version, runtime.GOOS, runtime.GOARCH)
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "parley-test", name))
	}
	// The user's number keeps users apart; what somebody else has put there is
	// refused by claim.
	return append(dirs, filepath.Join(os.TempDir(), fmt.Sprintf("parley-test-%d-%s", os.Getuid(), name)))
}

// programIn returns the path of the program in a folder that is only this user's
// to write to. Of the processes that ask at the same time, one builds it.
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
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if isProgram(path) {
		return path, nil
	}
	return path, build(dir, path)
}

// build puts the program at path. It appears there whole or not at all.
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

// buildEnv is this process's environment without what would make a program for
// another machine or with other flags.
func buildEnv(tmp string) []string {
	env := []string{"GOBIN=" + tmp, "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off"}
	for _, kv := range os.Environ() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GOBIN", "CGO_ENABLED", "GOFLAGS", "GOWORK", "GOOS", "GOARCH":
		default:
			env = append(env, kv)
		}
	}
	// A user without a home, or with one that cannot be written to, can build too.
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
	// The tests may have been started by the full name of a go that PATH lacks.
	return filepath.Join(os.Getenv("GOROOT"), "bin", "go")
}

func writable(dir string) bool {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false
	}
	probe, err := os.MkdirTemp(dir, "parley-test-")
	if err != nil {
		return false
	}
	return os.Remove(probe) == nil
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o100 != 0
}
