// Package e2etest has what the end-to-end tests share: it builds the program, starts it as
// a process, calls it as clients do, and serves as its language model. The tests are in the
// packages beside it.
package e2etest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/auth"
)

// Main runs the tests of a package, so many at a time if the command line does not say how
// many, and returns the exit code. Most tests wait most of the time, for processes of their
// own, so that there can be more of them than processors.
func Main(m *testing.M, parallel int) int {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"test.run": raced, "test.parallel": strconv.Itoa(parallel)} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	// Programs inherit ignored signals, for example from nohup, but not caught ones.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code := m.Run()
	removed.Range(func(path, _ any) bool { return os.RemoveAll(path.(string)) == nil })
	return code
}

// Command is the program in a folder, with these settings alone.
func Command(t testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), Program(t), args...)
	cmd.Dir = dir
	for _, setting := range os.Environ() {
		prefixed := func(prefix string) bool { return strings.HasPrefix(setting, prefix) }
		if !slices.ContainsFunc([]string{"PARLEY_", "LANGFUSE_", "OTEL_", "LANG=", "LC_"}, prefixed) {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	if _, test := t.(*testing.T); test && !RaceDetector && !fulltest.Full() {
		// Many programs run at once. With one processor each, they take 5 to 12 % less time of
		// all processors. Most end before they have 16 MB, at which they now first collect garbage.
		cmd.Env = append(cmd.Env, "GOMAXPROCS=1", "GOGC=400")
	}
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// Result is that of a run of the program.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// RunCommand runs the program to its end.
func RunCommand(t testing.TB, dir string, env []string, args ...string) Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := Command(t, dir, env, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// Process is a running server.
type Process struct {
	T   testing.TB
	Cmd *exec.Cmd
	URL string
	Dir string
	Env []string
	Log *logtest.Buffer
	// More is what came on standard output after the ready line.
	More logtest.Buffer
	Done chan error
}

// Serve starts a server on a port of its own and waits until it is ready.
func Serve(t testing.TB, dir string, env []string, args ...string) *Process {
	t.Helper()
	return Start(t, dir, env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// Start starts the program and waits until it prints its address.
func Start(t testing.TB, dir string, env []string, args ...string) *Process {
	t.Helper()
	p := &Process{T: t, Dir: dir, Env: env, Log: &logtest.Buffer{}, Done: make(chan error, 1)}
	p.Cmd = Command(t, dir, env, args...)
	p.Cmd.Stderr = p.Log
	stdout, err := p.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	line, err := reader.ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "Parley is ready at ")
	if err != nil || !ready {
		_ = p.Cmd.Wait()
		t.Fatalf("not ready: %q, %v\n%s", line, err, p.Log)
	}
	p.URL = url
	go func() {
		_, _ = io.Copy(&p.More, reader)
		p.Done <- p.Cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		if t.Failed() {
			t.Logf("log of the server:\n%s", p.Log)
		}
	})
	return p
}

var grpcAddress = regexp.MustCompile(`msg="starting gRPC" address=(\S+)`)

// GRPCAddress returns the address of --grpc-listen. The log comes by another pipe than the
// address that Start waits for.
func (p *Process) GRPCAddress() (address string) {
	p.T.Helper()
	waittest.Until(p.T, "the log names the address of gRPC", func() bool {
		found := grpcAddress.FindStringSubmatch(p.Log.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	return address
}

// Signal sends the server a signal.
func (p *Process) Signal(s syscall.Signal) {
	p.T.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// Wait waits for the end of the server and returns its exit code.
func (p *Process) Wait() int {
	p.T.Helper()
	select {
	case <-p.Done:
		return p.Cmd.ProcessState.ExitCode()
	case <-time.After(waittest.Limit):
		p.T.Fatalf("the server does not stop:\n%s", p.Log)
		return -1
	}
}

// Token returns a token, signed with the server's local key if there is one, or else by
// the program.
func (p *Process) Token(user string, args ...string) string {
	p.T.Helper()
	data := filepath.Join(p.Dir, "parley-data")
	if len(args) == 0 && Exists(data, auth.LocalKeyFile) {
		key, err := auth.LoadLocalKey(data)
		if err != nil {
			p.T.Fatal(err)
		}
		made, err := auth.Sign(auth.Config{LocalKey: key}, user, time.Hour)
		if err != nil {
			p.T.Fatal(err)
		}
		return made
	}
	made := RunCommand(p.T, p.Dir, p.Env, append([]string{"token", user}, args...)...)
	if made.Code != ExitOK || strings.Count(made.Stdout, ".") != 2 {
		p.T.Fatalf("token: %+v", made)
	}
	return strings.TrimSpace(made.Stdout)
}

// Call sends a request, with headers given as names and values, and returns the status and the
// body.
func (p *Process) Call(token, method, path, body string, header ...string) (int, string) {
	p.T.Helper()
	status, text, err := p.Try(token, method, path, strings.NewReader(body), header...)
	if err != nil {
		p.T.Fatal(err)
	}
	return status, text
}

// request sends a request with headers, given as names and values.
func (p *Process) request(ctx context.Context, token, method, path string, body io.Reader, header ...string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.URL+path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	for pair := range slices.Chunk(header, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	return http.DefaultClient.Do(request)
}

// Try is Call for requests that may fail.
func (p *Process) Try(token, method, path string, body io.Reader, header ...string) (int, string, error) {
	ctx, cancel := context.WithTimeout(p.T.Context(), waittest.Limit)
	defer cancel()
	response, err := p.request(ctx, token, method, path, body, header...)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Exists reports whether a file is in a folder.
func Exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
