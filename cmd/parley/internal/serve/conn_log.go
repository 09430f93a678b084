package serve

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// connLogLines is how many lines about connections are logged as warnings in connLogWindow.
const (
	connLogLines  = 10
	connLogWindow = time.Minute
)

// connLog logs what net/http has to say about connections. Any client can cause such a line with
// each connection, so those beyond a rate are at the debug level, and are counted. Lines about
// the server are warnings.
type connLog struct {
	log *slog.Logger

	mu    sync.Mutex
	since time.Time
	lines int
	// left is how many lines were not logged as warnings since the last one.
	left int
}

// Write implements io.Writer for one line.
func (c *connLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	// These are not about one connection.
	if strings.HasPrefix(text, "http: Accept error") || strings.HasPrefix(text, "http: panic") {
		c.log.Warn("HTTP server failed", "error", text)
		return len(line), nil
	}
	level, args := slog.LevelWarn, []any{"error", text}
	c.mu.Lock()
	if now := time.Now(); now.Sub(c.since) >= connLogWindow {
		c.since, c.lines = now, 0
	}
	switch c.lines++; {
	case c.lines > connLogLines:
		level = slog.LevelDebug
		c.left++
	case c.left > 0:
		args = append(args, "omitted", c.left)
		c.left = 0
	}
	c.mu.Unlock()
	c.log.Log(context.Background(), level, "connection failed", args...)
	return len(line), nil
}
