package connlimit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
)

// TestBodiesOfHTTP2 sends bodies that are larger than the budget of headers, by many
// connections at once: they do not wait for the handler, and are not headers.
func TestBodiesOfHTTP2(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newListener(listener.(*net.TCPListener), 64, slog.New(slog.DiscardHandler))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})}
	limited.Install(server, func(*http.Request) bool { return false })
	go func() { _ = server.Serve(limited) }()
	t.Cleanup(func() { _ = server.Close() })
	body := bytes.Repeat([]byte("x"), headerBudget)
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
			defer client.CloseIdleConnections()
			for range 4 {
				response, err := client.Post("http://"+listener.Addr().String(), "text/plain", bytes.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				if err != nil || len(text) != len(body) || response.ProtoMajor != 2 {
					t.Errorf("%s: %d bytes, %v", response.Proto, len(text), err)
				}
			}
		})
	}
	clients.Wait()
	if used := limited.headerBytes.Load(); used != 0 {
		t.Errorf("%d bytes of the budget are still in use", used)
	}
}
