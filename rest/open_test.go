package rest_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
)

// stalledClient is a client that does not read the response.
type stalledClient struct {
	http.ResponseWriter
	writing func()
	closed  chan struct{}
}

func (c *stalledClient) Write([]byte) (int, error) {
	c.writing()
	<-c.closed
	return 0, http.ErrHandlerTimeout
}

// TestOpenRequests limits the requests that clients hold by not reading, for each address without a token
// and for each user.
func TestOpenRequests(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	request := func(address, user, path string) *http.Request {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.RemoteAddr = address + ":1234"
		if user != "" {
			r.Header.Set("Authorization", "Bearer "+s.token(user))
		}
		return r
	}
	closed := make(chan struct{})
	var ended sync.WaitGroup
	stall := func(count int, address, user, path string) {
		var writing sync.WaitGroup
		for range count {
			writing.Add(1)
			client := &stalledClient{httptest.NewRecorder(), sync.OnceFunc(writing.Done), closed}
			ended.Go(func() { s.rest.ServeHTTP(client, request(address, user, path)) })
		}
		writing.Wait()
	}
	stall(128, "192.0.2.1", "", "/docs")
	stall(128, "[2001:db8::1]", "", "/openapi.yaml")
	stall(1024, "192.0.2.1", "alice", "/api/v1/query/models")
	for _, test := range []struct {
		address, user, path string
		want                int
	}{
		{"192.0.2.1", "", "/docs", http.StatusTooManyRequests},
		{"[2001:db8::2]", "", "/.well-known/agent-card.json", http.StatusTooManyRequests},
		{"[2001:db8:0:1::2]", "", "/docs", http.StatusOK},
		{"192.0.2.2", "", "/docs", http.StatusOK},
		{"192.0.2.1", "", "/healthz", http.StatusOK},
		{"192.0.2.2", "alice", "/api/v1/query/models", http.StatusTooManyRequests},
		{"192.0.2.1", "bob", "/api/v1/query/models", http.StatusOK},
	} {
		got := httptest.NewRecorder()
		if s.rest.ServeHTTP(got, request(test.address, test.user, test.path)); got.Code != test.want {
			t.Errorf("%s of %s %q: %d, want %d", test.path, test.address, test.user, got.Code, test.want)
		}
	}
	close(closed)
	ended.Wait()
	got := httptest.NewRecorder()
	if s.rest.ServeHTTP(got, request("192.0.2.1", "", "/docs")); got.Code != http.StatusOK {
		t.Errorf("afterwards: %d", got.Code)
	}
}
