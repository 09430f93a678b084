//go:build unix

package pgtest

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/servertest"
)

// Cluster is a PostgreSQL of a test's own, that it can stop and start.
type Cluster struct {
	t   testing.TB
	srv *server
}

// Private starts a cluster for this test alone, which ends with it, with settings
// (name=value) if there are any. What was committed outlives the cluster's
// processes.
func Private(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	bin, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	srv, err := startCluster(bin, append([]string{"synchronous_commit=on", "wal_level=replica"}, settings...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.lifeline.Close() })
	return &Cluster{t, srv}
}

// URL is that of the cluster's one database.
func (c *Cluster) URL() string { return c.srv.url("postgres") }

// Exec runs one statement.
func (c *Cluster) Exec(statement string) {
	c.t.Helper()
	if err := c.srv.exec(context.Background(), statement); err != nil {
		c.t.Fatalf("pgtest: %s: %v", statement, err)
	}
}

// Stop ends the cluster at once, as a crash would, and waits until it is gone.
func (c *Cluster) Stop() {
	c.t.Helper()
	if err := os.WriteFile(c.stopped(), nil, 0o600); err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(c.srv.dir, "pid"))
	if err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	down := filepath.Join(c.srv.dir, "down")
	alive := true
	for deadline := time.Now().Add(servertest.StartTimeout); ; {
		alive = alive && syscall.Kill(pid, syscall.SIGQUIT) == nil // again: one that comes too early is lost
		if _, err := os.Stat(down); err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatal("pgtest: the cluster does not stop")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Start starts what Stop has stopped, and waits until it answers.
func (c *Cluster) Start() {
	c.t.Helper()
	if err := os.Remove(c.stopped()); err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	for deadline := time.Now().Add(servertest.StartTimeout); ; {
		err := c.srv.ping()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("pgtest: the cluster does not start: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Socket is the path at which the cluster is reached.
func (c *Cluster) Socket() string { return filepath.Join(c.srv.dir, ".s.PGSQL."+port) }

// ReadOnly starts a stopped cluster as one that follows another: it can be read
// from, and takes no changes until Promote.
func (c *Cluster) ReadOnly() {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.srv.dir, "data", "standby.signal"), nil, 0o644); err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	c.Start()
}

// Promote has a cluster that is read-only take changes again.
func (c *Cluster) Promote() {
	c.t.Helper()
	c.Exec("SELECT pg_promote()")
}

// stopped is the file that keeps a stopped cluster from starting.
func (c *Cluster) stopped() string { return filepath.Join(c.srv.dir, "stopped") }

// Folder makes a folder that the cluster can reach.
func (c *Cluster) Folder(name string) string {
	c.t.Helper()
	dir := filepath.Join(c.srv.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
	return dir
}

// Own returns a folder to the user that the cluster runs as, for tables to be in.
func (c *Cluster) Own(dir string) {
	c.t.Helper()
	info, err := os.Stat(c.srv.dir)
	if err == nil {
		stat := info.Sys().(*syscall.Stat_t)
		err = os.Chown(dir, int(stat.Uid), int(stat.Gid))
	}
	if err != nil {
		c.t.Fatalf("pgtest: %v", err)
	}
}
