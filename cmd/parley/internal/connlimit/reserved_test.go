package connlimit

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"parley/internal/waittest"
)

// Health checks are answered while others hold all connections, and those over the limit too.
func TestHealthChecksOverTheLimit(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const limit = 4
	limited := newListener(listener.(*net.TCPListener), limit, slog.New(slog.DiscardHandler))
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
	limited.Install(server, func(r *http.Request) bool { return r.URL.Path == "/healthz" })
	go func() { _ = server.Serve(limited) }()
	t.Cleanup(func() { _ = server.Close() })
	open := map[net.Conn]bool{}
	dial := func(text string) net.Conn {
		t.Helper()
		conn, err := net.DialTimeout("tcp", listener.Addr().String(), waittest.Limit)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		open[conn] = true
		_, _ = io.WriteString(conn, text)
		return conn
	}
	for range limit + 3*maxReserved {
		dial("GET /slow HTTP/1.1\r\n")
	}
	for _, test := range []struct {
		path   string
		status int
	}{{"/healthz", http.StatusOK}, {"/other", http.StatusServiceUnavailable}, {"/healthz", http.StatusOK}} {
		response, err := http.ReadResponse(bufio.NewReader(dial("GET "+test.path+" HTTP/1.1\r\nHost: x\r\n\r\n")), nil)
		if err != nil {
			t.Fatalf("%s: %v", test.path, err)
		}
		if response.StatusCode != test.status || !response.Close {
			t.Errorf("%s: %d, to be closed: %t", test.path, response.StatusCode, response.Close)
		}
	}
	if used := len(limited.open); used != limit {
		t.Errorf("%d connections have a slot", used)
	}
	for conn := range open {
		_ = conn.Close()
	}
	waittest.Until(t, "all slots are free", func() bool {
		limited.unread.mu.Lock()
		defer limited.unread.mu.Unlock()
		return len(limited.open)+len(limited.reserved)+len(limited.lingering)+len(limited.unread.since) == 0
	})
	if used := limited.headerBytes.Load(); used != 0 {
		t.Errorf("%d bytes of the budget are still in use", used)
	}
}
