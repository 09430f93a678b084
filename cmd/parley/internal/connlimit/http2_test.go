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
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"parley/internal/waittest"
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

// TestEarlyResets resets requests before their handlers start: none is handled, and the
// connection is closed.
func TestEarlyResets(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newListener(listener.(*net.TCPListener), 64, slog.New(slog.DiscardHandler))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	handled := make(chan string, 1)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		handled <- r.URL.Path
	})}
	limited.Install(server, func(*http.Request) bool { return false })
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			<-r.Context().Done() // as if it had waited for a processor until then
		}
		next.ServeHTTP(w, r)
	})
	go func() { _ = server.Serve(limited) }()
	t.Cleanup(func() { _ = server.Close() })
	conn, err := net.DialTimeout("tcp", listener.Addr().String(), waittest.Limit)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(waittest.Limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	stream := uint32(1)
	open := func(path string) {
		headers.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "parley"}, {":path", path}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
			t.Fatal(err)
		}
		stream += 2
	}
	for range maxEarlyResets {
		open("/reset")
		if err := framer.WriteRSTStream(stream-2, http2.ErrCodeCancel); err != nil {
			t.Fatal(err)
		}
	}
	open("/asked")
	if path := <-handled; path != "/asked" {
		t.Fatalf("%s was handled", path)
	}
	open("/reset")
	if err := framer.WriteRSTStream(stream-2, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("no GOAWAY: %v", err)
		}
		if _, ok := frame.(*http2.GoAwayFrame); ok {
			return
		}
	}
}
