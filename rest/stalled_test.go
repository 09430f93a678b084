package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/rest"
)

// request sends the headers of a request of a user, with more headers or the beginning of a
// body.
func (w *wire) request(s *service, user, line, more string) {
	w.t.Helper()
	w.say(line + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + s.token(user) + "\r\n" + more)
}

// TestBodiesThatDoNotCome has users send the headers of as many requests as there are slots.
// The server reads their bodies, and others do not wait for them.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	large := []string{"/ingest/shop/orders", "/ingest/new/orders", "/file-upload/prepare"}
	infer := []string{"/data/self/shop/orders/ingest/tables", "/ingest/preview", "/infer/description", "/infer/schema", "/infer/preview"}
	for name, test := range map[string]struct {
		users int
		paths []string
		sent  map[string]string // by another
	}{
		"large": {4, large, map[string]string{large[0]: `{"data":[{"id":1}]}`, large[1]: `{"data":[{"id":1}]}`, large[2]: `{"filesToUpload":[{"filename":"a.csv","size":5}]}`}},
		"infer": {8, infer, map[string]string{"/infer/preview": `{"data":[{"id":1}]}`, "/infer/schema": `{"sample":[{"id":1}]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, sqlstoretest.SQLite(t))
			s.rest.SetQueueTimeout(time.Nanosecond)
			for user := range test.users {
				for i := range 4 {
					w := s.dial(t)
					w.request(s, fmt.Sprint("user", user), "POST "+rest.Root+test.paths[(user+i)%len(test.paths)], "Content-Length: 100\r\nExpect: 100-continue\r\n\r\n")
					// It comes when the server begins to read the body.
					if status, err := w.answers.ReadString('\n'); err != nil || !strings.Contains(status, " 100 ") {
						t.Fatalf("%q, %v", status, err)
					}
				}
			}
			if bodies, large, infer := s.rest.QueueStats(); bodies.Running+large.Running+infer.Running != 0 {
				t.Errorf("slots are held: %+v, %+v, %+v", bodies, large, infer)
			}
			for path, body := range test.sent {
				if got := s.send("alice", http.MethodPost, path, "application/json", body); got.status != http.StatusOK {
					t.Errorf("%s of another: %d %s", path, got.status, got.body)
				}
			}
		})
	}
}

// TestLargeBodiesThatStall has users send the beginnings of as many large bodies as there are
// slots. Others send theirs, large or not.
func TestLargeBodiesThatStall(t *testing.T) {
	t.Parallel()
	const maxBody, size = 1 << 10, 32 << 10
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
		cfg.MaxBody, cfg.MaxAgentBody, cfg.MaxRowsBody = maxBody, 2*size, 2*size
	})
	s.rest.SetQueueTimeout(time.Nanosecond)
	for user := range 4 {
		for _, path := range []string{"/ingest/shop/orders", "/ingest/new/orders", "/a2a/nl2ql", "/a2a/nl2ql/message:send"} {
			s.dial(t).request(s, fmt.Sprint("user", user), "POST "+rest.Root+path, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", size, strings.Repeat(" ", 2*maxBody)))
		}
	}
	waittest.Until(t, "all slots are held", func() bool { bodies, _, _ := s.rest.QueueStats(); return bodies.Running == 16 })
	rows := `{"data":[{"id":1}]}`
	for _, body := range []string{rows, rows + strings.Repeat(" ", size)} {
		if got := s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", body); got.status != http.StatusOK {
			t.Errorf("%d bytes of another: %d %s", len(body), got.status, got.body)
		}
	}
	s.prepare("alice", "a.csv", 5)
	if got, _, _ := s.rest.QueueStats(); got.Running != 16 || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
}

// largeDatasets has downloads that no connection can buffer, except for alice.
type largeDatasets struct {
	rest.Datasets
	path string
}

func (l largeDatasets) Download(ctx context.Context, caller domain.Caller, ref domain.DatasetRef, as domain.Download) (*os.File, error) {
	if caller.Username == "alice" {
		return l.Datasets.Download(ctx, caller, ref, as)
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
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Datasets = largeDatasets{cfg.Datasets, path} })
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

// TestSlowBody sends the begin of a body, and not the rest in time.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	server := httptest.NewUnstartedServer(s.rest)
	server.Config.ReadTimeout = 100 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST %s/ingest/shop/orders HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", rest.Root, s.token("alice"))
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); answer.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), "too slowly") {
		t.Errorf("%s %s %v", answer.Status, text, err)
	}
}
