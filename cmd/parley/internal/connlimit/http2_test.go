package connlimit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"parley/cmd/parley/e2e/helpers/waittest"
)

// serveHTTP2 starts a server for HTTP/2 with a limited listener. around, unless nil, is called
// with the installed handler.
func serveHTTP2(t *testing.T, handle http.HandlerFunc, around func(http.Handler) http.Handler) (*Listener, *http.Protocols) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := newListener(listener.(*net.TCPListener), 64, slog.New(slog.DiscardHandler))
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: handle}
	limited.Install(server, func(*http.Request) bool { return false })
	if around != nil {
		server.Handler = around(server.Handler)
	}
	go func() { _ = server.Serve(limited) }()
	t.Cleanup(func() { _ = server.Close() })
	return limited, protocols
}

// TestBodiesOfHTTP2 sends bodies that are larger than the budget of headers, by many
// connections at once: they do not wait for the handler, and are not headers.
func TestBodiesOfHTTP2(t *testing.T) {
	t.Parallel()
	limited, protocols := serveHTTP2(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }, nil)
	body := bytes.Repeat([]byte("x"), headerBudget)
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
			defer client.CloseIdleConnections()
			for range 4 {
				response, err := client.Post("http://"+limited.Addr().String(), "text/plain", bytes.NewReader(body))
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

// TestResets resets requests before their handlers start: none is handled, and the connection
// is closed when more are reset than answered.
func TestResets(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	limited, _ := serveHTTP2(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/reset" {
			t.Error("a reset request was handled")
		}
	}, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/reset" {
				<-r.Context().Done() // as if it had waited for a processor until then
			}
			next.ServeHTTP(w, r)
			ended <- struct{}{}
		})
	})
	conn, err := net.DialTimeout("tcp", limited.Addr().String(), waittest.Limit)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(waittest.Limit)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	var headers bytes.Buffer
	encoder := hpack.NewEncoder(&headers)
	stream := uint32(1)
	send := func(path string) {
		headers.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "http"}, {":authority", "parley"}, {":path", path}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: headers.Bytes(), EndStream: true, EndHeaders: true})
		if path == "/reset" {
			err = errors.Join(err, framer.WriteRSTStream(stream, http2.ErrCodeCancel))
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-ended:
		case <-time.After(waittest.Limit):
			t.Fatal("the request does not end")
		}
		stream += 2
	}
	for range 2 * maxResets {
		send("/reset")
		send("/asked")
	}
	answered := stream
	for range maxResets + 1 {
		send("/reset")
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("no GOAWAY: %v", err)
		}
		if goAway, ok := frame.(*http2.GoAwayFrame); ok {
			if goAway.LastStreamID <= answered {
				t.Errorf("closed after stream %d, before %d", goAway.LastStreamID, answered)
			}
			return
		}
	}
}
