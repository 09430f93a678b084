package servertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// CopyProgram copies this test's program to where every user can run it: the folder of a
// test binary is closed to others. Another process writes the copy, since one that this
// process starts meanwhile would have it open for writing, and it could not be run.
func CopyProgram(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "test-program")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(dir, "program")
	if out, err := exec.CommandContext(tb.Context(), "cp", self, to).CombinedOutput(); err != nil {
		tb.Fatalf("copy the test program: %v: %s", err, out)
	}
	if err := os.Chmod(to, 0o755); err != nil {
		tb.Fatal(err)
	}
	return to
}
