package s3test

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// serverScript runs the server, and outlives this process by the moment it takes
// to stop the server and remove its folder.
//
//go:embed server.sh
var serverScript string

const (
	// startTimeout is far beyond the second a start takes: machines get busy.
	startTimeout = 2 * time.Minute
	// startAttempts are enough for somebody else to take the free port that was
	// found, again and again.
	startAttempts = 5
)

// server is a running S3 server.
type server struct {
	endpoint  string
	accessKey string
	secretKey string
	buckets   string   // the folder whose folders are the buckets
	lifeline  *os.File // the server ends when this closes
}

var errPortTaken = errors.New("the port was taken")

func start(binary string) (srv *server, err error) {
	for range startAttempts {
		srv, err = startOnce(binary)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("s3test: start %s: %w", binary, err)
	}
	return srv, nil
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
	// Nobody else's server answers here, should it have taken the port.
	health := "/" + rand.Text()
	output, err := srv.run(binary, dir, address, health)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer output.Close()
	if err := awaitReady(srv.endpoint+health, output); err != nil {
		return nil, errors.Join(err, srv.lifeline.Close())
	}
	return srv, nil
}

// run starts the script and returns what it prints.
func (s *server) run(binary, dir, address, health string) (output *os.File, err error) {
	meta := filepath.Join(dir, "meta")
	for _, folder := range []string{s.buckets, meta} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", serverScript, "s3test", dir,
		binary, "--port", address, "--health", health, "--region", Region, "--quiet",
		// Not every file system keeps attributes with its files.
		"posix", "--sidecar", meta, s.buckets)
	cmd.Env = append(serverEnv(), "ROOT_ACCESS_KEY="+s.accessKey, "ROOT_SECRET_KEY="+s.secretKey)
	if err := detach(cmd); err != nil {
		return nil, err
	}

	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the lifeline: %w", err)
	}
	defer stdin.Close()
	output, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the output pipe: %w", err), lifeline.Close())
	}
	defer stdout.Close()

	cmd.Stdin, cmd.Stdout = stdin, stdout
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("run the script: %w", err), lifeline.Close(), output.Close())
	}
	s.lifeline = lifeline
	return output, nil
}

// awaitReady returns once the server answers at url, or with what the script
// printed when it has given up.
func awaitReady(url string, output *os.File) error {
	var log bytes.Buffer
	for deadline := time.Now().Add(startTimeout); ; {
		err := healthy(url)
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
			if strings.Contains(log.String(), "address already in use") {
				return fmt.Errorf("%w:\n%s", errPortTaken, log.String())
			}
			return fmt.Errorf("the server gave up:\n%s", log.String())
		}
	}
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
