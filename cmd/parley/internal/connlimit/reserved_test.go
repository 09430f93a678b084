package connlimit

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
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
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}
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
	const healthz = "GET /healthz HTTP/1.1\r\nHost: x\r\n"
	for _, test := range []struct {
		headers string
		times   int
		status  int
	}{
		{healthz, 1, http.StatusOK},
		{"GET /other HTTP/1.1\r\nHost: x\r\n", 1, http.StatusServiceUnavailable},
		{healthz, 1, http.StatusOK},
		// Bodies that never come.
		{"POST /other HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n", 2 * maxReserved, http.StatusServiceUnavailable},
		{healthz + "Content-Length: 1000000\r\n", 2 * maxReserved, http.StatusServiceUnavailable},
		{healthz, 1, http.StatusOK},
	} {
		for range test.times {
			response, err := http.ReadResponse(bufio.NewReader(dial(test.headers+"\r\n")), nil)
			if err != nil {
				t.Fatalf("%s: %v", test.headers, err)
			}
			if response.StatusCode != test.status || !response.Close {
				t.Errorf("%s: %d, to be closed: %t", test.headers, response.StatusCode, response.Close)
			}
		}
	}
	http2 := &http.Transport{Protocols: new(http.Protocols)}
	http2.Protocols.SetUnencryptedHTTP2(true)
	if response, err := (&http.Client{Transport: http2}).Get("http://" + listener.Addr().String() + "/healthz"); err == nil {
		_ = response.Body.Close()
		t.Errorf("HTTP/2: %d", response.StatusCode)
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
