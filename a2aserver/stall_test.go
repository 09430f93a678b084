package a2aserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

// manyBytes is an agent of more events than a connection holds that is not read.
func manyBytes(begin gate) script {
	piece := strings.Repeat("x", 512<<10)
	return func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if !yield(working(request), nil) {
			return
		}
		begin.wait(ctx)
		for i := range 48 {
			if !yield(artifact(request, fmt.Sprint("part-", i), a2a.NewTextPart(piece)), nil) {
				return
			}
		}
		yield(completed(request), nil)
	}
}

// countHandlers serves a host to alice, and counts the requests under way.
func countHandlers(t *testing.T, h *Host) (*httptest.Server, *atomic.Int64) {
	t.Helper()
	active := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		active.Add(1)
		defer active.Add(-1)
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = h.Call(w, r, alice, "echo", "", body)
		}
		if err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server, active
}

// stall asks for a stream, reads its first event, and nothing after that.
func stall(t *testing.T, server *httptest.Server, body string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewReaderSize(conn, 1<<10); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(line, "data: ") {
			return conn
		}
	}
}

// TestStalledReader has one reader that never reads beside one that does: the
// run ends, and the second has all of it, while the first is still waited for;
// and one who waits too long is cut off, and can come back.
func TestStalledReader(t *testing.T) {
	t.Parallel()
	for name, writeTimeout := range map[string]time.Duration{"waited for": time.Hour, "cut off": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := sqlstoretest.SQLite(t)
			withNamespace(t, store)
			begin := make(gate)
			h := newHost(t, store, manyBytes(begin), func(cfg *Config) { cfg.WriteTimeout = writeTimeout })
			server, active := countHandlers(t, h)
			conn := stall(t, server, rpcText("SendStreamingMessage", toShop("?")))
			listed, _, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 1})
			if err != nil || len(listed) != 1 {
				t.Fatalf("tasks: %v, %v", listed, err)
			}
			runID := listed[0].RunID
			subscribe := func() string {
				response := postAs(t, server, alice, rpcText("SubscribeToTask", map[string]any{"id": runID}), "Last-Event-ID", "0")
				begun := bufio.NewReader(response.Body)
				first, err := read(begun)
				if err != nil {
					t.Fatal(err)
				}
				if first.id == "1" {
					select {
					case <-begin:
					default:
						begin.open()
					}
				}
				all := []sseEvent{first}
				for {
					event, err := read(begun)
					if err == io.EOF {
						return ids(all)
					}
					if err != nil {
						t.Fatalf("%v after %d events", err, len(all))
					}
					all = append(all, event)
				}
			}
			var want []string
			for i := range 50 {
				want = append(want, fmt.Sprint(i+1))
			}
			if got := subscribe(); got != strings.Join(want, " ") {
				t.Errorf("the reader beside it got %s", got)
			}
			if run, err := store.Run(t.Context(), alice, runID); err != nil || run.Status != domain.RunCompleted {
				t.Errorf("run = %+v, %v", run, err)
			}
			if writeTimeout == time.Hour {
				if active.Load() == 0 {
					t.Error("the stalled reader was not one")
				}
				_ = conn.Close()
			}
			waittest.Until(t, "the handler of the stalled reader ends", func() bool { return active.Load() == 0 })
			if got := subscribe(); got != strings.Join(want, " ") {
				t.Errorf("who came back got %s", got)
			}
		})
	}
}
