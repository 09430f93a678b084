//go:build unix

package pgtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

func TestClusterEndsWithItsProcess(t *testing.T) {
	_, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	servertest.EndsWithItsProcess(t, func() string { return URL(t) }, func(t *testing.T, where string) func() bool {
		u, err := url.Parse(where)
		if err != nil {
			t.Fatalf("the child's URL: %v", err)
		}
		dir := u.Query().Get("host")
		postmaster := postmasterPID(t, dir)
		if err := syscall.Kill(postmaster, 0); err != nil && !errors.Is(err, syscall.EPERM) {
			t.Fatalf("the child's postgres (process %d) is not there: %v", postmaster, err)
		}
		return func() bool { return errors.Is(syscall.Kill(postmaster, 0), syscall.ESRCH) && !exists(dir) }
	})
}

func TestClusterEndsWhenKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	_, err := findBinaries()
	servertest.Require(t, err, errNoPostgres)
	empty := t.TempDir() // no archive is there
	cmd, _, _ := servertest.StartChild(t, "TestClusterEndsWithItsProcess", "killed", "XDG_CACHE_HOME="+empty, "HOME="+empty)
	var data []string
	waittest.Until(t, "initdb is at work", func() bool {
		for _, root := range append(memoryFolders(), "/tmp") {
			data, _ = filepath.Glob(fmt.Sprintf("%s/parley-pg-%d-*/data", root, cmd.Process.Pid))
			if len(data) == 1 {
				return true
			}
		}
		return false
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("kill the child: %v", err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the child ended well")
	}
	// The script removes the folder only after postgres has ended.
	waittest.Until(t, "the child's folder is gone", func() bool { return !exists(filepath.Dir(data[0])) })
}

func TestFailedStartShowsTheLog(t *testing.T) {
	t.Parallel()
	for failing, script := range map[string]map[string]string{
		"initdb":   {"initdb": "echo no luck today >&2; exit 1", "postgres": "exit 0"},
		"postgres": {"initdb": "exit 0", "postgres": "echo no luck today >&2; exit 1"},
	} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			bin := t.TempDir()
			// Root's script runs as a user who has to get in here.
			if err := os.Chmod(filepath.Dir(bin), 0o755); err != nil {
				t.Fatalf("open the folder: %v", err)
			}
			for name, body := range script {
				if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
					t.Fatalf("write a stand-in: %v", err)
				}
			}
			srv, err := startCluster(bin)
			if err == nil {
				t.Fatalf("a cluster started: %s", srv.url("postgres"))
			}
			if !strings.Contains(err.Error(), "no luck today") {
				t.Errorf("the error does not show what %s said: %v", failing, err)
			}
		})
	}
}

func postmasterPID(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatalf("read the process id of postgres: %v", err)
	}
	line, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		t.Fatalf("read the process id of postgres: %v", err)
	}
	return pid
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
