package apiclient

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAskAtOtherPorts has a question that nothing has accepted fail at once.
func TestAskAtOtherPorts(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		address string
		breaks  int
		is      func(error) bool
	}{
		"the wrong scheme": {strings.Replace(server.URL, "http:", "https:", 1), 0, Unavailable},
		"no HTTP":          {"http://" + speaks(t, "220 mail\r\n"), 1, Unavailable},
		"no HTTPS":         {"https://" + speaks(t, ""), 0, Unavailable},
		"no answer":        {"http://" + speaks(t, ""), 1, Unavailable},
		"another server":   {server.URL, 0, isForeign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var failed error
			breaks := 0
			for _, err := range New(test.address, "token", 1).Agent("nl2ql").Ask(t.Context(), NewQuestion("How many?", "shop"), func(error) { breaks++ }) {
				failed = err
			}
			if failed == nil || !test.is(failed) || breaks != test.breaks {
				t.Errorf("%v after %d breaks", failed, breaks)
			}
		})
	}
}

// speaks listens on a port, and answers each connection with a text after its first bytes.
func speaks(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1))
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
