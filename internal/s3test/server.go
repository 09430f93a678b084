package s3test

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/servertest"
)

// serverScript runs the server, and outlives this process by the moment it takes
// to stop the server and remove its folder.
//
//go:embed server.sh
var serverScript string

// startAttempts are enough for somebody else to take the free port that was found,
// again and again.
const startAttempts = 5

// server is a running S3 server.
type server struct {
	endpoint  string
	accessKey string
	secretKey string
	buckets   string   // the folder whose folders are the buckets
	lifeline  *os.File // the server ends when this closes
}

func start(binary string) (srv *server, err error) {
	for range startAttempts {
		srv, err = startOnce(binary)
		if !portTaken(err) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("s3test: start %s: %w", binary, err)
	}
	return srv, nil
}

func portTaken(err error) bool {
	return err != nil && strings.Contains(err.Error(), "address already in use")
}

func startOnce(binary string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	// The process id tells a person whose folder it is.
	dir, err := os.MkdirTemp("", fmt.Sprintf("parley-s3-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	srv := &server{
		endpoint:  "http://" + address,
		accessKey: "parley",
		secretKey: rand.Text(),
		buckets:   filepath.Join(dir, "buckets"),
	}
	if err := srv.run(binary, dir, address); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return srv, nil
}

// run starts the script, and returns when the server answers.
func (s *server) run(binary, dir, address string) (err error) {
	meta := filepath.Join(dir, "meta")
	for _, folder := range []string{s.buckets, meta} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	// Nobody else's server answers here, should it have taken the port.
	health := "/" + rand.Text()
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", serverScript, "s3test", dir,
		binary, "--port", address, "--health", health, "--region", Region, "--quiet",
		// Not every file system keeps attributes with its files.
		"posix", "--sidecar", meta, s.buckets)
	cmd.Env = append(serverEnv(), "ROOT_ACCESS_KEY="+s.accessKey, "ROOT_SECRET_KEY="+s.secretKey)
	s.lifeline, err = servertest.Start(cmd, func() error { return healthy(s.endpoint + health) })
	return err
}

// healthy asks on a connection of its own, so that none of ours stays around for
// tests that count them.
func healthy(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	return nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// serverEnv is this process's environment without the server's settings, which
// are its arguments.
func serverEnv() []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "VGW_") && !strings.HasPrefix(kv, "ROOT_") && !strings.HasPrefix(kv, "LOGFILE=") {
			env = append(env, kv)
		}
	}
	return env
}
