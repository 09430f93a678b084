package a2aserver

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/auth"
)

// What a request has beside files takes many times its size in memory, and is limited.
func TestStructureLimit(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	saved := &savedFiles{namesOnly: true}
	const limit = 16 << 10
	b := newBindings(t, newHost(t, store, fourEvents, withCards, attaches(store, maxAttached, saved), func(cfg *Config) { cfg.MaxStructure = limit }))
	rows := `{"data":[` + strings.Repeat(`{"a":1},`, limit/8) + `{"a":1}]}`
	for name, call := range allBindings {
		id := strings.ReplaceAll(name, "+", "-")
		if got := call(b, alice, "SendMessage", withParts(id, rawPart(strings.Repeat("x", 3*limit), "a.csv", "")), protocolVersion); got.reason != "" {
			t.Errorf("%s, a file: %s", name, got)
		}
		if name == "gRPC" {
			in := new(a2apb.SendMessageRequest)
			if err := protojson.Unmarshal([]byte(withParts("g", rows)), in); err != nil {
				t.Fatal(err)
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "x-user", "alice")
			_, err := a2apb.NewA2AServiceClient(b.conn).SendMessage(ctx, in)
			if err == nil || !strings.Contains(err.Error(), "send a large table as a file") {
				t.Errorf("gRPC, a table: %v", err)
			}
			continue
		}
		if got := call(b, alice, "SendMessage", withParts(id+"2", rows), protocolVersion); !got.unsaid && (got.code != -32602 || !strings.Contains(got.message, "send a large table as a file")) {
			t.Errorf("%s, a table: %s", name, got)
		}
	}
	if got := len(saved.all()); got != len(allBindings) {
		t.Errorf("%d files", got)
	}
}

// While a run works, the host has none of its files in memory.
func TestAttachmentsLeaveMemory(t *testing.T) {
	// Not parallel: it measures the heap.
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	const size, each = 1 << 20, 4
	var gate atomic.Pointer[chan struct{}]
	var waits script = func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		select {
		case <-*gate.Load():
		case <-ctx.Done():
		}
		yield(completed(request), nil)
	}
	saved := &savedFiles{namesOnly: true}
	h := newHost(t, store, waits, attaches(store, size, saved), func(cfg *Config) { cfg.DefaultAgent = "echo" })
	message := func(id string) string {
		return withParts(id, rawPart(strings.Repeat("x", size), "a.csv", ""))
	}
	post := func() *http.Request { return httptest.NewRequest(http.MethodPost, "/", nil).WithContext(as(t, alice)) }
	heap := func() int64 {
		runtime.GC()
		runtime.GC() // what was in pools
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	// Without clients, whose copies would count.
	for name, send := range map[string]func(id string) error{
		"JSON-RPC": func(id string) error {
			return h.Call(httptest.NewRecorder(), post(), alice, "echo", "", []byte(rpc("1", "SendMessage", message(id))))
		},
		"JSON-RPC stream": func(id string) error {
			return h.Call(httptest.NewRecorder(), post(), alice, "echo", "", []byte(rpc("1", "SendStreamingMessage", message(id))))
		},
		"HTTP+JSON": func(id string) error {
			return h.CallHTTP(httptest.NewRecorder(), post(), alice, "echo", "message:send", []byte(message(id)))
		},
		"0.3": func(id string) error {
			return h.Call(httptest.NewRecorder(), post(), alice, "echo", "", []byte(rpc("1", "message/send", `{"message":{"kind":"message","messageId":"`+id+
				`","role":"user","metadata":{"namespace":"shop"},"parts":[{"kind":"text","text":"?"},{"kind":"file","file":{"name":"a.csv","bytes":"`+
				base64.StdEncoding.EncodeToString(make([]byte, size))+`"}}]}}`)))
		},
		"gRPC": func(id string) error {
			in := new(a2apb.SendMessageRequest)
			if err := protojson.Unmarshal([]byte(message(id)), in); err != nil {
				return err
			}
			return h.callGRPC(context.WithValue(t.Context(), grpcCallerKey{}, grpcCaller{session: auth.Session{Caller: alice}}), "SendMessage", in, noStream{})
		},
	} {
		goOn := make(chan struct{})
		gate.Store(&goOn)
		before, already := heap(), len(saved.all())
		var asked sync.WaitGroup
		for i := range each {
			asked.Go(func() {
				if err := send(fmt.Sprint(strings.ReplaceAll(name, "+", "-"), i)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		waittest.Until(t, "all are stored", func() bool { return len(saved.all()) == already+each || t.Failed() })
		var after int64
		waittest.Until(t, "the files of "+name+" are out of memory", func() bool {
			after = heap()
			return after-before < size || t.Failed()
		})
		t.Logf("%s: %d files of %d MiB: %d KiB more", name, each, size>>20, (after-before)>>10)
		close(goOn)
		asked.Wait()
	}
}
