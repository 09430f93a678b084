package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// buildTimeout leaves some of go test's ten minutes to the tests.
const buildTimeout = 8 * time.Minute

// ErrNoProgram says that there is no program to run, for which a test may be skipped.
var ErrNoProgram = errors.New("servertest: no program")

// Program is a server that tests build or fetch: a file, or a folder.
type Program struct {
	Name, Version string
	// Variable, where set, has the path of another program to use.
	Variable string
	// Steps are the commands, in an empty folder, that put the program there by its name.
	Steps [][]string
}

// Path returns the path of the program, which is built when it is first needed, and stored in
// the user's cache folder.
func (p Program) Path() (string, error) {
	if path := os.Getenv(p.Variable); path != "" {
		return path, nil
	}
	var failures []string
	for _, dir := range p.folders() {
		path, err := p.in(dir)
		if err == nil {
			return path, nil
		}
		failures = append(failures, fmt.Sprintf("in %s: %v", dir, err))
	}
	return "", fmt.Errorf("%w: %s %s cannot be built; set %s to a program of it, or let %s reach where it is fetched from\n%s",
		ErrNoProgram, p.Name, p.Version, p.Variable, p.Steps[0][0], strings.Join(failures, "\n"))
}

// folders names the folders for the program, best first.
func (p Program) folders() []string {
	var dirs []string
	name := fmt.Sprintf("%s-%s-%s-%s", p.Name, p.Version, runtime.GOOS, runtime.GOARCH)
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "parley-test", name))
	}
	// claim refuses what another user has put there.
	return append(dirs, filepath.Join(os.TempDir(), fmt.Sprintf("parley-test-%d-%s", os.Getuid(), name)))
}

// in returns the path of the program in a folder that only this user can write
// to. One of the processes that ask at the same time builds it.
func (p Program) in(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := claim(dir); err != nil {
		return "", err
	}
	path := filepath.Join(dir, p.Name)
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
	return path, p.build(dir, path)
}

// build puts the program at path, by a rename.
func (p Program) build(dir, path string) error {
	tmp, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)

	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	for _, step := range p.Steps {
		name := step[0]
		if name == "go" {
			name = goCommand()
		}
		cmd := exec.CommandContext(ctx, name, step[1:]...)
		cmd.Dir = tmp // outside any module
		cmd.Env = buildEnv(tmp)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%.100s: %w\n%s", strings.Join(step, " "), err, output)
		}
	}
	return os.Rename(filepath.Join(tmp, p.Name), path)
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
	return err == nil && (info.IsDir() || info.Mode().IsRegular()) && info.Mode()&0o100 != 0
}
