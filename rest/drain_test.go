package rest_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/rest"
)

// wire is a connection on which a test says each byte.
type wire struct {
	net.Conn
	t       *testing.T
	answers *bufio.Reader
}

func (s *service) dial(t *testing.T) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(waittest.Limit))
	return &wire{conn, t, bufio.NewReader(conn)}
}

// say writes all of a text.
func (w *wire) say(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.t.Fatalf("the server does not listen: %v", err)
	}
}

// hear reads an answer, and gives its status.
func (w *wire) hear() int {
	w.t.Helper()
	response, err := http.ReadResponse(w.answers, nil)
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		w.t.Fatalf("half an answer: %v", err)
	}
	return response.StatusCode
}

// TestRefusalIsHeard sends large requests that are refused, all of each before it
// looks for the answer, and goes on with the same connection.
func TestRefusalIsHeard(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	part, err := url.Parse(s.prepare("alice", "a.csv", 8<<20).Files[0].PresignedURLs[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	rows := "POST " + rest.Root + "/ingest/shop/rows"
	token := "Authorization: Bearer " + s.token("alice") + "\r\n"
	const size = 17 << 20
	length := fmt.Sprintf("Content-Length: %d\r\n", size)
	body := strings.Repeat("x", size)
	chunked := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", size, body)
	for name, test := range map[string]struct {
		line, headers, body string
		want                int
	}{
		"too many rows":         {rows, token + length, body, http.StatusRequestEntityTooLarge},
		"too many rows, chunks": {rows, token + "Transfer-Encoding: chunked\r\n", chunked, http.StatusRequestEntityTooLarge},
		"another media type":    {rows, token + "Content-Type: image/png\r\n" + length, body, http.StatusUnsupportedMediaType},
		"no token":              {rows, length, body, http.StatusUnauthorized},
		"no such path":          {"POST /elsewhere", length, body, http.StatusNotFound},
		"an agent":              {"POST " + rest.Root + "/a2a/nl2ql", token + length, body, http.StatusRequestEntityTooLarge},
		"a large part":          {"PUT " + part.RequestURI(), length, body, http.StatusUnprocessableEntity},
		"a tampered address":    {"PUT " + part.RequestURI() + "x", length, body, http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := s.dial(t)
			for range 2 {
				w.say(test.line + " HTTP/1.1\r\nHost: x\r\n" + test.headers + "\r\n" + test.body)
				if got := w.hear(); got != test.want {
					t.Errorf("%d", got)
				}
			}
		})
	}
}

// TestRefusalComesAtOnce looks for the answer before a request is sent whole.
func TestRefusalComesAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, headers := range []string{
		"Content-Length: 20000000\r\n\r\nthe beginning",
		"Content-Length: 20000000000\r\n\r\nthe beginning",
		"Content-Length: 20000000\r\nExpect: 100-continue\r\n\r\n",
	} {
		w := s.dial(t)
		w.say("POST " + rest.Root + "/ingest/shop/rows HTTP/1.1\r\nHost: x\r\n" + headers)
		if got := w.hear(); got != http.StatusUnauthorized {
			t.Errorf("%d", got)
		}
		_ = w.Close()
	}
}
