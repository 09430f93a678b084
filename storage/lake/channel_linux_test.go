package lake

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"parley/storage/lake/ingest"
)

// descriptors lists what this process has open, as it was when it started: what
// Go has opened since is closed on exec.
func descriptors() string {
	var list []string
	for fd := range 1024 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		target, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
		if err != nil {
			target = err.Error()
		}
		name, _, _ := strings.Cut(target, ":[")
		list = append(list, fmt.Sprint(fd, " ", name))
	}
	return strings.Join(list, ", ")
}

// listDescriptors is a worker, or a process that makes files, which says only
// what it has inherited.
func listDescriptors(kind string) {
	list := descriptors()
	server := workerEnd()
	if kind == "query" {
		fmt.Fprintln(server, list)
		return
	}
	var request makeRequest
	_ = json.NewDecoder(server).Decode(&request)
	_ = json.NewEncoder(server).Encode(makeReply{Fault: list})
}

// descriptorServer is a server that says what it and its workers have inherited.
func descriptorServer(dir string) {
	own := descriptors()
	file, err := os.Open(filepath.Join(dir, "source.csv"))
	if err != nil {
		fmt.Println(err)
		return
	}
	list := make(chan string)
	go func() {
		runtime.LockOSThread()
		var p process
		cmd, channel, err := p.start(launch{path: executable(), args: []string{"descriptors", "query"}}, []*os.File{file})
		if err != nil {
			list <- err.Error()
			return
		}
		line, _ := p.out.ReadString('\n')
		_ = channel.wait(cmd, &p.said)
		list <- strings.TrimSpace(line)
	}()
	maker := NewMaker(MakerConfig{Command: func() (string, []string, []string) { return executable(), []string{"descriptors", "make"}, nil }})
	_, err = maker.Ingest(context.Background(), Turn{}, ingest.Job{
		Sources: []ingest.Source{{Path: file.Name(), Name: "source.csv"}}, OutDir: filepath.Join(dir, "out")})
	fmt.Printf("%s\n%s\n%v\n", own, <-list, err)
}

// A server that was started with files of somebody else's passes none of them on.
func TestWorkersInheritNothingElse(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The folder of a test binary is closed to others.
	path, dir := copyFile(t, self), t.TempDir()
	source := filepath.Join(dir, "source.csv")
	if err := os.WriteFile(source, []byte("id\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	secret, err := os.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	server := exec.Command(path, "descriptor-server", dir)
	for range 20 {
		server.ExtraFiles = append(server.ExtraFiles, secret)
	}
	out, err := server.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(string(out), "\n")
	if len(lines) != 4 || strings.Count(lines[0], source) != 20 {
		t.Fatalf("the server should have the files: %s", out)
	}
	const null = "0 /dev/null, 1 /dev/null, 2 /dev/null, 3 socket, 4 socket"
	if want := null + ", 5 " + source; lines[1] != want {
		t.Errorf("a worker has %s; want %s", lines[1], want)
	}
	if want := "make files: " + null; lines[2] != want {
		t.Errorf("a process that makes files has %s; want %s", lines[2], want)
	}
}

// Where the system has no call that marks all descriptors, each is marked.
func TestDescriptorsAreMarked(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, mark := range map[string]func() error{"by a call": markInherited, "one by one": markDescriptors} {
		if _, err := unix.FcntlInt(r.Fd(), unix.F_SETFD, 0); err != nil {
			t.Fatal(err)
		}
		if err := mark(); err != nil {
			t.Fatal(err)
		}
		if flags, err := unix.FcntlInt(r.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("%s: flags %x, %v", name, flags, err)
		}
	}
}

// What a worker has on the descriptors that libraries write to is the null
// device, whoever runs it.
func TestWorkerOutputIsDiscarded(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.rows(t, "SELECT 1")
	s.pool.mu.Lock()
	pid := s.pool.idle[0].pid
	s.pool.mu.Unlock()
	for fd := range 3 {
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err != nil || target != os.DevNull {
			t.Errorf("%d is %s, %v", fd, target, err)
		}
	}
}

// Why a worker crashed is known all the same.
func TestCrashIsReported(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *Config) {
		command := c.Command
		c.Command = func() (string, []string, []string) {
			path, _, _ := command()
			return path, []string{"crash", "out of luck"}, nil
		}
	})
	if _, err := s.query(t, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "panic: out of luck") {
		t.Errorf("a worker's: %v", err)
	}
	maker := NewMaker(MakerConfig{Command: s.pool.config.Command})
	if _, err := ingestWith(t, maker); err == nil || !strings.Contains(err.Error(), "panic: out of luck") {
		t.Errorf("that of a process that makes files: %v", err)
	}
}

// crash is a worker that dies of a fault of ours.
func crash(reason string) {
	workerEnd()
	panic(reason)
}
