// Package pgconn opens connections of lib/pq whose operations end with their context, also
// when PostgreSQL does not answer.
package pgconn

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

const (
	// connectTimeout limits the time until statements can be sent.
	connectTimeout = 10 * time.Second
	// cancelTimeout limits the request to cancel a statement, which delays the caller of the
	// statement.
	cancelTimeout = time.Second
	// listenAnswer is how long the server may take to answer on a listening connection.
	listenAnswer = 5 * time.Second
)

// sessionSettings make the server detect a lost client, and release the locks of its
// transaction.
const sessionSettings = `
SET idle_in_transaction_session_timeout = '60s';
SET tcp_keepalives_idle = 30;
SET tcp_keepalives_interval = 10;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = '60s'`

// Connector opens connections whose operations end with their context. lib/pq alone asks the
// server to cancel a statement and waits for the answer, which may never arrive.
type Connector struct {
	*pq.Connector
	// Settings are statements that are run first on each connection, after those of the
	// package.
	Settings string
}

// Connect implements driver.Connector.
func (c Connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	d := &guardedDialer{}
	own := *c.Connector
	own.Dialer(d)
	opened, err := own.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	conn := &connection{opened.(pqConn), d}
	if err := d.established(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := conn.ExecContext(ctx, sessionSettings+c.Settings, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// pqConn has the interfaces of a connection of lib/pq.
type pqConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type connection struct {
	pqConn
	dialer *guardedDialer
}

// BeginTx ends with the context, also while it sends the first statement.
func (c *connection) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	stop := context.AfterFunc(ctx, c.dialer.interrupt)
	tx, err := c.pqConn.BeginTx(ctx, opts)
	if !stop() {
		c.dialer.interrupt() // before somebody else gets the connection
	}
	return tx, err
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *connection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.pqConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return sessionStmt{stmt, stmt.(driver.StmtExecContext), stmt.(driver.StmtQueryContext)}, nil
}

// sessionStmt is a statement that the server releases with its session. Close does not
// release it, nor wait for the server: there are few.
type sessionStmt struct {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Close implements driver.Stmt.
func (sessionStmt) Close() error { return nil }

// Close implements driver.Conn. An interrupted connection sends nothing to the server: that is
// no error.
func (c *connection) Close() error {
	if err := c.pqConn.Close(); err != nil && !c.dialer.isBroken() {
		return err
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *connection) IsValid() bool { return !c.dialer.isBroken() && c.pqConn.IsValid() }

// ResetSession implements driver.SessionResetter.
func (c *connection) ResetSession(ctx context.Context) error {
	if c.dialer.isBroken() {
		return driver.ErrBadConn
	}
	return c.pqConn.ResetSession(ctx)
}

// guardedDialer dials for one connection. Once it is established, lib/pq dials again only to
// cancel a statement whose context has ended: the dialer then interrupts the connection, so
// that the wait ends.
type guardedDialer struct {
	mu     sync.Mutex
	conn   net.Conn
	inUse  bool
	broken bool
	dialer net.Dialer
}

var (
	_ pq.Dialer        = (*guardedDialer)(nil)
	_ pq.DialerContext = (*guardedDialer)(nil)
)

// DialContext implements pq.DialerContext. The connection is valid until the deadline of the
// context.
func (d *guardedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	inUse := d.inUse
	d.mu.Unlock()
	if inUse {
		d.interrupt()
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cancelTimeout)
		defer cancel()
	}
	conn, err := d.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if !inUse {
		d.mu.Lock()
		d.conn = conn
		d.mu.Unlock()
	}
	return conn, nil
}

// Dial implements pq.Dialer.
func (d *guardedDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, connectTimeout)
}

// DialTimeout implements pq.Dialer.
func (d *guardedDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// established removes the deadline of the connection.
func (d *guardedDialer) established() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inUse = true
	return d.conn.SetDeadline(time.Time{})
}

// interrupt ends the wait for the server.
func (d *guardedDialer) interrupt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = true
	_ = d.conn.SetDeadline(time.Unix(1, 0))
}

func (d *guardedDialer) isBroken() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.broken
}

// ListenDialer opens connections that fail when the server does not answer soon.
type ListenDialer struct{ net.Dialer }

// Dial implements pq.Dialer.
func (d ListenDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, connectTimeout)
}

// DialTimeout implements pq.Dialer.
func (d ListenDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	d.Timeout = timeout
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &answeringConn{conn}, nil
}

// answeringConn fails when a write is not answered in time. All that is read is an answer.
type answeringConn struct{ net.Conn }

func (c *answeringConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(listenAnswer)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *answeringConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	return n, err
}
