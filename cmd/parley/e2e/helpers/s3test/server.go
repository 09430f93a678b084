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
	"slices"
	"strings"
	"time"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// serverScript runs the server. After the end of this process it stops the server and
// removes its folder.
//
//go:embed server.sh
var serverScript string

// server is a running S3 server.
type server struct {
	endpoint  string
	accessKey string
	secretKey string
	buckets   string   // the folder whose folders are the buckets
	lifeline  *os.File // the server ends when this closes
}

func start(binary string) (srv *server, err error) {
	for range 5 { // another process may take the free port
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
	// The process id is for people.
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
	// Another server that has taken the port does not answer here.
	health := "/" + rand.Text()
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", serverScript, "s3test", dir,
		binary, "--port", address, "--health", health, "--region", Region, "--quiet",
		// Not every file system has extended attributes.
		"posix", "--sidecar", meta, s.buckets)
	cmd.Env = append(serverEnv(), "ROOT_ACCESS_KEY="+s.accessKey, "ROOT_SECRET_KEY="+s.secretKey)
	s.lifeline, err = servertest.Start(cmd, func() error { return healthy(s.endpoint + health) })
	return err
}

// healthy uses a connection of its own, since some tests count those that stay open.
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

// serverEnv is this process's environment without settings of the server, which gets
// arguments.
func serverEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "VGW_") || strings.HasPrefix(kv, "ROOT_") || strings.HasPrefix(kv, "LOGFILE=")
	})
}
