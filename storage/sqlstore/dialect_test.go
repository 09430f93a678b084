package sqlstore

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/lib/pq"

	"parley/internal/domain"
)

// TestLostConnections has the errors of a database that stops.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF, driver.ErrBadConn, &net.OpError{Op: "read", Err: errors.New("reset")}, &pq.Error{Code: "57P01"}} {
		if got := classify(fmt.Errorf("measure events: %w", err)); !errors.Is(got, domain.ErrUnavailable) {
			t.Errorf("%v is not that the database is unavailable", got)
		}
	}
}
