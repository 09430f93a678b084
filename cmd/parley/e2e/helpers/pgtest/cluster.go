package pgtest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// clusterScript makes and runs a cluster, and outlives this process by the
// moment it takes to stop the cluster and remove its folder.
//
//go:embed cluster.sh
var clusterScript string

// port only names the socket's file; it is fixed so that PGPORT does not matter.
const port = "5432"

// startCluster starts a private cluster from the programs in folder bin, with
// settings (name=value) beside the usual ones, and returns when it answers.
func startCluster(bin string, settings ...string) (*server, error) {
	dir, err := makeFolder()
	if err != nil {
		return nil, fmt.Errorf("pgtest: %w", err)
	}
	srv := &server{
		admin: url.URL{
			Scheme:   "postgres",
			User:     url.User("parley"),
			Path:     "/postgres",
			RawQuery: url.Values{"host": {dir}, "port": {port}, "sslmode": {"disable"}}.Encode(),
		},
		dir: dir,
	}
	if err := srv.run(bin, settings); err != nil {
		return nil, errors.Join(fmt.Errorf("pgtest: start the cluster: %w", err), os.RemoveAll(dir))
	}
	return srv, nil
}

// run starts the script, and returns when the cluster answers.
func (s *server) run(bin string, settings []string) (err error) {
	locale := "C"
	if runtime.GOOS == "linux" {
		// Orders by bytes like C, but knows upper and lower case beyond ASCII.
		locale = "C.UTF-8"
	}
	archive := openArchive(bin, locale)
	defer archive.close(s.dir)
	args := []string{"-c", clusterScript, "pgtest", bin, s.dir, locale, port, archive.mode()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", args...)
	cmd.Dir = s.dir // the caller's own may be closed to the cluster's user
	cmd.Env = clusterEnv()
	if archive.file != nil {
		cmd.ExtraFiles = []*os.File{archive.file}
	}
	if err := runAsOrdinaryUser(cmd, s.dir); err != nil {
		return err
	}
	s.lifeline, err = servertest.Start(cmd, s.ping)
	return err
}

func (s *server) ping() error { return s.exec(context.Background(), "SELECT 1") }

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
