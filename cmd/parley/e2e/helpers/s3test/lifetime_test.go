//go:build unix

package s3test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/servertest"
)

func TestServerEndsWithItsProcess(t *testing.T) {
	srv := get(t) // builds the program, or skips
	serve := func() string { return strings.TrimPrefix(srv.endpoint, "http://") + " " + filepath.Dir(srv.buckets) }
	servertest.EndsWithItsProcess(t, serve, func(t *testing.T, where string) func() bool {
		address, dir, _ := strings.Cut(where, " ")
		if conn, err := net.Dial("tcp", address); err != nil {
			t.Fatalf("the child's server is not there: %v", err)
		} else if err := conn.Close(); err != nil {
			t.Errorf("close the connection: %v", err)
		}
		// The script removes the folder only after the server has ended.
		return func() bool {
			_, err := os.Stat(dir)
			return errors.Is(err, fs.ErrNotExist)
		}
	})
}
