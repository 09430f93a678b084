// Package s3test gives tests a real S3 server: versitygw, with its buckets in a temporary
// folder. It builds the program from the Go module proxy when it is first needed, and
// stores it in the user's cache folder. PARLEY_TEST_VERSITYGW can be set to the path of
// another one.
//
// Each test process that asks has one server, on a free port of the loopback interface,
// which ends with the process.
package s3test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// Region is the server's region.
const Region = "us-east-1"

// program is the server.
var program = servertest.Program{
	Name: "versitygw", Version: "v1.8.0", Variable: "PARLEY_TEST_VERSITYGW",
	Steps: [][]string{{"go", "install", "-trimpath", "-ldflags=-s -w", "github.com/versity/versitygw/cmd/versitygw@v1.8.0"}},
}

// Server returns the address of this process's S3 server, such as http://127.0.0.1:9000,
// and the keys of an account with all rights. Without a server's program the test is
// skipped, or fails with CI=true in the environment.
func Server(t testing.TB) (endpoint, accessKey, secretKey string) {
	t.Helper()
	srv := get(t)
	return srv.endpoint, srv.accessKey, srv.secretKey
}

// Bucket returns the name of a new bucket of Server for this test, which is removed with
// its content after the test and its subtests.
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

// shared is the server of this process. It keeps the lifeline open.
var shared = sync.OnceValues(func() (*server, error) {
	binary, err := program.Path()
	if err != nil {
		return nil, err
	}
	return start(binary)
})

func get(t testing.TB) *server {
	t.Helper()
	srv, err := shared()
	servertest.Require(t, err, servertest.ErrNoProgram)
	return srv
}
