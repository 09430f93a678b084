package pgtest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// clusterScript makes and runs a cluster, and outlives this process by the
// moment it takes to stop the cluster and remove its folder.
//
//go:embed cluster.sh
var clusterScript string

const (
	// startTimeout is far beyond the second a start takes: machines get busy.
	startTimeout = 2 * time.Minute
	// port only names the socket's file; it is fixed so that PGPORT does not matter.
	port = "5432"
)

// startCluster starts a private cluster from the programs in folder bin, with
// settings (name=value) beside the usual ones, and returns when it answers.
func startCluster(bin string, settings ...string) (*server, error) {
	dir, err := makeFolder()
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	lifeline, output, err := runScript(bin, dir, settings)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: start the cluster: %w", err), os.RemoveAll(dir))
	}
	defer output.Close()

	srv := &server{
		admin: url.URL{
			Scheme:   "postgres",
			User:     url.User("parley"),
			Path:     "/postgres",
			RawQuery: url.Values{"host": {dir}, "port": {port}, "sslmode": {"disable"}}.Encode(),
		},
		dir:      dir,
		lifeline: lifeline,
	}
	if err := srv.awaitReady(output); err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: start the cluster: %w", err), lifeline.Close())
	}
	return srv, nil
}

// runScript starts the script. It returns the write end of the script's standard
// input, which the script takes for a sign of life, and what the script prints.
func runScript(bin, dir string, settings []string) (lifeline, output *os.File, err error) {
	locale := "C"
	if runtime.GOOS == "linux" {
		// Orders by bytes like C, but knows upper and lower case beyond ASCII.
		locale = "C.UTF-8"
	}
	args := []string{"-c", clusterScript, "pgtest", bin, dir, locale, port}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", args...)
	cmd.Dir = dir // the caller's own may be closed to the cluster's user
	cmd.Env = clusterEnv()
	if err := detach(cmd, dir); err != nil {
		return nil, nil, err
	}

	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open the lifeline: %w", err)
	}
	defer stdin.Close()
	output, stdout, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open the output pipe: %w", err), lifeline.Close())
	}
	defer stdout.Close()

	cmd.Stdin, cmd.Stdout = stdin, stdout
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("run the script: %w", err), lifeline.Close(), output.Close())
	}
	return lifeline, output, nil
}

// awaitReady returns once the server answers, or with what the script printed
// when it has given up.
func (s *server) awaitReady(output *os.File) error {
	var log bytes.Buffer
	for deadline := time.Now().Add(startTimeout); ; {
		err := s.exec(context.Background(), "SELECT 1")
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer after %v: %w", startTimeout, err)
		}
		// Listening for the script's end is also the pause before the next attempt.
		if err := output.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			return fmt.Errorf("watch the script: %w", err)
		}
		if _, err := io.Copy(&log, output); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the server gave up:\n%s", log.String())
		}
	}
}

// clusterEnv is this process's environment without what would steer initdb and
// postgres away from their arguments.
func clusterEnv() []string {
	env := []string{"LC_ALL=C"}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") {
			env = append(env, kv)
		}
	}
	return env
}

// makeFolder makes the cluster's folder where a path is short, as a socket's has
// room for about a hundred bytes, and where other users may go.
func makeFolder() (dir string, err error) {
	for _, root := range append(memoryFolders(), "/tmp", os.TempDir()) {
		// The process id tells a person whose folder it is.
		dir, err = os.MkdirTemp(root, fmt.Sprintf("parley-pg-%d-", os.Getpid()))
		if err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("make the cluster's folder: %w", err)
}
