package a2aserver

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/auth"
)

// readers are the readers of requests of all bindings, over a host with a real store.
type readers struct {
	host  *Host
	agent *agentService
}

func newReaders(f *testing.F) readers {
	f.Helper()
	store := sqlstoretest.SQLite(f)
	withNamespace(f, store)
	h := newHost(f, store, fourEvents, withCards, func(cfg *Config) { cfg.Logger = quiet() }, attaches(store, maxAttached, &savedFiles{namesOnly: true}))
	return readers{h, h.services["echo"]}
}

// unlike returns a body whose message has an id of its own: one that comes again is not
// stored again.
func unlike(body []byte) []byte {
	return bytes.ReplaceAll(body, []byte(`"messageId":"m"`), []byte(`"messageId":"`+uuid.NewString()+`"`))
}

// serveAs has a handler answer a request of alice's.
func (r readers) serveAs(t *testing.T, serve func(w http.ResponseWriter, r *http.Request)) {
	t.Helper()
	w := httptest.NewRecorder()
	serve(w, httptest.NewRequest(http.MethodPost, "/", nil).WithContext(auth.WithCaller(t.Context(), alice)))
	if strings.Contains(w.Body.String(), "INTERNAL_ERROR") {
		t.Errorf("a fault: %s", w.Body)
	}
}

// checkStored reads what was stored last, by each of the ways there are.
func (r readers) checkStored(t *testing.T) {
	t.Helper()
	ctx := auth.WithCaller(t.Context(), alice)
	list, err := r.agent.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 1})
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	for _, listed := range list.Tasks {
		task, err := r.agent.GetTask(ctx, &a2a.GetTaskRequest{ID: listed.ID})
		if err != nil {
			t.Fatalf("get: %v", err)
		}
		text, err := a2ajson.AppendTask(nil, task)
		if err == nil {
			err = fromJSON(text, new(a2apb.Task))
		}
		if err == nil {
			err = protojson.Unmarshal(text, new(a2apb.Task)) // as strictly as clients do
		}
		if err == nil {
			_, err = encodeLegacy(task)
		}
		if err != nil {
			t.Fatalf("read %s: %v", text, err)
		}
	}
}

// hostileMessages are messages of 1.0 to begin with.
func hostileMessages() []string {
	part := func(text string) string {
		return fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[%s],"metadata":{"namespace":"alice/shop"}}}`, text)
	}
	return []string{
		part(`{"text":"how many?"}`), part(`{"text":""}`), part(`{"text":"a\u0000b"}`), part(`{"text":"x"},{"data":null}`), part(`{"text":"x"},{"url":""}`),
		part(`{"text":"x","metadata":{"a":[1e308,-0,null,{"b":"\u2028"}]}}`), part(`{"text":"x","filename":"a/b","mediaType":"TEXT/plain; charset=x"}`),
		part(`{"text":"x"},{"raw":"YSxiCg==","filename":"a.csv","mediaType":"text/csv","metadata":{"attachment":7}}`), part(`{"text":"x"},{"data":[{"a":[{}]},{"b":1e308}],"filename":"x"}`),
		part(`{"raw":""}`), part(`{}`), part(`null`), `{}`, `{"message":null}`, `{"tenant":"alice/shop",` + part(`{"text":"x"}`)[1:],
		`{"message":{"messageId":"\u0000","role":1,"parts":[{"text":"x"}],"contextId":"` + strings.Repeat("c", 256) + `","extensions":["",""],"referenceTaskIds":["x"]}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"x"}]},"metadata":{"namespace":"alice/shop","neverAsk":true},"configuration":{"historyLength":0,"acceptedOutputModes":["text"]}}`,
	}
}

func FuzzJSONRPCReader(f *testing.F) {
	r := newReaders(f)
	for _, message := range hostileMessages() {
		f.Add("SendMessage", []byte(message))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		body := append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`), params...), '}')
		r.serveAs(t, func(w http.ResponseWriter, request *http.Request) {
			transport{Config: &r.host.cfg, agent: r.agent}.serve(w, request, unlike(body))
		})
		r.checkStored(t)
	})
}

func FuzzLegacyReader(f *testing.F) {
	r := newReaders(f)
	for _, parts := range []string{
		`{"kind":"text","text":"x"}`, `{"kind":"text","text":"a\u0000","metadata":{"a":1e308}}`, `{"kind":"data","data":null}`, `{"kind":"data","data":{}}`,
		`{"kind":"file","file":{"bytes":"?","mimeType":"x"}}`, `{"kind":"file","file":{"uri":"x"}}`, `{"kind":"x"}`, `null`, ``,
	} {
		f.Add("message/send", []byte(`{"message":{"messageId":"m","role":"user","parts":[`+parts+`],"metadata":{"namespace":"alice/shop"}}}`))
	}
	f.Add("message/send", []byte(`{"message":null,"configuration":{"pushNotificationConfig":{}}}`))
	f.Add("tasks/pushNotificationConfig/set", []byte(`{"pushNotificationConfig":{"authentication":{"schemes":[]}}}`))
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		body := append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`), params...), '}')
		r.serveAs(t, func(w http.ResponseWriter, request *http.Request) {
			transport{Config: &r.host.cfg, agent: r.agent, legacy: true}.serve(w, request, unlike(body))
		})
		r.checkStored(t)
	})
}

func FuzzHTTPReader(f *testing.F) {
	r := newReaders(f)
	for _, message := range hostileMessages() {
		f.Add("POST", "message:send", "", []byte(message))
		f.Add("POST", "alice%2Fshop/message:stream", "A2A-Version=1.0", []byte(message))
	}
	f.Add("GET", "tasks", "pageSize=1&status=x&includeArtifacts=TRUE&historyLength=-1&statusTimestampAfter=0001-01-01T00:00:00Z", []byte(nil))
	f.Add("GET", "a/b/tasks/x/pushNotificationConfigs", "page_size=9&pageSize=1", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path, query string, body []byte) {
		operation, members, ok := routeHTTP(method, path)
		if !ok {
			return
		}
		r.serveAs(t, func(w http.ResponseWriter, request *http.Request) {
			request.URL.RawQuery = query
			httpTransport{transport{Config: &r.host.cfg, agent: r.agent}}.serve(w, request, operation, members, unlike(body))
		})
		r.checkStored(t)
	})
}

func FuzzGRPCReader(f *testing.F) {
	r := newReaders(f)
	for _, message := range hostileMessages() {
		in := new(a2apb.SendMessageRequest)
		if protojson.Unmarshal([]byte(message), in) != nil {
			continue
		}
		addMessage(f, in)
		in.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{
			"nan": structpb.NewNumberValue(math.NaN()), "none": nil, "empty": {}, "list": structpb.NewListValue(nil),
		}}
		addMessage(f, in)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in := new(a2apb.SendMessageRequest)
		if proto.Unmarshal(text, in) != nil {
			return
		}
		if in.GetMessage().GetMessageId() != "" {
			in.Message.MessageId += uuid.NewString()
		}
		ctx := context.WithValue(t.Context(), grpcCallerKey{}, grpcCaller{session: auth.Session{Caller: alice}})
		err := r.host.callGRPC(ctx, "SendMessage", in, noStream{})
		if said := status.Convert(err); said.Message() == jsonrpc.ToError(errStopping).Message {
			t.Errorf("a fault: %v", in)
		}
		r.checkStored(t)
	})
}

// noStream takes the response of a unary call.
type noStream struct{ grpc.ServerStream }

func (noStream) SendMsg(any) error { return nil }

func addMessage(f *testing.F, in proto.Message) {
	f.Helper()
	text, err := proto.Marshal(in)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
}
