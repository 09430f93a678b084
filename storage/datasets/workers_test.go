package datasets

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/servertest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/datasets/sandbox"
)

// wrongReplies are what a worker that is not ours any more might say.
var wrongReplies = map[string]func(io.Writer){
	"garbage":  func(w io.Writer) { fmt.Fprint(w, strings.Repeat("nonsense", 1000)) },
	"silence":  func(io.Writer) {},
	"huge":     func(w io.Writer) { _, _ = w.Write([]byte{0xff, 0xff, 0xff, 0xff}) },
	"promise":  func(w io.Writer) { _, _ = w.Write([]byte{0, 0xff, 0xff, 0xff, 'x'}) },
	"not json": func(w io.Writer) { _ = sandbox.WriteFrame(w, append(binary.BigEndian.AppendUint32(nil, 3), "{{{"...)) },
	"no head":  func(w io.Writer) { _ = sandbox.WriteFrame(w, []byte{0, 0, 9, 9, 1}) },
	"more rows": func(w io.Writer) {
		payload, _ := sandbox.EncodeReply(sandbox.ReplyHead{}, [][]byte{[]byte(`{}`), []byte(`{}`)})
		_ = sandbox.WriteFrame(w, payload)
	},
	"no object": func(w io.Writer) {
		payload, _ := sandbox.EncodeReply(sandbox.ReplyHead{}, [][]byte{[]byte(`[1]`)})
		_ = sandbox.WriteFrame(w, payload)
	},
	"half a row": func(w io.Writer) {
		payload, _ := sandbox.EncodeReply(sandbox.ReplyHead{}, [][]byte{[]byte(`{"a":1}`)})
		_ = sandbox.WriteFrame(w, payload[:len(payload)-2])
	},
	"wrong tree": func(w io.Writer) {
		payload, _ := sandbox.EncodeReply(sandbox.ReplyHead{Tree: `{"error":false,"statements":[{"node":[]}]}`}, nil)
		_ = sandbox.WriteFrame(w, payload)
	},
}

// replyWrongly is a worker that answers the first requests well, and the others wrongly.
func replyWrongly(kind string, honest int) {
	server := sandbox.Connect()
	_ = sandbox.WriteFrame(server, []byte(`{"race":true}`))
	in := bufio.NewReader(server)
	for n := 0; ; n++ {
		if _, err := sandbox.ReadFrame(in, sandbox.MaxRequest); err != nil {
			return
		}
		if n < honest {
			payload, _ := sandbox.EncodeReply(sandbox.ReplyHead{Tree: datasetstest.SmallTree}, nil)
			_ = sandbox.WriteFrame(server, payload)
			continue
		}
		wrongReplies[kind](server)
		if kind != "silence" {
			_ = server.Close()
		}
	}
}

func TestWrongReplies(t *testing.T) {
	t.Parallel()
	for kind := range wrongReplies {
		for honest := range 3 {
			if kind == "wrong tree" && honest == 2 {
				// Nobody looks for a tree in the reply to a query.
				continue
			}
			t.Run(fmt.Sprint(kind, " after ", honest), func(t *testing.T) {
				t.Parallel()
				s := newSetup(t, func(c *PoolConfig) {
					command := c.Command
					c.Command = func() (string, []string, []string) {
						path, _, _ := command()
						return path, []string{"wrongReplies", kind, strconv.Itoa(honest)}, nil
					}
				})
				_, err := s.pool.Query(t.Context(), Query{SQL: "SELECT 1", Tables: s.tables, MaxRows: 1, Timeout: 2 * time.Second})
				if err == nil {
					t.Error("believed")
				}
				if stats := s.pool.Stats(); stats.Idle > 0 && kind != "wrong tree" {
					t.Errorf("the worker is kept: %+v", stats)
				}
			})
		}
	}
}

// orphan runs an endless query until it is killed.
func orphan(path string) {
	pool, err := NewPool(PoolConfig{Command: func() (string, []string, []string) { return path, []string{"worker"}, nil }})
	if err != nil {
		os.Exit(1)
	}
	if _, err := pool.Query(context.Background(), Query{SQL: "SELECT 1"}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	pool.mu.Lock()
	fmt.Println(pool.idle[0].PID)
	pool.mu.Unlock()
	_, _ = pool.Query(context.Background(), Query{SQL: endless, Timeout: time.Hour})
}

func TestWorkersDieWithTheServer(t *testing.T) {
	t.Parallel()
	path, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	if path == sandbox.Executable() { // this server's worker is another program
		path = servertest.CopyProgram(t)
	}
	server := exec.Command(path, "orphan", path)
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, bad := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || bad != nil {
		t.Fatalf("no worker: %q, %v", line, err)
	}
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	waittest.Until(t, "the worker is gone", func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
}

// What the kernel says of a worker.
func TestWorkerIsConfined(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.rows(t, "SELECT 1")
	pid := s.idle().PID
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	status := read("status")
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			t.Errorf("status lacks %q", want)
		}
	}
	limits := read("limits")
	for _, want := range []string{"Max file size             0", "Max core file size        0"} {
		if !strings.Contains(limits, want) {
			t.Errorf("limits lack %q:\n%s", want, limits)
		}
	}
	if strings.Contains(limits, "Max address space         unlimited") {
		t.Error("address space is unlimited")
	}
	if got := read("environ"); got != "GOGC=400\x00MALLOC_ARENA_MAX=2\x00" {
		t.Errorf("environment: %q", got)
	}
	if os.Geteuid() == 0 && !strings.Contains(status, fmt.Sprintf("Uid:\t%d\t%d", 65534, 65534)) {
		t.Errorf("runs as root:\n%s", status)
	}
}

// What a worker has on the descriptors that libraries write to is the null
// device, whoever runs it.
func TestWorkerOutputIsDiscarded(t *testing.T) {
	t.Parallel()
	s := newSetup(t, nil)
	s.rows(t, "SELECT 1")
	pid := s.idle().PID
	for fd := range 3 {
		if target, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd)); err != nil || target != os.DevNull {
			t.Errorf("%d is %s, %v", fd, target, err)
		}
	}
}

// Why a worker crashed is known all the same.
func TestCrashIsReported(t *testing.T) {
	t.Parallel()
	s := newSetup(t, func(c *PoolConfig) {
		command := c.Command
		c.Command = func() (string, []string, []string) {
			path, _, _ := command()
			return path, []string{"crash", "out of luck"}, nil
		}
	})
	if _, err := s.query(t, "SELECT 1"); err == nil || !strings.Contains(err.Error(), "panic: out of luck") {
		t.Errorf("a worker's: %v", err)
	}
	ingester := NewIngester(IngesterConfig{Command: s.pool.config.Command})
	if _, err := ingestWith(t, ingester); err == nil || !strings.Contains(err.Error(), "panic: out of luck") {
		t.Errorf("that of an ingest worker: %v", err)
	}
}

// A source, or an export, that ends an ingest worker for lack of memory is refused.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux limits the memory of workers")
	}
	path, err := plainWorker()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"2000", "300000000"} {
		ingester := NewIngester(IngesterConfig{Command: func() (string, []string, []string) { return path, []string{"allocate", size}, nil }})
		_, err := ingestWith(t, ingester)
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "the file needs more memory than it may use") {
			t.Errorf("blocks of %s bytes: %v", size, err)
		}
		_, err = ingester.Export(t.Context(), Admission{User: "alice"}, nil, nil, "", domain.Download{Format: domain.DownloadCSV}, 1000, t.TempDir())
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), sandbox.ExportNeedsMemory) {
			t.Errorf("an export with blocks of %s bytes: %v", size, err)
		}
	}
}

// allocate is a worker that takes memory in blocks of a size until there is no more.
func allocate(size string) {
	sandbox.Connect()
	block, _ := strconv.Atoi(size)
	if err := sandbox.LimitIngest(64<<20, 1); err != nil {
		panic(err)
	}
	for blocks := [][]byte{}; ; {
		blocks = append(blocks, make([]byte, block))
	}
}

// crash is a worker that dies of a fault of ours.
func crash(reason string) {
	sandbox.Connect()
	panic(reason)
}
