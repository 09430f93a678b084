package lake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"parley/storage/lake/ingest"
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
	server := workerEnd()
	if err := confineThread(nil); err != nil {
		fmt.Fprintln(server, "confine:", err)
	}
	for _, e := range escapes {
		err := e.try(secret)
		fmt.Fprintf(server, "%s: %v\n", e.name, errors.Is(err, os.ErrPermission))
	}
	_, _ = io.Copy(io.Discard, server)
}

// jailedMaker tries to escape from where files are made, and to do what that takes,
// and says as a maker would what it should not have been able to do, or should.
func jailedMaker(secret string) {
	var request makeRequest
	server := workerEnd()
	if err := json.NewDecoder(server).Decode(&request); err != nil {
		return
	}
	var wrong []string
	for _, e := range escapes {
		if err := e.try(secret); !errors.Is(err, os.ErrPermission) {
			wrong = append(wrong, fmt.Sprintf("%s: %v", e.name, err))
		}
	}
	source := request.Sources[0].Path
	own := filepath.Join(request.OutDir, "own")
	_, readErr := os.ReadFile(source)
	mayErr := errors.Join(readErr, os.Mkdir(own, 0o700), os.WriteFile(filepath.Join(own, "a"), []byte("x"), 0o600),
		os.Rename(filepath.Join(own, "a"), filepath.Join(request.OutDir, "b")), os.RemoveAll(own))
	if mayErr != nil {
		wrong = append(wrong, fmt.Sprintf("what it takes: %v", mayErr))
	}
	if err := os.WriteFile(source, nil, 0o600); !errors.Is(err, os.ErrPermission) {
		wrong = append(wrong, fmt.Sprintf("write over a source: %v", err))
	}
	_ = json.NewEncoder(server).Encode(makeReply{Fault: "tried: " + strings.Join(wrong, "; ")})
}

// The walls of a process that makes files.
func TestMakerJail(t *testing.T) {
	t.Parallel()
	if err := lacksWalls(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	secret, source := filepath.Join(dir, "secret"), filepath.Join(dir, "source.csv")
	for _, path := range []string{secret, source} {
		if err := os.WriteFile(path, []byte(treasure), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	maker := NewMaker(MakerConfig{Command: func() (string, []string, []string) { return executable(), []string{"jailed-maker", secret}, nil }})
	_, err := maker.Ingest(t.Context(), Turn{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: source, Name: "source.csv"}}, OutDir: filepath.Join(dir, "out")})
	if err == nil || err.Error() != "make files: tried: " {
		t.Errorf("not as it should be: %v", err)
	}
	for _, path := range []string{secret, source} {
		if data, err := os.ReadFile(path); err != nil || string(data) != treasure {
			t.Errorf("%s is now %q, %v", path, data, err)
		}
	}
}

// A wall that the system does not allow is missing from the process, and the log says
// so once.
func TestMakerLacks(t *testing.T) {
	t.Parallel()
	if err := lacksWalls(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "rows.ndjson")
	if err := os.WriteFile(path, []byte("{\"id\":1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	maker := NewMaker(MakerConfig{Memory: frugal, Threads: 1, Log: slog.New(slog.NewTextHandler(&said, nil))})
	for i := range 2 {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // for good
			err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			if err == nil {
				err = denySyscalls([]uint32{unix.SYS_LANDLOCK_CREATE_RULESET})
			}
			if err == nil {
				out := filepath.Join(dir, fmt.Sprint(i))
				err = os.Mkdir(out, 0o700)
				_, makeErr := maker.make(t.Context(), makeRequest{Memory: frugal, Threads: 1, Jobs: 1, Rows: path, OutDir: out}, nil)
				err = errors.Join(err, makeErr)
			}
			done <- err
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if strings.Count(said.String(), "level=WARN") != 1 || !strings.Contains(said.String(), "landlock") || strings.Contains(said.String(), "seccomp") {
		t.Errorf("the log says: %s", said.String())
	}
}

// lacksWalls says what of the walls this system does not have.
func lacksWalls() error {
	lacking := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		lacks, err := confine(executable(), nil)
		if len(lacks) > 0 {
			err = fmt.Errorf("this system does not allow %v", lacks)
		}
		lacking <- err
	}()
	return <-lacking
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
		cmd, channel, err := p.start(launch{path: path, args: []string{"jailed", secret}}, nil)
		started <- err
		if err == nil {
			_ = channel.wait(cmd, &p.said)
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
