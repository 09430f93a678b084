//go:build unix

package pgtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endVariable tells a child test process how to end.
const endVariable = "PGTEST_CHILD_ENDS"

// TestClusterEndsWithItsProcess runs itself again in child processes, which end
// in all the ways that a test process can.
func TestClusterEndsWithItsProcess(t *testing.T) {
	if how := os.Getenv(endVariable); how != "" {
		child(t, how)
		return
	}
	t.Parallel()
	if _, err := findBinaries(); err != nil && !inCI() {
		t.Skip(err)
	}
	for how, end := range map[string]func(pid int) error{
		"return": nil,
		"panic":  nil,
		"exit":   nil,
		"killed": func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"killed with its group": func(pid int) error {
			return syscall.Kill(-pid, syscall.SIGKILL)
		},
		"interrupted at the terminal": func(pid int) error {
			return syscall.Kill(-pid, syscall.SIGINT)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd, stdin, stdout := startChild(t, how)
			dir := clusterDir(t, stdout)
			postmaster := postmasterPID(t, dir)
			if err := syscall.Kill(postmaster, 0); err != nil && !errors.Is(err, syscall.EPERM) {
				t.Fatalf("the child's postgres (process %d) is not there: %v", postmaster, err)
			}

			if end != nil {
				if err := end(cmd.Process.Pid); err != nil {
					t.Fatalf("end the child: %v", err)
				}
			} else if err := stdin.Close(); err != nil {
				t.Fatalf("tell the child to end: %v", err)
			}
			if err := cmd.Wait(); (err == nil) != (how == "return") {
				t.Errorf("the child ended with %v", err)
			}
			eventually(t, "the child's postgres is gone", func() bool {
				return errors.Is(syscall.Kill(postmaster, 0), syscall.ESRCH)
			})
			eventually(t, "the child's folder is gone", func() bool { return !exists(dir) })
		})
	}
}

func TestClusterEndsWhenKilledWhileItStarts(t *testing.T) {
	t.Parallel()
	if _, err := findBinaries(); err != nil && !inCI() {
		t.Skip(err)
	}
	cmd, _, _ := startChild(t, "killed")
	var data []string
	eventually(t, "initdb is at work", func() bool {
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
	eventually(t, "the child's folder is gone", func() bool { return !exists(filepath.Dir(data[0])) })
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

// child gets a database, says where, waits for its standard input to close, and
// ends.
func child(t *testing.T, how string) {
	fmt.Printf("\nurl=%s\n", URL(t))
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		t.Fatalf("wait for the parent: %v", err)
	}
	switch how {
	case "return":
	case "panic":
		panic("as asked")
	case "exit":
		os.Exit(3)
	default:
		t.Errorf("a child to be %s went on", how)
	}
}

func startChild(t *testing.T, how string) (cmd *exec.Cmd, stdin io.Closer, stdout io.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	cmd = exec.Command(exe, "-test.run=^TestClusterEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), endVariable+"="+how, "PARLEY_TEST_DATABASE_URL=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err = cmd.StdinPipe()
	if err != nil {
		t.Fatalf("open the child's standard input: %v", err)
	}
	stdout, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("open the child's standard output: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the child: %v", err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil { // the test failed half way
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, stdin, stdout
}

// clusterDir reads the child's URL, which names its cluster's folder.
func clusterDir(t *testing.T, stdout io.Reader) string {
	t.Helper()
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if raw, ok := strings.CutPrefix(lines.Text(), "url="); ok {
			u, err := url.Parse(raw)
			if err != nil {
				t.Fatalf("the child's URL: %v", err)
			}
			return u.Query().Get("host")
		}
	}
	t.Fatalf("the child named no URL:\n%s", said.String())
	return ""
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

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticks := time.NewTicker(10 * time.Millisecond)
	defer ticks.Stop()
	for deadline := time.Now().Add(time.Minute); !holds(); <-ticks.C {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute, not yet: %s", what)
		}
	}
}
