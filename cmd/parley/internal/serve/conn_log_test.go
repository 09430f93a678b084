package serve

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnLog counts the lines in the log of a server to which many clients connect that send
// nothing of use.
func TestConnLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		lines := newServer(new(Command), nil, slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo}))).ErrorLog
		failed := func(n int) {
			for range n {
				lines.Printf("timeout waiting for SETTINGS frames from %v", "127.0.0.1:1")
			}
		}
		failed(1000)
		if n := strings.Count(text.String(), "level=WARN"); n != connLogLines {
			t.Errorf("%d lines", n)
		}
		if !strings.Contains(text.String(), `msg="connection failed" error="timeout waiting for SETTINGS frames from 127.0.0.1:1"`) {
			t.Error(text.String())
		}
		lines.Printf("http: Accept error: too many open files; retrying")
		lines.Printf("http: panic serving 127.0.0.1:1: a fault")
		if n := strings.Count(text.String(), `msg="HTTP server failed"`); n != 2 {
			t.Errorf("%d lines about the server", n)
		}
		text.Reset()
		time.Sleep(connLogWindow)
		failed(2)
		if got := text.String(); strings.Count(got, "level=WARN") != 2 || strings.Count(got, "omitted=990") != 1 {
			t.Error(got)
		}
	})
}
