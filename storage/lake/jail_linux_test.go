package lake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// escapes are what an intruder in a worker would try.
var escapes = []struct {
	name string
	try  func(secret string) error
}{
	{"open a socket", func(string) error { _, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0); return err }},
	{"open a local socket", func(string) error { _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); return err }},
	{"read a file", func(secret string) error { _, err := os.ReadFile(secret); return err }},
	{"read a system file", func(string) error { _, err := os.ReadFile("/etc/passwd"); return err }},
	{"list a folder", func(string) error { _, err := os.ReadDir("/tmp"); return err }},
	{"write over a file", func(secret string) error { _, err := os.OpenFile(secret, os.O_WRONLY, 0); return err }},
	{"truncate a file", func(secret string) error { return os.Truncate(secret, 0) }},
	{"make a file", func(secret string) error { return os.WriteFile(filepath.Dir(secret)+"/made", nil, 0o644) }},
	{"make a file in /tmp", func(string) error { return os.WriteFile("/tmp/parley-made", nil, 0o644) }},
	{"make a link", func(secret string) error { return os.Symlink("/etc/passwd", filepath.Dir(secret)+"/made") }},
	{"remove a file", func(secret string) error { return os.Remove(secret) }},
	{"trace its parent", func(string) error { return unix.PtraceAttach(os.Getppid()) }},
	{"read its parent's environment", func(string) error {
		_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
		return err
	}},
	{"unshare", func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) }},
	{"run a program", func(string) error { return syscall.Exec("/bin/true", []string{"true"}, nil) }},
}

// jailed tries to escape from where workers run queries, and says how it went.
func jailed(secret string) {
	runtime.LockOSThread()
	if err := confineThread(nil); err != nil {
		fmt.Println("confine:", err)
	}
	for _, e := range escapes {
		err := e.try(secret)
		fmt.Printf("%s: %v\n", e.name, errors.Is(err, os.ErrPermission))
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// The process's walls, asked one by one, without DuckDB between.
func TestJail(t *testing.T) {
	t.Parallel()
	path, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(treasure), 0o666); err != nil {
		t.Fatal(err)
	}
	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer close(p.ended)
		cmd, err := p.start(launch{path: path, args: []string{"jailed", secret}}, nil)
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	if len(p.lacks) > 0 {
		t.Skipf("this system does not allow %v", p.lacks)
	}
	lines := bufio.NewScanner(p.out)
	for _, e := range escapes {
		if !lines.Scan() {
			t.Fatalf("%s: no word; %s", e.name, p.said.String())
		}
		if got := lines.Text(); got != e.name+": true" {
			t.Errorf("not stopped: %s", got)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || !strings.Contains(string(data), treasure) {
		t.Errorf("the file is now %q, %v", data, err)
	}
}
