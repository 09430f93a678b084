// Package connlimit is a listener that limits the cost of connections before their users
// are known: their number, and the memory of unfinished headers.
package connlimit

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxConnections bounds the connections whatever the descriptor limit is: each
	// costs about 20 KiB before a request is read.
	maxConnections = 16_384
	// reservedDescriptors are kept for the database, workers, files and calls to
	// other services.
	reservedDescriptors = 256
	// maxLingering is how many refused connections wait for their clients to read
	// the refusal.
	maxLingering = 16
	// maxReserved is how many connections over the limit are served at a time for a health check
	// each, so that it is answered while others hold all connections.
	maxReserved = 16
	// refuseTimeout is how long a client may take to read a refusal.
	refuseTimeout = time.Second
	// acceptRetry is the pause after a connection could not be accepted.
	acceptRetry = 50 * time.Millisecond
	// refusalLogInterval is how often refused connections are logged at most.
	refusalLogInterval = 10 * time.Second
)

// refusal is the answer to a connection that is over the limit.
var refusal = []byte("HTTP/1.1 503 Service Unavailable\r\n" +
	"Connection: close\r\n" +
	"Content-Type: application/json; charset=utf-8\r\n" +
	"Retry-After: 2\r\n" +
	"\r\n" +
	`{"error_code":"UNAVAILABLE","message":"the server has too many connections; try again shortly","error_message":"","sub_errors":[]}` + "\n")

// connectionLimit is how many connections a process with a descriptor limit
// serves: all but the reserve, or half where there are few descriptors.
func connectionLimit(descriptors uint64) int {
	descriptors = min(descriptors, maxConnections+reservedDescriptors)
	return max(int(descriptors)-reservedDescriptors, int(descriptors)/2)
}

// Listener accepts a limited number of connections, and closes idle ones for new ones.
// Others are answered 503, so that balancers and clients can try another server; in the
// kernel's backlog they would wait for as long as an attacker likes. Only health checks are
// answered on them: see Install. A connection that has sent no request yet makes room for the
// next. Connections for which there is no descriptor are answered 503 too.
type Listener struct {
	*net.TCPListener
	*limits
	log *slog.Logger
	// spare is a descriptor to accept a connection with when there is no other; nil if
	// none could be opened. Accept alone, which one goroutine calls, uses it and
	// lastLogged.
	spare      io.Closer
	lastLogged time.Time
}

// limits are those of the connections of a process.
type limits struct {
	// headerBytes is what unfinished headers take of headerBudget.
	headerBytes atomic.Int64
	idle        idleConns
	// unread are the connections over the limit whose request has not been read; reserved has
	// a slot for each connection over the limit.
	unread   idleConns
	reserved chan struct{}
	// open and lingering have a slot for each connection.
	open, lingering chan struct{}
}

// New returns a listener that accepts as many connections of another as the process
// has descriptors for.
func New(listener *net.TCPListener, log *slog.Logger) *Listener {
	return newListener(listener, connectionLimit(descriptorLimit()), log)
}

func newListener(listener *net.TCPListener, limit int, log *slog.Logger) *Listener {
	return &Listener{
		TCPListener: listener, log: log, spare: openSpare(),
		limits: &limits{
			open: make(chan struct{}, limit), lingering: make(chan struct{}, maxLingering), reserved: make(chan struct{}, maxReserved),
		},
	}
}

// Also returns a listener for the connections of another one, within the same limits.
func (l *Listener) Also(listener *net.TCPListener) *Listener {
	return &Listener{TCPListener: listener, log: l.log, spare: openSpare(), limits: l.limits}
}

// openSpare opens a file that takes a descriptor; nil if there is none left.
func openSpare() io.Closer {
	file, err := os.Open(os.DevNull)
	if err != nil {
		return nil
	}
	return file
}

// Accept implements net.Listener. It fails only when the listener is closed.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil, err
		case err != nil:
			l.warn("accept failed", "error", err)
			l.acceptWithSpare(err)
			continue
		}
		limited := &limitedConn{TCPConn: conn, budget: &l.headerBytes, reading: true}
		switch {
		case l.takeSlot():
			limited.release = sync.OnceFunc(func() { <-l.open })
		case l.reserve():
			l.warn("connection limit reached, connections refused", "limit", cap(l.open))
			limited.release = sync.OnceFunc(func() { <-l.reserved })
			limited.over = true
			l.unread.set(limited, true)
		default:
			l.refuse(conn)
			continue
		}
		return limited, nil
	}
}

// reserve takes a slot for a connection over the limit, false when all have a request that is
// being answered. If there is none, it refuses the connection that has waited longest for its
// request.
func (l *Listener) reserve() bool {
	for {
		select {
		case l.reserved <- struct{}{}:
			return true
		default:
		}
		longest := l.unread.takeOldest()
		if longest == nil {
			return false
		}
		longest.headers(false)
		l.refuse(longest.TCPConn)
		longest.release()
	}
}

// takeSlot takes a slot for a connection. If there is none, it closes the connection that
// has been idle longest: clients expect that, and open connections keep nobody out.
func (l *Listener) takeSlot() bool {
	for {
		select {
		case l.open <- struct{}{}:
			return true
		default:
		}
		longest := l.idle.takeOldest()
		if longest == nil {
			return false
		}
		_ = longest.Close()
	}
}

// acceptWithSpare refuses one connection with the spare descriptor if Accept failed for
// lack of descriptors, and waits a moment after any other failure.
func (l *Listener) acceptWithSpare(failure error) {
	if l.spare == nil || !errors.Is(failure, syscall.EMFILE) && !errors.Is(failure, syscall.ENFILE) {
		time.Sleep(acceptRetry)
	} else {
		_ = l.spare.Close()
		l.spare = nil
		// The connection may be gone by now: the next one must not be refused.
		_ = l.SetDeadline(time.Now().Add(acceptRetry))
		if conn, err := l.AcceptTCP(); err == nil {
			l.refuse(conn)
		}
		_ = l.SetDeadline(time.Time{})
	}
	if l.spare == nil {
		l.spare = openSpare()
	}
}

// refuse answers a connection and closes it. The answer fits into the socket's
// buffer: writing it does not wait.
func (l *Listener) refuse(conn *net.TCPConn) {
	_ = conn.SetDeadline(time.Now().Add(refuseTimeout))
	_, _ = conn.Write(refusal)
	select {
	case l.lingering <- struct{}{}:
		go func() {
			defer func() { <-l.lingering }()
			linger(conn)
		}()
	default:
		_ = conn.Close()
	}
}

// linger closes a connection when the client has read the answer, or after the deadline.
// Closed with an unread request, the connection would be reset and the answer lost.
func linger(conn *net.TCPConn) {
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// warn logs at most one message per refusalLogInterval.
func (l *Listener) warn(message string, args ...any) {
	if now := time.Now(); now.Sub(l.lastLogged) >= refusalLogInterval {
		l.lastLogged = now
		l.log.Warn(message, args...)
	}
}
