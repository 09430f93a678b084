// Package servertest runs servers for tests: programs that end with the test
// process, whatever ends it, or that a machine may lack. Which program that is, and
// how it is asked whether it is ready, is left to its users.
package servertest

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// StartTimeout is far beyond the seconds a start takes: machines get busy.
const StartTimeout = 5 * time.Minute

// serverScript runs a server with its log in a folder. After the end of this process it
// stops the server and removes the folder.
//
//go:embed server.sh
var serverScript string

// Serve starts a server whose files are in a folder, and removes the folder when the server
// ends. It is Start otherwise.
func Serve(dir string, env []string, ready func() error, command ...string) (lifeline *os.File, err error) {
	script := exec.CommandContext(context.Background(), "/bin/sh", append([]string{"-c", serverScript, "server", dir}, command...)...)
	script.Env = env
	return Start(script, ready)
}

// OnFreePort starts a server on a free port of the loopback interface. It tries another one
// if another process has taken that meanwhile.
func OnFreePort(start func(address string) error) (err error) {
	for range 5 {
		var address string
		if address, err = freeAddress(); err != nil {
			return err
		}
		if err = start(address); !portTaken(err) {
			break
		}
	}
	return err
}

func portTaken(err error) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), "address already in use")
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// Healthy returns an error unless an address answers 200. It uses a connection of its own,
// since some tests count those that stay open.
func Healthy(url string) error {
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

// Start runs a script that ends its server when standard input closes, and returns
// once the server is ready, or with what the script printed when it has given up.
// The server ends when the lifeline closes, as it does with this process.
func Start(script *exec.Cmd, ready func() error) (lifeline *os.File, err error) {
	detach(script)
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the lifeline: %w", err)
	}
	defer stdin.Close()
	output, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the output pipe: %w", err), lifeline.Close())
	}
	defer output.Close()
	script.Stdin, script.Stdout = stdin, stdout
	err = script.Start()
	_ = stdout.Close() // the script has it
	if err != nil {
		err = fmt.Errorf("run the script: %w", err)
	} else {
		err = awaitReady(ready, output)
	}
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	return lifeline, nil
}

func awaitReady(ready func() error, output *os.File) error {
	var log bytes.Buffer
	for deadline := time.Now().Add(StartTimeout); ; {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer after %v: %w", StartTimeout, err)
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
