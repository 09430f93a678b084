package pgconn

import (
	"context"
	"database/sql/driver"
	"net"
	"testing"

	"github.com/lib/pq"

	"parley/cmd/parley/e2e/helpers/pgtest"
)

// A connection whose statement ran out of time while the pool held it is closed
// without an error: the server is not told, and need not be.
func TestCloseInterrupted(t *testing.T) {
	t.Parallel()
	base, err := pq.NewConnector(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Connector{base, ""}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn := made.(*connection)
	conn.dialer.interrupt()
	if conn.IsValid() {
		t.Error("an interrupted connection is valid")
	}
	if err := conn.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// beginner begins a transaction while its context ends.
type beginner struct {
	pqConn
	cancel context.CancelFunc
}

func (b beginner) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	b.cancel()
	return nil, nil
}

func (beginner) IsValid() bool { return true }

// A connection whose context ended is not valid when its caller gives it back: it is not
// interrupted later, when somebody else has it.
func TestEndOfContextAtBegin(t *testing.T) {
	t.Parallel()
	ours, server := net.Pipe()
	defer server.Close()
	defer ours.Close()
	ctx, cancel := context.WithCancel(t.Context())
	conn := connection{beginner{cancel: cancel}, &guardedDialer{conn: ours, inUse: true}}
	if _, err := conn.BeginTx(ctx, driver.TxOptions{}); err != nil {
		t.Fatal(err)
	}
	if conn.IsValid() {
		t.Error("the connection is valid")
	}
}
