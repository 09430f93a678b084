// Package connlimit is a listener that bounds what connections cost before it is known
// whose they are: how many there are, and the memory of their unfinished headers.
package connlimit

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
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
	// refuseTimeout is how long a client may take to read a refusal.
	refuseTimeout = time.Second
	// acceptRetry is the pause after a connection could not be accepted.
	acceptRetry = 50 * time.Millisecond
	// refusalLogInterval is how often refused connections are logged at most.
	refusalLogInterval = 10 * time.Second
)

const refusedBody = `{"error_code":"UNAVAILABLE","message":"the server has too many connections; try again shortly","error_message":"","sub_errors":[]}` + "\n"

// refusal is the answer to a connection that is over the limit. Its request is
// not read.
var refusal = []byte("HTTP/1.1 503 Service Unavailable\r\n" +
	"Connection: close\r\n" +
	"Content-Type: application/json; charset=utf-8\r\n" +
	"Retry-After: 2\r\n" +
	"\r\n" + refusedBody)

// connectionLimit is how many connections a process with a descriptor limit
// serves: all but the reserve, or half where there are few descriptors.
func connectionLimit(descriptors uint64) int {
	descriptors = min(descriptors, maxConnections+reservedDescriptors)
	return max(int(descriptors)-reservedDescriptors, int(descriptors)/2)
}

// Listener accepts up to limit connections at a time, for which it closes idle
// ones. Others are answered 503 at once, so that balancers and clients can go elsewhere; in the kernel's
// backlog they would wait for as long as an attacker likes. Running out of
// descriptors is answered in the same way, and passes.
type Listener struct {
	*net.TCPListener
	log     *slog.Logger
	headers headerLimiter
	idle    idleConns
	// open and lingering have a slot for each connection.
	open, lingering chan struct{}
	// spare is a descriptor to accept a connection with when there is no other; nil
	// when there was none to be had. It, and lastLogged, are used by Accept alone,
	// which one goroutine calls.
	spare      io.Closer
	lastLogged time.Time
}

// New returns a listener that accepts as many connections of another as the process
// has descriptors for.
func New(listener *net.TCPListener, log *slog.Logger) *Listener {
	return newListener(listener, connectionLimit(descriptorLimit()), log)
}

func newListener(listener *net.TCPListener, limit int, log *slog.Logger) *Listener {
	return &Listener{
		TCPListener: listener, log: log, spare: openSpare(),
		open: make(chan struct{}, limit), lingering: make(chan struct{}, maxLingering),
	}
}

// openSpare gives a file that takes a descriptor; nil when there is none left.
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
		if !l.takeSlot() {
			l.warn("connection limit reached, connections refused", "limit", cap(l.open))
			l.refuse(conn)
			continue
		}
		return l.headers.wrap(&limitedConn{TCPConn: conn, release: sync.OnceFunc(func() { <-l.open })}), nil
	}
}

// takeSlot takes a slot for a connection. When there is none, the connection that
// has been idle longest is closed for it: clients expect that of idle ones, and
// nobody can keep others out by holding connections open.
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

// acceptWithSpare refuses one connection by means of the spare descriptor where it
// was descriptors that Accept lacked, and waits a moment after any other failure.
func (l *Listener) acceptWithSpare(lacked error) {
	if l.spare == nil || !errors.Is(lacked, syscall.EMFILE) && !errors.Is(lacked, syscall.ENFILE) {
		time.Sleep(acceptRetry)
	} else {
		_ = l.spare.Close()
		l.spare = nil
		// The connection may be gone by now: whoever comes next is not to be refused.
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

// linger closes a connection when the client has read the answer, or its time is
// over. Closed with a request unread, the connection would be reset, and the
// answer lost.
func linger(conn *net.TCPConn) {
	_ = conn.CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// warn logs a refusal, unless one was logged just now.
func (l *Listener) warn(message string, args ...any) {
	if now := time.Now(); now.Sub(l.lastLogged) >= refusalLogInterval {
		l.lastLogged = now
		l.log.Warn(message, args...)
	}
}

// limitedConn gives its slot back when it is closed.
type limitedConn struct {
	*net.TCPConn
	release func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
