package main

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
	"time"

	"parley/internal/pgtest"
)

// eachDatabase runs a test with no settings, and with those for PostgreSQL.
func eachDatabase(t *testing.T, test func(t *testing.T, env []string)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, []string{"PARLEY_DATABASE_URL=" + pgtest.URL(t)})
	})
}

// TestServe is a life of the server: it starts with no settings in an empty
// folder, serves two users, is killed, and starts again with all that it had.
func TestServe(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := serve(t, dir, env)
		alice, bob := p.token("alice"), p.token("Bob")
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
			if status, body := p.call(step.token, step.method, step.path, step.body); status != step.want {
				t.Errorf("%s %s: got %d %s, want %d", step.method, step.path, status, body, step.want)
			}
		}
		p.signal(syscall.SIGKILL)
		p.wait()

		p = serve(t, dir, env)
		if status, body := p.call(bob, "GET", "/api/v1/data/alice/shop/orders", ""); status != http.StatusOK || !strings.Contains(body, "What we sold") {
			t.Errorf("after a kill: %d %s", status, body)
		}
		p.signal(syscall.SIGTERM)
		if code := p.wait(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		if more := p.more.String(); more != "" {
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
			p := serve(t, t.TempDir(), nil)
			token := p.token("alice")
			reader, writer := io.Pipe()
			answered := make(chan int, 1)
			go func() {
				status, _, _ := p.try(token, "POST", "/api/v1/ingest/new/shop/orders", reader)
				answered <- status
			}()
			if _, err := io.WriteString(writer, `{"dataDescription":`); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				_, body := p.call("", "GET", "/metrics", "")
				return strings.Contains(body, "parley_http_requests_in_flight 2") // that one and this
			})
			p.signal(signal)
			eventually(t, func() bool { return strings.Contains(p.log.String(), "draining") })
			if _, err := io.WriteString(writer, `"late"}`); err != nil {
				t.Fatal(err)
			}
			_ = writer.Close()
			if status := <-answered; status != http.StatusCreated {
				t.Errorf("the request in flight got %d", status)
			}
			if code := p.wait(); code != exitOK {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

// TestServeCutsOff has a request that never ends: it does not keep the server
// from stopping.
func TestServeCutsOff(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil, "--drain-timeout", "100ms")
	token := p.token("alice")
	reader, writer := io.Pipe()
	defer func() { _ = writer.Close() }()
	go func() { _, _, _ = p.try(token, "POST", "/api/v1/ingest/new/shop/orders", reader) }()
	if _, err := io.WriteString(writer, "{"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool {
		_, body := p.call("", "GET", "/metrics", "")
		return strings.Contains(body, "parley_http_requests_in_flight 2")
	})
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if log := p.log.String(); !strings.Contains(log, "requests were cut off") {
		t.Errorf("nothing was cut off:\n%s", log)
	}
}

func eventually(t testing.TB, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was waited for did not come")
		}
	}
}

func TestDataFolderIsLocked(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := serve(t, dir, env)
		second := runCommand(t, dir, env, "serve", "--listen", "127.0.0.1:0")
		if second.code != exitFailed || !strings.Contains(second.stderr, "in use by another parley") || second.stdout != "" {
			t.Errorf("a second server: %+v", second)
		}
		p.token("alice") // needs no lock
		if env == nil {
			if migrate := runCommand(t, dir, env, "migrate"); migrate.code != exitFailed {
				t.Errorf("migrate under a running server: %+v", migrate)
			}
		}
	})
}

func TestLogFormat(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), []string{"PARLEY_LOG_FORMAT=json", "PARLEY_LOG_LEVEL=debug"})
	p.call("", "GET", "/healthz", "")
	p.signal(syscall.SIGTERM)
	p.wait()
	lines := 0
	for scanner := bufio.NewScanner(strings.NewReader(p.log.String())); scanner.Scan(); lines++ {
		var line struct{ Msg, Level string }
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil || line.Msg == "" {
			t.Errorf("not a line of JSON: %s", scanner.Text())
		}
	}
	if lines < 4 {
		t.Errorf("only %d lines:\n%s", lines, p.log)
	}
}

func TestTwoOnOnePort(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil)
	second := runCommand(t, t.TempDir(), nil, "serve", "--listen", strings.TrimPrefix(p.url, "http://"))
	if second.code != exitFailed || !strings.Contains(second.stderr, "listen") || second.stdout != "" {
		t.Errorf("a port in use: %+v", second)
	}
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	got := runCommand(t, t.TempDir(), []string{"PARLEY_DATABASE_URL=postgres://u:hunter2@127.0.0.1:1/x?sslmode=disable"}, "serve")
	if got.code != exitFailed || got.stdout != "" || strings.Contains(got.stderr, "hunter2") {
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
		got := runCommand(t, dir, nil, "serve", "--listen", "127.0.0.1:0")
		if got.code != exitFailed || got.stdout != "" || got.stderr == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if kept, err := os.ReadFile(filepath.Join(data, name)); err != nil || string(kept) != content {
			t.Errorf("%s was changed: %q, %v", name, kept, err)
		}
	}
}
