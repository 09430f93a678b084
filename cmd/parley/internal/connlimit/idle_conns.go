package connlimit

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// idleConns are connections that wait for a request.
type idleConns struct {
	mu sync.Mutex
	// since numbers them in the order in which they became idle.
	since map[*limitedConn]uint64
	next  uint64
}

// set records whether a connection is idle.
func (c *idleConns) set(conn *limitedConn, idle bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !idle {
		delete(c.since, conn)
		return
	}
	if c.since == nil {
		c.since = map[*limitedConn]uint64{}
	}
	c.next++
	c.since[conn] = c.next
}

// takeOldest removes and returns the connection that has been idle longest; nil for none.
func (c *idleConns) takeOldest() *limitedConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *limitedConn
	for conn, since := range c.since {
		if oldest == nil || since < c.since[oldest] {
			oldest = conn
		}
	}
	delete(c.since, oldest)
	return oldest
}

// take removes a connection, false when it is not among them.
func (c *idleConns) take(conn *limitedConn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, found := c.since[conn]
	delete(c.since, conn)
	return found
}

type connKey struct{}

// maxResets is how many more requests of an HTTP/2 connection may be reset than answered.
const maxResets = 100

// Install makes a server report the state of its connections: when the headers of a
// request have been read, when those of the next one begin, and which are idle. A request
// that was reset before its handler starts is not handled, and a connection whose client
// resets more than it lets be answered is closed when its open requests end. On a
// connection over the limit, it answers only one request, and only a health check of HTTP/1
// without a body: others can hold the connection after their answer.
func (l *Listener) Install(server *http.Server, isHealthCheck func(*http.Request) bool) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c, ok := conn.(*limitedConn)
		if !ok {
			return
		}
		switch state {
		case http.StateIdle:
			c.headers(true)
		case http.StateActive:
			c.active()
		}
		if state == http.StateClosed {
			l.unread.take(c)
		}
		l.idle.set(c, state == http.StateIdle && !c.over)
	}
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
			c.headers(false)
			if r.ProtoMajor == 2 {
				defer func() { c.countReset(r.Context().Err() != nil) }()
				if c.resets.Load() >= maxResets {
					w.Header().Set("Connection", "close") // net/http sends GOAWAY
				}
				if r.Context().Err() != nil {
					return
				}
			}
			if c.over && !l.unread.take(c) {
				panic(http.ErrAbortHandler) // it has been refused, or has had its request
			}
			if c.over && (r.ProtoMajor != 1 || r.ContentLength != 0 || !isHealthCheck(r)) {
				l.refuseRequest(w, c)
				return
			}
			if c.over {
				w.Header().Set("Connection", "close")
			}
		}
		next.ServeHTTP(w, r)
	})
}

// refuseRequest refuses a connection whose request has been read. The server would read the
// body before it closes the connection.
func (l *Listener) refuseRequest(w http.ResponseWriter, c *limitedConn) {
	if _, _, err := http.NewResponseController(w).Hijack(); err != nil {
		_ = c.Close() // it is of HTTP/2
		return
	}
	l.refuse(c.TCPConn)
	c.release()
}
