//go:build unix

package servertest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
)

const (
	// endVariable tells a child test process how to end.
	endVariable = "SERVERTEST_CHILD_ENDS"
	// announcement is before where the child's server is, in what the child prints.
	announcement = "server="
)

// EndsWithItsProcess runs the test that calls it again in child processes, which end
// in all the ways that a test process can. A child starts a server with serve, which
// says where it is; with that, watch finds the server and gives how to see that it is
// gone. The test that calls it is no subtest.
func EndsWithItsProcess(t *testing.T, serve func() string, watch func(t *testing.T, where string) (gone func() bool)) {
	t.Helper()
	if how := os.Getenv(endVariable); how != "" {
		runChild(t, how, serve())
		return
	}
	t.Parallel()
	for how, end := range map[string]func(pid int) error{
		"return":                      nil,
		"panic":                       nil,
		"exit":                        nil,
		"killed":                      func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
		"killed with its group":       func(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) },
		"interrupted at the terminal": func(pid int) error { return syscall.Kill(-pid, syscall.SIGINT) },
	} {
		name := t.Name()
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd, stdin, stdout := StartChild(t, name, how)
			gone := watch(t, announced(t, stdout))
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
			waittest.Until(t, "the child's server is gone", gone)
		})
	}
}

// runChild says where the server is, waits for its standard input to close, and ends.
func runChild(t *testing.T, how, where string) {
	fmt.Printf("\n%s%s\n", announcement, where)
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

// StartChild runs a test that calls EndsWithItsProcess as a child that ends so.
func StartChild(t *testing.T, test, how string, env ...string) (cmd *exec.Cmd, stdin io.Closer, stdout io.Reader) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("find the test binary: %v", err)
	}
	cmd = exec.Command(exe, "-test.run=^"+test+"$")
	cmd.Env = append(append(os.Environ(), endVariable+"="+how, "PARLEY_TEST_DATABASE_URL="), env...)
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

// announced reads where the child's server is.
func announced(t *testing.T, stdout io.Reader) string {
	t.Helper()
	var printed strings.Builder
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		fmt.Fprintln(&printed, lines.Text())
		if where, ok := strings.CutPrefix(lines.Text(), announcement); ok {
			return where
		}
	}
	t.Fatalf("the child named no server:\n%s", printed.String())
	return ""
}
