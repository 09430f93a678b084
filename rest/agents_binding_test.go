package rest_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/rest"
)

// TestHTTPBindingRefusals has the agents' host write the refusals of what no agent sees.
func TestHTTPBindingRefusals(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.MaxBody = 1 << 10 })
	for _, test := range []struct {
		user, path, mediaType, body string
		status                      int
		said                        string
	}{
		{"-", "message:send", "application/json", "{}", 401, "a bearer token is required"},
		{"alice", "message:send", "text/plain", "{}", 415, "Content-Type"},
		{"alice", "message:send", "application/json", strings.Repeat(" ", 1<<10+1), 413, "the body is larger"},
		{"alice", "message:send?a=%zz", "application/json", "{}", 400, "query"},
		{"alice", "message:send", "application/a2a+json", "{}", 200, `"path":"message:send"`},
		{"alice", "alice%2Fshop/tasks/x:cancel", "", "", 200, `"path":"alice%2Fshop/tasks/x:cancel"`},
		{"alice", "alice/shop/tasks/x/pushNotificationConfigs", "", "", 200, `"path":"alice/shop/tasks/x/pushNotificationConfigs"`},
	} {
		got := s.send(test.user, "POST", "/a2a/nl2ql/"+test.path, test.mediaType, test.body)
		if got.status != test.status || !strings.Contains(got.body, test.said) {
			t.Errorf("%s %s: %d %s", test.user, test.path, got.status, got.body)
		}
		if test.status >= 400 && !strings.HasPrefix(got.body, "refused: ") {
			t.Errorf("%s: %s", test.path, got.body)
		}
	}
	if got := s.send("alice", "GET", "/a2a/nobody/tasks", "", ""); got.status != 404 || got.body != "refused: not found" {
		t.Errorf("an unknown agent: %d %s", got.status, got.body)
	}
}

// callGRPC sends a request of HTTP/2 to the service's path of gRPC.
func (s *service) callGRPC(token, mediaType string) *http.Response {
	s.t.Helper()
	server := httptest.NewUnstartedServer(s.rest)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	s.t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{Protocols: server.Config.Protocols}}
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, server.URL+"/lf.a2a.v1.A2AService/SubscribeToTask", bytes.NewReader([]byte{0, 0, 0, 0, 0}))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", mediaType)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestGRPCIsRouted(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, test := range []struct {
		token, mediaType string
		status           int
		said             string
	}{
		{s.token("alice"), "application/grpc", 200, "alice <nil>"},
		{s.token("alice"), "application/grpc+proto", 200, "alice <nil>"},
		{"", "application/grpc", 200, " a bearer token is required"},
		{s.token("alice"), "application/json", 404, `"error_code":"NOT_FOUND"`},
	} {
		response := s.callGRPC(test.token, test.mediaType)
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != test.status || !strings.Contains(string(text), test.said) {
			t.Errorf("%s: %d %s, %v", test.mediaType, response.StatusCode, text, err)
		}
	}
	if !strings.Contains(s.log.String(), `"grpc_status":"0"`) {
		t.Errorf("log: %s", s.log)
	}
}

// A client that does not read a stream of gRPC is cut off, and one without news is not.
func TestGRPCReaders(t *testing.T) {
	t.Parallel()
	const timeout = 50 * time.Millisecond
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.WriteTimeout = timeout })
	cut := make(chan error, 1)
	s.agents.grpc = func(w http.ResponseWriter) {
		flush := w.(http.Flusher).Flush
		_, _ = w.Write([]byte("begun"))
		flush()
		time.Sleep(4 * timeout) // nothing happens
		_, _ = w.Write([]byte("goes on"))
		flush()
		text := make([]byte, 1<<20)
		for range 256 {
			if _, err := w.Write(text); err != nil {
				cut <- err
				return
			}
			flush()
		}
		cut <- nil
	}
	response := s.callGRPC(s.token("alice"), "application/grpc")
	text := make([]byte, len("begungoes on"))
	if _, err := io.ReadFull(response.Body, text); err != nil || string(text) != "begungoes on" {
		t.Errorf("%s, %v", text, err)
	}
	if err := <-cut; err == nil {
		t.Error("a client that does not read got all of it")
	}
}
