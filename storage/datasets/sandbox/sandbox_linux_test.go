package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"parley/storage/datasets/ingest"
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

// confined tries to escape from where workers run queries, and says how it went.
func confined(secret string) {
	runtime.LockOSThread()
	server := Connect()
	if err := ConfineThread(""); err != nil {
		fmt.Fprintln(server, "confine:", err)
	}
	for _, e := range escapes {
		err := e.try(secret)
		fmt.Fprintf(server, "%s: %v\n", e.name, errors.Is(err, os.ErrPermission))
	}
	_, _ = io.Copy(io.Discard, server)
}

// confinedIngester tries to escape from where files are ingested, and to do what that
// takes, and says what it should not have been able to do, or should.
func confinedIngester(secret string) {
	var request IngestRequest
	server := Connect()
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
	program := filepath.Join(request.Programs, "program")
	if _, err := os.ReadFile(program); err != nil {
		wrong = append(wrong, fmt.Sprintf("read a program: %v", err))
	}
	for name, err := range map[string]error{
		"write over": os.WriteFile(program, nil, 0o600), "remove": os.Remove(program), "add": os.WriteFile(program+"2", nil, 0o600),
		"move": os.Rename(program, filepath.Join(request.OutDir, "c")), "put": os.Rename(filepath.Join(request.OutDir, "b"), program),
	} {
		if !errors.Is(err, os.ErrPermission) && !errors.Is(err, unix.EXDEV) {
			wrong = append(wrong, fmt.Sprintf("%s a program: %v", name, err))
		}
	}
	_ = json.NewEncoder(server).Encode(IngestReply{Fault: "tried: " + strings.Join(wrong, "; ")})
}

// The sandbox of an ingest worker.
func TestIngestWorkerSandbox(t *testing.T) {
	t.Parallel()
	if err := lacksProtection(); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	secret, source, program := filepath.Join(dir, "secret"), filepath.Join(dir, "source.csv"), filepath.Join(dir, "programs", "program")
	if err := os.Mkdir(filepath.Dir(program), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{secret, source, program} {
		if err := os.WriteFile(path, []byte(treasure), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Start(Spec{Path: Executable(), Args: []string{"confined-ingester", secret}, Sources: []string{source}, Dir: out, Programs: filepath.Dir(program)})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Ingest(t.Context(), IngestRequest{Sources: []ingest.Source{{Path: source, Name: "source.csv"}}, OutDir: out, Programs: filepath.Dir(program)}, nil)
	if err != nil || reply.Fault != "tried: " {
		t.Errorf("not as it should be: %+v, %v", reply, err)
	}
	for _, path := range []string{secret, source, program} {
		if data, err := os.ReadFile(path); err != nil || string(data) != treasure {
			t.Errorf("%s is now %q, %v", path, data, err)
		}
	}
}

// treasure is what no worker may read.
const treasure = "hidden-treasure"

// A protection that the system does not allow is missing from the process, and named.
func TestLacks(t *testing.T) {
	t.Parallel()
	if err := lacksProtection(); err != nil {
		t.Skip(err)
	}
	lacks := make(chan string)
	go func() {
		runtime.LockOSThread() // for good
		p := &Process{ended: make(chan struct{})}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = denySyscalls([]uint32{unix.SYS_LANDLOCK_CREATE_RULESET})
		}
		var cmd *exec.Cmd
		if err == nil {
			cmd, err = p.start(Spec{Path: Executable(), Args: []string{"descriptors", "query"}})
		}
		if err != nil {
			lacks <- err.Error()
			return
		}
		line, err := p.out.ReadString('\n')
		_ = p.channel.wait(cmd.Wait, &p.crash)
		lacks <- fmt.Sprint(p.Lacks, line != "", err)
	}()
	if got := <-lacks; got != "[landlock] true <nil>" {
		t.Error(got)
	}
}

// lacksProtection says what protections this system does not have.
func lacksProtection() error {
	lacking := make(chan error)
	go func() {
		runtime.LockOSThread() // for good
		lacks, err := confine(Spec{Path: Executable()})
		if len(lacks) > 0 {
			err = fmt.Errorf("this system does not allow %v", lacks)
		}
		lacking <- err
	}()
	return <-lacking
}

// The process's sandbox, tried part by part, without DuckDB between.
func TestQueryWorkerSandbox(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(treasure), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := Start(Spec{Path: Executable(), Args: []string{"confined", secret}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if len(p.Lacks) > 0 {
		t.Skipf("this system does not allow %v", p.Lacks)
	}
	if score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", p.PID)); err != nil || string(score) != "1000\n" {
		t.Errorf("the kernel does not end it first: %s, %v", score, err)
	}
	lines := bufio.NewScanner(p.out)
	for _, e := range escapes {
		if !lines.Scan() {
			t.Fatalf("%s: no word; %s", e.name, p.CrashReport())
		}
		if got := lines.Text(); got != e.name+": true" {
			t.Errorf("not stopped: %s", got)
		}
	}
	if data, err := os.ReadFile(secret); err != nil || !strings.Contains(string(data), treasure) {
		t.Errorf("the file is now %q, %v", data, err)
	}
}
