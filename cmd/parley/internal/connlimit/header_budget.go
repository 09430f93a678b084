package connlimit

import (
	"errors"
	"sync"
	"sync/atomic"
)

const (
	// freeHeaderBytes is what each connection may send of a request's headers before
	// they count against the budget.
	freeHeaderBytes = 2 << 10
	// headerBudget is how many bytes of unfinished headers all connections together
	// may send beyond that. Parsed, they take several times as much.
	headerBudget = 1 << 20
)

// errHeaderBudget ends a connection whose unfinished headers find no room.
var errHeaderBudget = errors.New("too many unfinished request headers")

// headerLimiter bounds the memory that requests take before it is known whose they
// are: most headers are complete at once and short; the rest share a budget.
type headerLimiter struct{ used atomic.Int64 }

// meteredConn counts what is read of a request's headers.
type meteredConn struct {
	*limitedConn
	limiter *headerLimiter

	mu sync.Mutex
	// reading says that headers are being read, and read how much of them; taken is
	// what counts against the budget.
	reading     bool
	read, taken int64
}

func (l *headerLimiter) wrap(conn *limitedConn) *meteredConn {
	return &meteredConn{limitedConn: conn, limiter: l, reading: true}
}

// Read implements net.Conn.
func (c *meteredConn) Read(p []byte) (int, error) {
	n, err := c.limitedConn.Read(p)
	if !c.count(int64(n)) {
		return 0, errHeaderBudget
	}
	return n, err
}

// count reports whether what was read fits into the budget.
func (c *meteredConn) count(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reading {
		return true
	}
	c.read += n
	more := max(c.read-freeHeaderBytes, 0) - c.taken
	c.taken += more
	return more == 0 || c.limiter.used.Add(more) <= headerBudget
}

// headers says whether the next bytes are those of headers. What was taken of the
// budget is given back.
func (c *meteredConn) headers(reading bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limiter.used.Add(-c.taken)
	c.reading, c.read, c.taken = reading, 0, 0
}

// Close implements net.Conn.
func (c *meteredConn) Close() error {
	c.headers(false)
	return c.limitedConn.Close()
}
