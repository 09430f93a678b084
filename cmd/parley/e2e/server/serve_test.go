package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestServe is a life of the server: it starts with no settings in an empty
// folder, serves two users, is killed, and starts again with all that it had.
func TestServe(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		alice, bob := p.Token("alice"), p.Token("Bob")
		for _, step := range []struct {
			token, method, path, body string
			want                      int
		}{
			{alice, "POST", "/api/v1/ingest/new/shop/orders", `{"dataDescription":"What we sold"}`, http.StatusCreated},
			{bob, "GET", "/api/v1/data/alice/shop/orders", "", http.StatusNotFound},
			{alice, "POST", "/api/v1/permissions/datasets/self/shop/orders/shares", `{"username":"bob","role":"viewer"}`, http.StatusOK},
			{bob, "GET", "/api/v1/data/alice/shop/orders", "", http.StatusOK},
			{"", "GET", "/readyz", "", http.StatusOK},
			{"", "GET", "/metrics", "", http.StatusOK},
		} {
			if status, body := p.Call(step.token, step.method, step.path, step.body); status != step.want {
				t.Errorf("%s %s: got %d %s, want %d", step.method, step.path, status, body, step.want)
			}
		}
		p.Signal(syscall.SIGKILL)
		p.Wait()

		p = e2etest.Serve(t, dir, env)
		if status, body := p.Call(bob, "GET", "/api/v1/data/alice/shop/orders", ""); status != http.StatusOK || !strings.Contains(body, "What we sold") {
			t.Errorf("after a kill: %d %s", status, body)
		}
		p.Signal(syscall.SIGTERM)
		if code := p.Wait(); code != e2etest.ExitOK {
			t.Errorf("exit code %d", code)
		}
		if more := p.More.String(); more != "" {
			t.Errorf("more than the ready line on standard output: %q", more)
		}
	})
}

// TestServeDrains sends a signal in the middle of a request: it is answered
// before the server stops.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := e2etest.Serve(t, t.TempDir(), nil)
			token := p.Token("alice")
			reader, writer := io.Pipe()
			answered := make(chan int, 1)
			go func() {
				status, _, _ := p.Try(token, "POST", "/api/v1/ingest/new/shop/orders", reader)
				answered <- status
			}()
			if _, err := io.WriteString(writer, `{"dataDescription":`); err != nil {
				t.Fatal(err)
			}
			e2etest.Eventually(t, func() bool {
				_, body := p.Call("", "GET", "/metrics", "")
				return strings.Contains(body, "parley_http_requests_in_flight 2") // that one and this
			})
			p.Signal(signal)
			e2etest.Eventually(t, func() bool { return strings.Contains(p.Log.String(), "draining") })
			if _, err := io.WriteString(writer, `"late"}`); err != nil {
				t.Fatal(err)
			}
			_ = writer.Close()
			if status := <-answered; status != http.StatusCreated {
				t.Errorf("the request in flight got %d", status)
			}
			if code := p.Wait(); code != e2etest.ExitOK {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestServeCutsOff has a request that never ends: it does not keep the server
// from stopping.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil, "--drain-timeout", "100ms")
	token := p.Token("alice")
	reader, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	go func() { _, _, _ = p.Try(token, "POST", "/api/v1/ingest/new/shop/orders", reader) }()
	if _, err := io.WriteString(writer, "{"); err != nil {
		t.Fatal(err)
	}
	e2etest.Eventually(t, func() bool {
		_, body := p.Call("", "GET", "/metrics", "")
		return strings.Contains(body, "parley_http_requests_in_flight 2")
	})
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if log := p.Log.String(); !strings.Contains(log, "requests aborted") {
		t.Errorf("nothing was cut off:\n%s", log)
	}
}

func TestDataFolderIsLocked(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		second := e2etest.RunCommand(t, dir, env, "serve", "--listen", "127.0.0.1:0")
		if second.Code != e2etest.ExitFailed || !strings.Contains(second.Stderr, "in use by another parley") || second.Stdout != "" {
			t.Errorf("a second server: %+v", second)
		}
		p.Token("alice") // needs no lock
		if env == nil {
			if migrate := e2etest.RunCommand(t, dir, env, "migrate"); migrate.Code != e2etest.ExitFailed {
				t.Errorf("migrate under a running server: %+v", migrate)
			}
		}
	})
}

func TestLogFormat(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{"PARLEY_LOG_FORMAT=json", "PARLEY_LOG_LEVEL=debug"})
	p.Call("", "GET", "/healthz", "")
	p.Signal(syscall.SIGTERM)
	p.Wait()
	lines := 0
	for scanner := bufio.NewScanner(strings.NewReader(p.Log.String())); scanner.Scan(); lines++ {
		var line struct{ Msg, Level string }
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil || line.Msg == "" {
			t.Errorf("not a line of JSON: %s", scanner.Text())
		}
	}
	if lines < 4 {
		t.Errorf("only %d lines:\n%s", lines, p.Log)
	}
}

func TestTwoOnOnePort(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	second := e2etest.RunCommand(t, t.TempDir(), nil, "serve", "--listen", strings.TrimPrefix(p.URL, "http://"))
	if second.Code != e2etest.ExitFailed || !strings.Contains(second.Stderr, "listen") || second.Stdout != "" {
		t.Errorf("a port in use: %+v", second)
	}
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_DATABASE_URL=postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable"}, "serve")
	if got.Code != e2etest.ExitFailed || got.Stdout != "" || strings.Contains(got.Stderr, "hunter2") {
		t.Errorf("got %+v", got)
	}
}

func TestBrokenFilesAreReported(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"signing-key": "short", "parley.db": strings.Repeat("not a database ", 100)} {
		dir := t.TempDir()
		data := filepath.Join(dir, "parley-data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := e2etest.RunCommand(t, dir, nil, "serve", "--listen", "127.0.0.1:0")
		if got.Code != e2etest.ExitFailed || got.Stdout != "" || got.Stderr == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if kept, err := os.ReadFile(filepath.Join(data, name)); err != nil || string(kept) != content {
			t.Errorf("%s was changed: %q, %v", name, kept, err)
		}
	}
}
