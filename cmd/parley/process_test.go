package main

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
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/internal/auth"
)

// asParley makes the test binary the program itself.
const asParley = "RUN_AS_PARLEY"

// fileLimit says how large the files may be that the program writes, in bytes.
const fileLimit = "RUN_WITH_FILE_LIMIT"

func TestMain(m *testing.M) {
	// A worker is the program run again, with no environment.
	if os.Getenv(asParley) != "" || len(os.Args) > 1 && os.Args[1] == "worker" {
		setClock()
		setFileLimit()
		main()
		return
	}
	flag.Parse()
	if which := flag.Lookup("test.run"); which.Value.String() == "" {
		if err := which.Value.Set(raced); err != nil {
			panic(err)
		}
	}
	// What these tests' own starter has ignored, such as nohup, the programs that they
	// start would ignore too; what is caught here they do not inherit.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code := m.Run()
	closeChromium()
	os.Exit(code)
}

// command is the program, to be run in an empty folder with no settings but
// those given.
func command(t testing.TB, dir string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "PARLEY_") && !strings.HasPrefix(setting, "LANGFUSE_") && !strings.HasPrefix(setting, "OTEL_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(append(cmd.Env, asParley+"=1"), env...)
	return cmd
}

// result is how a run of the program ended.
type result struct {
	code           int
	stdout, stderr string
}

// runCommand runs the program to its end.
func runCommand(t testing.TB, dir string, env []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := command(t, dir, env, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// process is a running server.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	url string
	dir string
	env []string
	log *syncBuffer
	// more is what came on standard output after the ready line.
	more syncBuffer
	done chan error
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// serve starts a server on a port of its own and waits until it is ready.
func serve(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	return start(t, dir, env, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
}

// start starts the program and waits until it says where it can be asked.
func start(t testing.TB, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, dir: dir, env: env, log: &syncBuffer{}, done: make(chan error, 1)}
	p.cmd = command(t, dir, env, args...)
	p.cmd.Stderr = p.log
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(stdout)
	line, err := reader.ReadString('\n')
	url, ready := strings.CutPrefix(strings.TrimSpace(line), "Parley is ready at ")
	if err != nil || !ready {
		_ = p.cmd.Wait()
		t.Fatalf("not ready: %q, %v\n%s", line, err, p.log)
	}
	p.url = url
	go func() {
		_, _ = io.Copy(&p.more, reader)
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("log of the server:\n%s", p.log)
		}
	})
	return p
}

// signal sends the server a signal.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// wait gives the code with which the server exits.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(time.Minute):
		p.t.Fatalf("the server does not stop:\n%s", p.log)
		return -1
	}
}

// token makes a token: by the server's local key, where it has one in the usual
// place, else as the program does.
func (p *process) token(user string, args ...string) string {
	p.t.Helper()
	data := filepath.Join(p.dir, "parley-data")
	if len(args) == 0 && exists(data, auth.LocalKeyFile) {
		made, err := localToken(data, user, time.Hour)
		if err != nil {
			p.t.Fatalf("token: %v", err)
		}
		return made
	}
	made := runCommand(p.t, p.dir, p.env, append([]string{"token", user}, args...)...)
	if made.code != exitOK || strings.Count(made.stdout, ".") != 2 {
		p.t.Fatalf("token: %+v", made)
	}
	return strings.TrimSpace(made.stdout)
}

// call sends a request and gives the status and the body.
func (p *process) call(token, method, path, body string) (int, string) {
	p.t.Helper()
	return p.send(token, method, path, strings.NewReader(body))
}

func (p *process) send(token, method, path string, body io.Reader) (int, string) {
	p.t.Helper()
	status, text, err := p.try(token, method, path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return status, text
}

// try is send for requests that may fail.
func (p *process) try(token, method, path string, body io.Reader) (int, string, error) {
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.url+path, body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// exists reports whether a file is in a folder.
func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
