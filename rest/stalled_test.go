package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/rest"
	"parley/storage"
	"parley/storage/sqlstore/sqlstoretest"
)

// request sends the headers of a request of a user, with more headers or the beginning of a
// body.
func (w *wire) request(s *service, user, line, more string) {
	w.t.Helper()
	w.say(line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.token(user) + "\r\n" + more)
}

// largeLake has downloads that no connection can buffer, except for alice.
type largeLake struct {
	rest.Lake
	path string
}

func (l largeLake) Download(ctx context.Context, caller storage.Caller, ref storage.DatasetRef, as storage.Download) (*os.File, error) {
	if caller.Username == "alice" {
		return l.Lake.Download(ctx, caller, ref, as)
	}
	return os.Open(l.path)
}

// TestDownloadsThatAreNotRead has users open as many downloads as there are slots and not read
// them. Another's does not wait.
func TestDownloadsThatAreNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<30); err != nil {
		t.Fatal(err)
	}
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Lake = largeLake{cfg.Lake, path} })
	s.rest.SetQueueTimeout(time.Nanosecond)
	s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", `{"data":[{"item":"plum"}]}`)
	download := rest.Root + "/data/alice/shop/orders/download"
	for user := range 4 {
		for range 4 {
			w := s.dial(t)
			_ = w.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			w.answers = bufio.NewReaderSize(w.Conn, 16)
			w.request(s, fmt.Sprint("user", user), "GET "+download, "\r\n")
			if status, err := w.answers.ReadString('\n'); err != nil || !strings.Contains(status, " 200 ") {
				t.Fatalf("%q, %v", status, err)
			}
		}
	}
	if got := s.rest.DownloadStats(); got.Running != 16 {
		t.Errorf("%+v", got)
	}
	if got := s.send("alice", http.MethodGet, "/data/alice/shop/orders/download", "", ""); got.status != http.StatusOK {
		t.Errorf("another's: %d %s", got.status, got.body)
	}
}
