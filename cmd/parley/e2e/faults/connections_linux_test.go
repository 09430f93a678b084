package faults

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/waittest"
)

// descriptorLimit sets the descriptor limit of the program.
const descriptorLimit = "RUN_WITH_DESCRIPTORS"

// rawConn is a connection to the server on which requests are written by hand.
type rawConn struct {
	net.Conn
	reader *bufio.Reader
}

func dial(p *e2etest.Process) *rawConn {
	p.T.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() })
	return &rawConn{conn, bufio.NewReader(conn)}
}

// get asks for a path and reads the answer. The connection stays open where the
// server keeps it open.
func (c *rawConn) get(path string) (*http.Response, string, error) {
	if err := c.SetDeadline(time.Now().Add(waittest.Limit)); err != nil {
		return nil, "", err
	}
	// A refused connection may be closed before the request is written.
	_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: parley\r\n\r\n")
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response, string(body), err
}

// fill opens idle connections until one is refused, and gives those that are open
// and the refusal.
func fill(p *e2etest.Process, most int) ([]*rawConn, *http.Response, string) {
	p.T.Helper()
	var open []*rawConn
	for range most {
		conn := dial(p)
		response, body, err := conn.get("/api/v1/a2a")
		if err != nil {
			p.T.Fatalf("connection %d: %v", len(open), err)
		}
		if response.StatusCode != http.StatusOK {
			return open, response, body
		}
		open = append(open, conn)
	}
	p.T.Fatalf("%d connections are open and none was refused", most)
	return nil, nil, ""
}

// healed waits until the server takes new connections again.
func healed(p *e2etest.Process) {
	p.T.Helper()
	for deadline := time.Now().Add(waittest.Limit); ; time.Sleep(10 * time.Millisecond) {
		conn := dial(p)
		response, _, err := conn.get("/readyz")
		_ = conn.Close()
		if err == nil && response.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			p.T.Fatalf("the server does not recover: %v", err)
		}
	}
}

func checkRefusal(t *testing.T, response *http.Response, body string) {
	t.Helper()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !response.Close ||
		!strings.Contains(body, `"error_code":"UNAVAILABLE"`) {
		t.Errorf("refused with %d %v %s", response.StatusCode, response.Header, body)
	}
}

// connectionsOfFew is how many connections a server with so few descriptors serves.
const (
	fewDescriptors   = descriptorLimit + "=128"
	connectionsOfFew = 64
)

// TestConnectionsOverTheLimitAreRefused returns the server few descriptors: half of
// them are for connections, each of which sends a request that is not whole.
func TestConnectionsOverTheLimitAreRefused(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{fewDescriptors})
	request := "POST /api/v1/query HTTP/1.1\r\nHost: parley\r\nAuthorization: Bearer " + p.Token("alice") +
		"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{"
	open := make([]*rawConn, connectionsOfFew)
	for i := range open {
		open[i] = dial(p)
		if _, err := io.WriteString(open[i], request); err != nil {
			t.Fatal(err)
		}
	}
	response, body, err := dial(p).get("/api/v1/a2a")
	if err != nil {
		t.Fatal(err)
	}
	checkRefusal(t, response, body)
	// Health checks are answered, also while others over the limit send nothing.
	for range connectionsOfFew {
		_, _ = io.WriteString(dial(p), "GET / HTTP/1.1\r\n")
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if response, body, err := dial(p).get(path); err != nil || response.StatusCode != http.StatusOK || !response.Close {
			t.Errorf("%s: %v %s, %v", path, response, body, err)
		}
	}
	// Those that are open are served.
	if _, err := io.WriteString(open[0], "}"); err != nil {
		t.Fatal(err)
	}
	if response, err := http.ReadResponse(open[0].reader, nil); err != nil || response.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("on an open connection: %v %v", response, err)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	healed(p)
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestIdleConnectionsMakeRoom opens more connections than the server serves, each
// when the one before has been answered: the oldest are closed for the others.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{fewDescriptors})
	var first *rawConn
	for i := range 2 * connectionsOfFew {
		conn := dial(p)
		if i == 0 {
			first = conn
		}
		// One that has been answered may not be idle yet: it is so in a moment.
		for deadline := time.Now().Add(waittest.Limit); ; conn = dial(p) {
			response, body, err := conn.get("/api/v1/a2a")
			if err == nil && response.StatusCode == http.StatusOK {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("connection %d: %v %s", i, err, body)
			}
		}
	}
	if _, _, err := first.get("/api/v1/a2a"); err == nil {
		t.Error("the oldest connection is still open")
	}
}

// TestRunningOutOfDescriptorsIsAnswered takes the descriptors away from a running
// server, and gives them back.
func TestRunningOutOfDescriptorsIsAnswered(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	var before unix.Rlimit
	if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	setLimit := func(limit unix.Rlimit) {
		t.Helper()
		if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
			t.Fatal(err)
		}
	}
	highest := 0
	for _, fd := range descriptors(p) {
		highest = max(highest, fd)
	}
	setLimit(unix.Rlimit{Cur: uint64(highest) + 1, Max: before.Max})
	_, response, body := fill(p, highest+1)
	checkRefusal(t, response, body)
	setLimit(before)
	healed(p)
}

func descriptors(p *e2etest.Process) []int {
	p.T.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p.Cmd.Process.Pid))
	if err != nil {
		p.T.Fatal(err)
	}
	descriptors := make([]int, len(names))
	for i, name := range names {
		if descriptors[i], err = strconv.Atoi(filepath.Base(name)); err != nil {
			p.T.Fatal(err)
		}
	}
	return descriptors
}

// TestLongHeadersAreRefusedBeforeTheyAreRead sends more than the server keeps of a
// request whose sender it does not know.
func TestLongHeadersAreRefusedBeforeTheyAreRead(t *testing.T) {
	t.Parallel()
	conn := dial(e2etest.Serve(t, t.TempDir(), nil))
	response, _, err := conn.get("/healthz HTTP/1.1\r\nHost: parley\r\nX-Long: " + strings.Repeat("x", 70_000) + "\r\nX-Rest:")
	if err != nil || response.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%v %v", response, err)
	}
}

// TestHalfOpenConnectionsAreCheapAndCutOff opens connections whose requests never
// end: that say nothing, begin a header, or send long ones and many.
func TestHalfOpenConnectionsAreCheapAndCutOff(t *testing.T) {
	t.Parallel()
	const start = "GET /healthz HTTP/1.1\r\nHost: parley\r\nX-Half: "
	for name, text := range map[string]string{
		"short": start,
		"long":  start + strings.Repeat("x", 60_000),
		"many":  start + strings.Repeat("x\r\nX-More: ", 3_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkHalfOpen(t, text)
		})
	}
}

func checkHalfOpen(t *testing.T, text string) {
	const count = 1000
	p := e2etest.Serve(t, t.TempDir(), nil)
	before := p.PeakMemory()
	conns := make([]*rawConn, count)
	for i := range conns {
		conns[i] = dial(p)
		if i%10 > 0 {
			// Long ones may be cut off while they are written.
			_, _ = io.WriteString(conns[i], text)
		}
	}
	// Until all are accepted. Where that takes longer than a request may, some are
	// cut off already.
	for deadline := time.Now().Add(8 * time.Second); len(descriptors(p)) < count && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	healed(p)
	if grown := p.PeakMemory() - before; !e2etest.RaceDetector && grown > 96<<20 {
		t.Errorf("%d half-open connections cost %d MiB", count, grown>>20)
	} else {
		t.Logf("%d half-open connections cost %d MiB", count, grown>>20)
	}
	for i, conn := range conns {
		if err := conn.SetReadDeadline(time.Now().Add(waittest.Limit)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is not cut off", i)
		}
	}
}

// TestHTTP2ConnectionsMakeRoom is TestIdleConnectionsMakeRoom for HTTP/2, at both addresses
// that are listened on: they share the limit.
func TestHTTP2ConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{fewDescriptors}, "--grpc-listen", "127.0.0.1:0")
	grpc := p.GRPCAddress()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	for i := range 2 * connectionsOfFew {
		address := p.URL
		if i%2 == 1 {
			address = "http://" + grpc
		}
		client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
		t.Cleanup(client.CloseIdleConnections)
		response, err := client.Get(address + "/healthz")
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		_ = response.Body.Close()
		if response.ProtoMajor != 2 || response.StatusCode == http.StatusServiceUnavailable {
			t.Fatalf("connection %d: %s %s", i, response.Proto, response.Status)
		}
	}
	healed(p)
}
