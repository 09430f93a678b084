//go:build unix

package s3test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endVariable tells a child test process how to end.
const endVariable = "S3TEST_CHILD_ENDS"

// TestServerEndsWithItsProcess runs itself again in child processes, which end in
// all the ways that a test process can.
func TestServerEndsWithItsProcess(t *testing.T) {
	if how := os.Getenv(endVariable); how != "" {
		child(t, how)
		return
	}
	t.Parallel()
	get(t) // builds the program, or skips
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
			address, dir := childServer(t, stdout)
			if conn, err := net.Dial("tcp", address); err != nil {
				t.Fatalf("the child's server is not there: %v", err)
			} else if err := conn.Close(); err != nil {
				t.Errorf("close the connection: %v", err)
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
			// The script removes the folder only after the server has ended.
			eventually(t, "the child's folder is gone", func() bool {
				_, err := os.Stat(dir)
				return errors.Is(err, fs.ErrNotExist)
			})
		})
	}
}

// child gets a server, says where, waits for its standard input to close, and ends.
func child(t *testing.T, how string) {
	srv := get(t)
	fmt.Printf("\nserver=%s %s\n", strings.TrimPrefix(srv.endpoint, "http://"), filepath.Dir(srv.buckets))
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
	cmd = exec.Command(exe, "-test.run=^TestServerEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), endVariable+"="+how)
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

// childServer reads where the child's server listens and keeps its things.
func childServer(t *testing.T, stdout io.Reader) (address, dir string) {
	t.Helper()
	var said strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if server, ok := strings.CutPrefix(lines.Text(), "server="); ok {
			address, dir, _ = strings.Cut(server, " ")
			return address, dir
		}
	}
	t.Fatalf("the child named no server:\n%s", said.String())
	return "", ""
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
