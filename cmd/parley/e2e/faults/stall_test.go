package faults

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestStalledReaders has clients ask for large answers and read none of them:
// their runs end all the same, and others are served. The kernel may hold all of
// an answer; more than that is sent in a2aserver's TestStalledReader.
func TestStalledReaders(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil, "--log-level", "warn")
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	var rows []e2etest.Object
	for i := range 900 {
		rows = append(rows, e2etest.Object{"id": i, "note": fmt.Sprint(i, strings.Repeat("x", 1000))})
	}
	if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": rows}, nil); status != 200 {
		t.Fatalf("rows: %d", status)
	}
	q := e2etest.Probe{Agent: "nl2ql", Text: "Show the note of all orders"}
	const stalled = 16
	for range stalled {
		body, err := json.Marshal(e2etest.Object{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": e2etest.QuestionParams(q.Text)})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST /api/v1/a2a/nl2ql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.Token, len(body), body); err != nil {
			t.Fatal(err)
		}
	}
	service := &e2etest.Fallible{T: t, Token: c.Token, Where: func() *e2etest.Process { return p }}
	s := &e2etest.Stream{Probe: q}
	if !service.Read(s) || s.Cuts != 0 || len(s.Events) != 4 || len(s.Events[2]) < 800_000 {
		t.Errorf("the reader beside them got %d events, %s", len(s.Events), s.Shape())
	}
	count := func(state string) int {
		var all struct{ TotalSize int }
		service.Result("nl2ql", "ListTasks", e2etest.Object{"status": "TASK_STATE_" + state, "pageSize": 1}, &all)
		return all.TotalSize
	}
	e2etest.Eventually(t, func() bool { return count("COMPLETED")+count("FAILED") == stalled+1 })
	if failed := count("FAILED"); failed != 0 {
		t.Errorf("%d runs failed", failed)
	}
}
