package s3test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/internal/servertest"
)

// Region is the region that the server says it is in.
const Region = "us-east-1"

// errNoServer marks the reasons for which a test may be skipped: there is no
// program to run. A program that does not work is a failure.
var errNoServer = errors.New("s3test: no S3 server")

// Server returns the address, such as http://127.0.0.1:9000, of this process's S3
// server and the keys of the account that may do everything there. It may be
// called from parallel tests. Where the server's program cannot be had the test is
// skipped, or fails with CI=true in the environment.
func Server(t testing.TB) (endpoint, accessKey, secretKey string) {
	t.Helper()
	srv := get(t)
	return srv.endpoint, srv.accessKey, srv.secretKey
}

// Bucket returns the name of a fresh, empty bucket of Server's for this test alone.
// It is removed, with what is in it, when the test and its subtests are done.
func Bucket(t testing.TB) string {
	t.Helper()
	srv := get(t)
	name := "parley-" + strings.ToLower(rand.Text())
	dir := filepath.Join(srv.buckets, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("s3test: make the test's bucket: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("s3test: remove the test's bucket: %v", err)
		}
	})
	return name
}

// shared is the server of this process. It keeps the lifeline reachable for as
// long as the process lives.
var shared = sync.OnceValues(func() (*server, error) {
	binary, err := program()
	if err != nil {
		return nil, err
	}
	return start(binary)
})

func get(t testing.TB) *server {
	t.Helper()
	srv, err := shared()
	servertest.Require(t, err, errNoServer)
	return srv
}
