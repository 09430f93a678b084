package a2aserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/protobuf/proto"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/auth"
	"parley/internal/fair"
	"parley/storage/sqlstore"
)

// smallReads is a queue of large answers that a test can fill.
func smallReads() *fair.Queue {
	return fair.New(fair.Config{
		What: "large answers", Slots: 96 << 10, SlotsPerUser: 32 << 10, MaxQueued: 10, MaxQueuedPerUser: 1, FreeWeight: 16 << 10, FirstImmediately: true,
	})
}

// TestLargeReadsTakeTurns has a user's memory for large answers taken: reads of
// tasks with their artifacts are refused, replays wait, and others are served.
func TestLargeReadsTakeTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reads := smallReads()
		h := newHost(t, store, script(func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_ = yield(working(request), nil) &&
				yield(artifact(request, "large", a2a.NewTextPart(strings.Repeat("x", 30<<10))), nil) &&
				yield(artifact(request, "small", a2a.NewTextPart("x")), nil) &&
				yield(completed(request), nil)
		}), func(cfg *Config) { cfg.Reads = reads })
		server := serveHost(t, h)
		s := h.service("echo")
		sent := sendTask(t, s, alice, toShop("How many?"))
		id := sent.ID
		get := rpcText("GetTask", map[string]any{"id": id})
		list := rpcText("ListTasks", map[string]any{"includeArtifacts": true})
		post := func(body string) (int, string) {
			t.Helper()
			response := postAs(t, server, alice, body)
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return response.StatusCode, string(text)
		}

		running, waiting := reads.AcquireUnboundedN("alice", 32<<10), reads.AcquireUnboundedN("alice", 32<<10)
		for _, body := range []string{get, list} {
			if status, text := post(body); status != http.StatusTooManyRequests || !strings.Contains(text, "RESOURCE_EXHAUSTED") {
				t.Errorf("%s: %d %.200s", body, status, text)
			}
		}
		if status, text := post(rpcText("ListTasks", map[string]any{})); status != http.StatusOK || strings.Contains(text, `"artifacts"`) {
			t.Errorf("a list without artifacts: %d %.200s", status, text)
		}
		if other, err := reads.AcquireN("bob", 32<<10); err != nil || other.Wait(t.Context()) != nil {
			t.Errorf("bob waits for alice: %v", err)
		} else {
			other.Release()
		}
		replay := postAs(t, server, alice, rpcText("SubscribeToTask", map[string]any{"id": id}), "Last-Event-ID", "0")
		waiting.Release()
		running.Release()

		var events []sseEvent
		lines := bufio.NewReader(replay.Body)
		for {
			event, err := read(lines)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, event)
		}
		if got := ids(events); got != "1 2 3 4" {
			t.Errorf("replayed: %s", got)
		}
		for _, body := range []string{get, list} {
			if status, text := post(body); status != http.StatusOK || len(text) < 30<<10 {
				t.Errorf("%s: %d %.200s", body, status, text)
			}
		}
		// A batch reads its tasks one by one: together they are more than alice may have.
		var answers []struct{ Result a2a.Task }
		if status, text := post("[" + get + "," + get + "]"); status != http.StatusOK || json.Unmarshal([]byte(text), &answers) != nil || len(answers) != 2 {
			t.Errorf("a batch: %d %.200s", status, text)
		}
		waittest.Until(t, "nothing is held", func() bool { return reads.Stats().Running == 0 })

		// Others have all there is.
		for _, user := range []string{"bob", "carol", "dave"} {
			defer reads.AcquireUnboundedN(user, 32<<10).Release()
		}
		for _, body := range []string{get, list} {
			if status, text := post(body); status != http.StatusOK || len(text) < 30<<10 {
				t.Errorf("%s beside others: %d %.200s", body, status, text)
			}
		}
	})
}

// TestSmallReadsNeverWait has a user's memory for large answers taken: tasks with
// small artifacts are read, listed and replayed all the same.
func TestSmallReadsNeverWait(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reads := smallReads()
		h := newHost(t, store, fourEvents, func(cfg *Config) { cfg.Reads = reads })
		server := serveHost(t, h)
		s := h.service("echo")
		sent := sendTask(t, s, alice, toShop("?"))
		defer reads.AcquireUnboundedN("alice", 32<<10).Release()
		defer reads.AcquireUnboundedN("alice", 32<<10).Release()
		id := sent.ID
		for _, body := range []string{
			rpcText("GetTask", map[string]any{"id": id}),
			rpcText("ListTasks", map[string]any{"includeArtifacts": true}),
		} {
			response := postAs(t, server, alice, body)
			if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s: %d %.200s, %v", body, response.StatusCode, text, err)
			}
		}
		replay := bufio.NewReader(postAs(t, server, alice, rpcText("SubscribeToTask", map[string]any{"id": id}), "Last-Event-ID", "0").Body)
		for number := range 4 {
			if event, err := read(replay); err != nil || event.id != strconv.Itoa(number+1) {
				t.Fatalf("replayed %+v, %v", event, err)
			}
		}
	})
}

// blockedWriter is the response of a client that reads nothing.
type blockedWriter struct {
	*httptest.ResponseRecorder
	unblock <-chan struct{}
}

func (w blockedWriter) Write(p []byte) (int, error) {
	<-w.unblock
	return len(p), nil
}

// TestUnreadGRPC has clients of gRPC that do not read: what waits to be sent to them counts as
// their memory until the call ends.
func TestUnreadGRPC(t *testing.T) {
	t.Parallel()
	reads := fair.New(fair.Config{What: "large answers", Slots: 1 << 20, SlotsPerUser: 1 << 20, MaxQueued: 9, MaxQueuedPerUser: 9, FreeWeight: 16 << 10, FirstImmediately: true})
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, script(func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		_ = yield(working(request), nil) && yield(artifact(request, "large", a2a.NewTextPart(strings.Repeat("x", 128<<10))), nil) && yield(completed(request), nil)
	}), func(cfg *Config) { cfg.Reads = reads })
	task := sendTask(t, h.service("echo"), alice, toShop("How many?"))
	message := &a2apb.SendMessageRequest{Tenant: "echo/shop", Message: &a2apb.Message{MessageId: "m1", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "How many?"}}}}}
	for method, in := range map[string]proto.Message{
		"GetTask": &a2apb.GetTaskRequest{Tenant: "echo", Id: string(task.ID)}, "SendStreamingMessage": message,
	} {
		body, err := proto.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/lf.a2a.v1.A2AService/"+method,
			bytes.NewReader(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)))
		r.ProtoMajor, r.ProtoMinor = 2, 0
		r.Header.Set("Content-Type", "application/grpc")
		r.Header.Set("A2A-Version", "1.0")
		unblock, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			h.ServeGRPC(blockedWriter{httptest.NewRecorder(), unblock}, r, auth.Session{Caller: alice}, nil)
		}()
		waittest.Until(t, method+" counts", func() bool { return reads.Stats().Running > 128<<10 })
		close(unblock)
		<-ended
		if left := reads.Stats().Running; left != 0 {
			t.Errorf("%s: %d bytes are reserved after it", method, left)
		}
	}
}
