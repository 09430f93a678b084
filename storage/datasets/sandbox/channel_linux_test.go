package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"parley/cmd/parley/e2e/helpers/servertest"
)

func init() {
	processes["descriptors"] = listDescriptors
	processes["descriptor-server"] = descriptorServer
	processes["confined"] = confined
	processes["confined-ingester"] = confinedIngester
}

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

// listDescriptors is a query worker or an ingest worker, which says only what it has
// inherited.
func listDescriptors(kind string) {
	list := descriptors()
	server := Connect()
	if kind == "query" {
		fmt.Fprintln(server, list)
		return
	}
	var request IngestRequest
	_ = json.NewDecoder(server).Decode(&request)
	_ = json.NewEncoder(server).Encode(IngestReply{Fault: list})
}

// descriptorServer is a server that says what it and its workers have inherited.
func descriptorServer(dir string) {
	own := descriptors()
	file, err := os.Open(filepath.Join(dir, "source.csv"))
	if err != nil {
		fmt.Println(err)
		return
	}
	query, err := Start(Spec{Path: Executable(), Args: []string{"descriptors", "query"}, Tables: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	line, _ := query.out.ReadString('\n')
	query.Kill()
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		fmt.Println(err)
		return
	}
	ingester, err := Start(Spec{Path: Executable(), Args: []string{"descriptors", "ingest"}, Sources: []string{file.Name()}, Dir: out})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := ingester.Ingest(context.Background(), IngestRequest{OutDir: out}, nil)
	fmt.Printf("%s\n%s\n%s %v\n", own, strings.TrimSpace(line), reply.Fault, err)
}

// A server that was started with files of somebody else's passes none of them on.
func TestWorkersInheritNothingElse(t *testing.T) {
	t.Parallel()
	path, dir := servertest.CopyProgram(t), t.TempDir()
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
	if want := null + ", 5 " + dir; lines[1] != want {
		t.Errorf("a worker has %s; want %s", lines[1], want)
	}
	if want := null + " <nil>"; lines[2] != want {
		t.Errorf("an ingest worker has %s; want %s", lines[2], want)
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
