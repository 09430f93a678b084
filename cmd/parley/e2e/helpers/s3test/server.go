package s3test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// server is a running S3 server.
type server struct {
	endpoint  string
	accessKey string
	secretKey string
	buckets   string   // the folder whose folders are the buckets
	lifeline  *os.File // the server ends when this closes
}

func start(binary string) (srv *server, err error) {
	err = servertest.OnFreePort(func(address string) (err error) {
		srv, err = startOnce(binary, address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("s3test: start %s: %w", binary, err)
	}
	return srv, nil
}

func startOnce(binary, address string) (*server, error) {
	// The process id is for people.
	dir, err := os.MkdirTemp("", fmt.Sprintf("parley-s3-%d-", os.Getpid()))
	if err != nil {
		return nil, err
	}
	srv := &server{
		endpoint:  "http://" + address,
		accessKey: "parley",
		secretKey: rand.Text(),
		buckets:   filepath.Join(dir, "buckets"),
	}
	if err := srv.run(binary, dir, address); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return srv, nil
}

// run starts the script, and returns when the server answers.
func (s *server) run(binary, dir, address string) (err error) {
	meta := filepath.Join(dir, "meta")
	for _, folder := range []string{s.buckets, meta} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
	}
	// Another server that has taken the port does not answer here.
	health := "/" + rand.Text()
	env := append(serverEnv(), "ROOT_ACCESS_KEY="+s.accessKey, "ROOT_SECRET_KEY="+s.secretKey)
	ready := func() error { return servertest.Healthy(s.endpoint + health) }
	s.lifeline, err = servertest.Serve(dir, env, ready,
		binary, "--port", address, "--health", health, "--region", Region, "--quiet",
		// Not every file system has extended attributes.
		"posix", "--sidecar", meta, s.buckets)
	return err
}

// serverEnv is this process's environment without settings of the server, which gets
// arguments.
func serverEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "VGW_") || strings.HasPrefix(kv, "ROOT_") || strings.HasPrefix(kv, "LOGFILE=")
	})
}
