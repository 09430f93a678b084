package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
)

// TestStalledReaders has clients ask for large answers and read none of them:
// their runs end all the same, and others are served. The kernel may hold all of
// an answer; more than that is sent in a2aserver's TestStalledReader.
func TestStalledReaders(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), nil, "--log-level", "warn")
	c := client{p, p.token("alice")}
	c.ask("POST", "/ingest/new/shop/orders", nil, nil)
	var rows []object
	for i := range 900 {
		rows = append(rows, object{"id": i, "note": strings.Repeat("x", 1000)})
	}
	if status := c.ask("POST", "/ingest/shop/orders", object{"data": rows}, nil); status != 200 {
		t.Fatalf("rows: %d", status)
	}
	q := probe{agent: "nl2ql", text: "Show the note of all orders"}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": said(q.text)})
	if err != nil {
		t.Fatal(err)
	}
	const stalled = 16
	for range stalled {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(conn, "POST /api/v1/a2a/nl2ql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", c.token, len(body), body); err != nil {
			t.Fatal(err)
		}
	}
	service := &fallible{t: t, token: c.token, where: func() *process { return p }}
	s := &stream{probe: q}
	if !service.read(s) || s.cuts != 0 || len(s.events) != 4 || len(s.events[2]) < 800_000 {
		t.Errorf("the reader beside them got %d events, %s", len(s.events), s.shape())
	}
	eventually(t, func() bool {
		var all struct{ TotalSize int }
		service.result("nl2ql", "ListTasks", object{"status": "TASK_STATE_COMPLETED", "pageSize": 1}, &all)
		return all.TotalSize == stalled+1
	})
}
