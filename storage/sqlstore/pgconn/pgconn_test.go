package pgconn

import (
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
