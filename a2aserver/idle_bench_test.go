package a2aserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
)

// asIdleServer makes the test binary a server of so many runs that wait.
const asIdleServer = "RUN_AS_IDLE_SERVER"

// memory is what a process takes, in bytes: what Go says of its heap and stacks,
// and what the kernel says of all of it.
type memory struct{ Go, Resident uint64 }

func memoryNow() (m memory, err error) {
	for range 2 { // what finalizers let go of is garbage the second time
		debug.FreeOSMemory()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	m.Go = stats.HeapInuse + stats.StackInuse
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return m, err
	}
	var pages, resident uint64
	_, err = fmt.Sscan(string(text), &pages, &resident)
	m.Resident = resident * uint64(os.Getpagesize())
	return m, err
}

// TestIdleServer is the other process of BenchmarkIdleStreams, and no test.
func TestIdleServer(t *testing.T) {
	streams, err := strconv.Atoi(os.Getenv(asIdleServer))
	if err != nil {
		t.Skip("for BenchmarkIdleStreams")
	}
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(working(request), nil) {
			<-ctx.Done()
		}
	}), func(cfg *Config) {
		cfg.MaxRuns, cfg.MaxWorking, cfg.UserRuns = 2*streams+2, streams+1, streams+1
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = h.Call(w, r, domain.Caller{Username: "alice"}, "echo", "", body)
		}
		if err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /memory", func(w http.ResponseWriter, _ *http.Request) {
		m, err := memoryNow()
		if err != nil {
			t.Error(err)
		}
		_ = json.NewEncoder(w).Encode(m)
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	fmt.Printf("idle server at %s\n", listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark is over
	_ = server.Close()
}

// startIdleServer returns the address of a server in a process of its own.
func startIdleServer(b *testing.B, streams int) string {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), self, "-test.run=^TestIdleServer$")
	cmd.Env = append(os.Environ(), fmt.Sprint(asIdleServer, "=", streams))
	lines := startBeside(b, cmd)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatalf("no server: %v", err)
		}
		if address, ok := strings.CutPrefix(strings.TrimSpace(line), "idle server at "); ok {
			go func() { _, _ = io.Copy(io.Discard, lines) }()
			return address
		}
	}
}

func askMemory(b *testing.B, address string) memory {
	b.Helper()
	response, err := http.Get("http://" + address + "/memory")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var m memory
	if err := json.NewDecoder(response.Body).Decode(&m); err != nil {
		b.Fatal(err)
	}
	return m
}

// openIdle opens a stream and reads its first event.
func openIdle(b *testing.B, address, body string) net.Conn {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
	if err == nil {
		_, err = fmt.Fprintf(conn, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	if err != nil {
		b.Fatal(err)
	}
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		if strings.HasPrefix(line, "data: ") {
			return conn
		}
	}
}

// BenchmarkIdleStreams says what a stream costs the server that has an event
// behind it and waits for the next, its run included.
func BenchmarkIdleStreams(b *testing.B) {
	benchtest.Each(b, "streams", benchtest.Sizes(1000, 1000, 10_000), benchmarkIdleStreams)
}

func benchmarkIdleStreams(b *testing.B, streams int) {
	body := newRequests("SendStreamingMessage")
	var before, after memory
	for b.Loop() {
		address := startIdleServer(b, streams)
		_ = openIdle(b, address, body.next()).Close() // what the first one brings along is not each one's
		before = askMemory(b, address)
		conns := make([]net.Conn, streams)
		for i := range conns {
			conns[i] = openIdle(b, address, body.next())
		}
		after = askMemory(b, address)
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
	each := func(before, after uint64) float64 {
		return (float64(after) - float64(before)) / float64(streams) / 1024
	}
	b.ReportMetric(each(before.Go, after.Go), "KiB/stream")
	b.ReportMetric(each(before.Resident, after.Resident), "resident-KiB/stream")
	b.ReportMetric(0, "ns/op")
}
