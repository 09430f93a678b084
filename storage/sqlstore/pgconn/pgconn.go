package sqlstore

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
	// connectTimeout bounds connecting, up to where statements can be sent.
	connectTimeout = 10 * time.Second
	// statementTimeout bounds a read, and a transaction, of whoever set no limit.
	statementTimeout = 30 * time.Second
	// cancelTimeout bounds asking the server to stop a statement, which whoever
	// waited for the statement waits for too.
	cancelTimeout = time.Second
	// listenAnswer is how long the server may take to answer on the connection
	// that is listened on.
	listenAnswer = 5 * time.Second
)

// sessionSettings have the server notice that we are gone, though nothing says
// so, and release what a transaction has locked.
const sessionSettings = `
SET idle_in_transaction_session_timeout = '60s';
SET tcp_keepalives_idle = 30;
SET tcp_keepalives_interval = 10;
SET tcp_keepalives_count = 3;
SET tcp_user_timeout = '60s'`

// connector makes connections that wait for the server no longer than the
// context of what is done on them. lib/pq alone asks the server to stop, and
// waits for an answer that a network which has fallen silent does not carry.
type connector struct {
	*pq.Connector
	settings string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	d := &guardedDialer{}
	own := *c.Connector
	own.Dialer(d)
	made, err := own.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	conn := &connection{made.(pqConn), d}
	if err := d.established(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := conn.ExecContext(ctx, c.settings, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// pqConn is what a connection of lib/pq can do.
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

// BeginTx heeds the context from the first statement on.
func (c *connection) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	defer context.AfterFunc(ctx, c.dialer.interrupt)()
	return c.pqConn.BeginTx(ctx, opts)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *connection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	made, err := c.pqConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return sessionStmt{made.(pqStmt)}, nil
}

// pqStmt is what a statement of lib/pq can do.
type pqStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// sessionStmt is one that the server forgets with its session. It is kept from
// doing so earlier, and from waiting for the server to say so: there are few.
type sessionStmt struct{ pqStmt }

// Close implements driver.Stmt.
func (sessionStmt) Close() error { return nil }

// Close implements driver.Conn. The server hears nothing from a connection that was
// interrupted: that is no failure.
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

// guardedDialer dials for one connection. Once that is there, lib/pq dials again only to
// ask the server to stop a statement whose context has ended: the connection is
// closed then, and the wait for it ends.
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

// DialContext implements pq.DialerContext. What it gives is good until the
// context's deadline.
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

// established says that the connection is there, and good for as long as it is
// used.
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

// listenDialer makes connections on which the server answers soon or is gone.
type listenDialer struct{ net.Dialer }

// Dial implements pq.Dialer.
func (d listenDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialTimeout(network, address, connectTimeout)
}

// DialTimeout implements pq.Dialer.
func (d listenDialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	d.Timeout = timeout
	conn, err := d.Dialer.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &answeringConn{conn}, nil
}

// answeringConn fails when what was written is not answered in time. Whatever is
// read is an answer.
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
