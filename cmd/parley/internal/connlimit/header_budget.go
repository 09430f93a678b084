package connlimit

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"sync/atomic"
)

const (
	// freeHeaderBytes is how much of a request's headers each connection may send
	// before they count against the budget.
	freeHeaderBytes = 2 << 10
	// headerBudget limits the bytes of unfinished headers of all connections beyond
	// that. Parsed, they take several times as much. Most headers are complete at once
	// and short.
	headerBudget = 1 << 20
)

// errHeaderBudget ends a connection whose unfinished headers exceed the budget.
var errHeaderBudget = errors.New("too many unfinished request headers")

// limitedConn releases its slot when it is closed, and counts the bytes of headers.
type limitedConn struct {
	*net.TCPConn
	release func()
	budget  *atomic.Int64 // shared by all connections
	// over says that it is over the limit.
	over bool
	// resets is how many more requests were reset than answered.
	resets atomic.Int32

	mu sync.Mutex
	// reading says that headers are being read, and read how much of them; taken is
	// what counts against the budget.
	reading     bool
	read, taken int64
	// http2 says that the connection began with the preface of HTTP/2.
	begun, http2 bool
}

// preface is how a connection of HTTP/2 begins.
var preface = []byte("PRI * HTTP/2.0")

// Read implements net.Conn.
func (c *limitedConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if !c.count(p[:n]) {
		return 0, errHeaderBudget
	}
	return n, err
}

// count reports whether what was read fits into the budget.
func (c *limitedConn) count(text []byte) bool {
	n := int64(len(text))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun, c.http2 = true, bytes.HasPrefix(text, preface)
	}
	if !c.reading {
		return true
	}
	c.read += n
	more := max(c.read-freeHeaderBytes, 0) - c.taken
	c.taken += more
	return more == 0 || c.budget.Add(more) <= headerBudget
}

// headers says whether the next bytes are those of headers, and releases what was taken
// of the budget.
func (c *limitedConn) headers(reading bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget.Add(-c.taken)
	c.reading, c.read, c.taken = reading, 0, 0
}

// active says that the connection has a request. With HTTP/1 its headers are to be read;
// with HTTP/2 they were, and a body follows that does not wait for the handler.
func (c *limitedConn) active() {
	c.mu.Lock()
	http2 := c.http2
	c.mu.Unlock()
	if http2 {
		c.headers(false)
	}
}

// countReset counts a request of HTTP/2 that has ended.
func (c *limitedConn) countReset(reset bool) {
	if reset {
		c.resets.Add(1)
	} else if n := c.resets.Load(); n > 0 {
		c.resets.CompareAndSwap(n, n-1) // if another one changes it at the same time, about right
	}
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	c.headers(false)
	defer c.release()
	return c.TCPConn.Close()
}
