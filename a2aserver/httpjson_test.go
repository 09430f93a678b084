package a2aserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// TestEveryAnnotationIsRouted has the paths from the protocol itself.
func TestEveryAnnotationIsRouted(t *testing.T) {
	t.Parallel()
	values := regexp.MustCompile(`\{(\w+)(=\*)?\}`)
	methods := a2apb.File_a2av1_proto.Services().ByName("A2AService").Methods()
	for i := range methods.Len() {
		rule := proto.GetExtension(methods.Get(i).Options(), annotations.E_Http).(*annotations.HttpRule)
		for _, r := range append(rule.GetAdditionalBindings(), rule) {
			method, path := http.MethodPost, r.GetPost()
			switch {
			case r.GetGet() != "":
				method, path = http.MethodGet, r.GetGet()
			case r.GetDelete() != "":
				method, path = http.MethodDelete, r.GetDelete()
			}
			operation, members, ok := routeHTTP(method, values.ReplaceAllString(path, "of-$1"))
			if !ok || operation.rpc != string(methods.Get(i).Name()) || operation.body != (r.GetBody() == "*") {
				t.Errorf("%s %s: %+v, %v", method, path, operation, ok)
			}
			var said []string
			for _, m := range members {
				if m.value != "of-"+snakeCase(m.name) {
					t.Errorf("%s: %+v", path, m)
				}
				said = append(said, snakeCase(m.name))
			}
			for _, named := range values.FindAllStringSubmatch(path, -1) {
				if !slices.Contains(said, named[1]) {
					t.Errorf("%s: without %s", path, named[1])
				}
			}
		}
	}
}

func TestRouteHTTP(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ method, path, rpc, members string }{
		{"POST", "tasks/x:subscribe", "SubscribeToTask", "id=x"},
		{"GET", "alice/shop/tasks/x", "GetTask", "id=x tenant=alice/shop"},
		{"GET", "alice%2Fshop/tasks/x%3Ay", "GetTask", "id=x:y tenant=alice/shop"},
		{"GET", "tasks/tasks", "ListTasks", "tenant=tasks"},
		{"POST", "alice/tasks/message:send", "SendMessage", "tenant=alice/tasks"},
		{"POST", "tasks/x", "", ""},
		{"POST", "tasks/:cancel", "", ""},
		{"GET", "tasks/", "", ""},
		{"GET", "//tasks", "", ""},
		{"GET", "%zz/tasks", "", ""},
		{"GET", "", "", ""},
		{"GET", "message:send", "", ""},
		{"PATCH", "tasks", "", ""},
	} {
		operation, members, ok := routeHTTP(test.method, test.path)
		var said []string
		for _, m := range members {
			said = append(said, m.name+"="+m.value)
		}
		if ok != (test.rpc != "") || operation.rpc != test.rpc || strings.Join(said, " ") != test.members {
			t.Errorf("%s %s: %s %q, %v", test.method, test.path, operation.rpc, said, ok)
		}
	}
}

// sendHTTP sends a request of the HTTP+JSON binding.
func sendHTTP(t testing.TB, server *httptest.Server, who domain.Caller, method, path, body string, header ...string) *http.Response {
	t.Helper()
	return sendAs(t, server, who, method, "/"+path, body, header...)
}

// textOf reads an answer to its end.
func textOf(t testing.TB, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventsOf reads a stream to its end.
func eventsOf(t testing.TB, response *http.Response) (events []sseEvent) {
	t.Helper()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("%d %s: %s", response.StatusCode, got, textOf(t, response))
	}
	for lines := bufio.NewReader(response.Body); ; {
		event, err := read(lines)
		if err == io.EOF {
			return events
		} else if err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
}

// TestHTTPStreams has the same stream in both bindings, byte by byte, from any event on.
func TestHTTPStreams(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		server := serveHost(t, newHost(t, store, fourEvents))
		body, err := json.Marshal(toShop("<how> many & why?"))
		if err != nil {
			t.Fatal(err)
		}
		streamed := eventsOf(t, sendHTTP(t, server, alice, "POST", "message:stream", string(body)))
		if ids(streamed) != "1 2 3 4" {
			t.Fatalf("streamed: %q", streamed)
		}
		var first a2a.StreamResponse
		if err := json.Unmarshal([]byte(streamed[0].data), &first); err != nil {
			t.Fatal(err)
		}
		id := string(first.Event.TaskInfo().TaskID)
		for _, after := range []string{"0", "2"} {
			rpc := eventsOf(t, postAs(t, server, alice, rpcText("SubscribeToTask", map[string]any{"id": id}), "Last-Event-ID", after))
			for _, method := range []string{"GET", "POST"} {
				got := eventsOf(t, sendHTTP(t, server, alice, method, "tasks/"+id+":subscribe", "", "Last-Event-ID", after))
				if ids(got) != ids(rpc) || got[len(got)-1] != streamed[3] {
					t.Errorf("%s after %s: %q, JSON-RPC %q", method, after, got, rpc)
				}
				for i := range got {
					if want := `{"jsonrpc":"2.0","id":1,"result":` + got[i].data + "}"; rpc[i].data != want {
						t.Errorf("event %s: %s, JSON-RPC %s", got[i].id, got[i].data, rpc[i].data)
					}
				}
			}
		}
		// It has ended: without a number there is nothing to stream.
		refused := sendHTTP(t, server, alice, "GET", "tasks/"+id+":subscribe", "")
		text := textOf(t, refused)
		if refused.StatusCode != http.StatusBadRequest || !strings.HasPrefix(text, `{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"the task has ended`) ||
			!strings.Contains(text, `"reason":"UNSUPPORTED_OPERATION","domain":"a2a-protocol.org"`) {
			t.Errorf("subscribed to what has ended: %d %s", refused.StatusCode, text)
		}
	})
}

// TestHTTPAnswers has the results of JSON-RPC as they are.
func TestHTTPAnswers(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, fourEvents))
	body, err := json.Marshal(toShop("how many?"))
	if err != nil {
		t.Fatal(err)
	}
	sent := sendHTTP(t, server, alice, "POST", "message:send", string(body), "Accept", "application/a2a+json, application/json")
	if got := sent.Header.Get("Content-Type"); got != "application/a2a+json" {
		t.Errorf("the media type is %q", got)
	}
	var answered struct{ Task a2a.Task }
	if err := json.NewDecoder(sent.Body).Decode(&answered); err != nil || answered.Task.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("sent: %+v, %v", answered, err)
	}
	id := string(answered.Task.ID)
	for _, test := range []struct {
		method, path, rpc string
		params            any
	}{
		{"GET", "tasks/" + id, "GetTask", map[string]any{"id": id}},
		{"GET", "tasks/" + id + "?historyLength=0", "GetTask", map[string]any{"id": id, "historyLength": 0}},
		{"GET", "tasks/" + id + "?history_length=0&A2A-Version=1.0&other=x", "GetTask", map[string]any{"id": id, "historyLength": 0}},
		{"GET", "tasks", "ListTasks", nil},
		{"GET", "tasks?includeArtifacts=true&pageSize=1", "ListTasks", map[string]any{"includeArtifacts": true, "pageSize": 1}},
		{"GET", "tasks?status=TASK_STATE_WORKING", "ListTasks", map[string]any{"status": "TASK_STATE_WORKING"}},
		{"GET", "tasks?lastUpdatedAfter=2999-01-01T00:00:00Z", "ListTasks", map[string]any{"statusTimestampAfter": "2999-01-01T00:00:00Z"}},
	} {
		over := sendHTTP(t, server, alice, test.method, test.path, "")
		got := textOf(t, over)
		want := textOf(t, postAs(t, server, alice, rpcText(test.rpc, test.params)))
		if over.StatusCode != http.StatusOK || over.Header.Get("Content-Type") != "application/json" ||
			`{"jsonrpc":"2.0","id":1,"result":`+strings.TrimSuffix(got, "\n")+"}\n" != want {
			t.Errorf("%s %s: %d %s, JSON-RPC %s", test.method, test.path, over.StatusCode, got, want)
		}
	}
}

func TestHTTPRefusals(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, fourEvents))
	const unknown = "tasks/00000000-0000-0000-0000-000000000000"
	for _, test := range []struct {
		method, path, body string
		status             int
		said               string
	}{
		{"GET", unknown, "", 404, `"status":"NOT_FOUND","message":"task not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]`},
		{"POST", unknown + ":cancel", `{"id":"another","metadata":{}}`, 404, "TASK_NOT_FOUND"},
		{"POST", unknown + ":subscribe", "", 404, "TASK_NOT_FOUND"},
		{"GET", unknown + "?historyLength=-1", "", 400, "INVALID_PARAMS"},
		{"GET", unknown + "?historyLength=many", "", 400, "INVALID_PARAMS"},
		{"GET", unknown + "?historyLength=1&history_length=2", "", 400, "historyLength is given more than once"},
		{"GET", unknown + "?A2A-Version=7.0", "", 400, "VERSION_NOT_SUPPORTED"},
		{"GET", "tasks?pageToken=x", "", 400, "INVALID_PARAMS"},
		{"GET", "tasks?pageSize=0", "", 400, "INVALID_PARAMS"},
		{"GET", "tasks?status=GONE", "", 400, "INVALID_PARAMS"},
		{"GET", "tasks?includeArtifacts=yes", "", 400, "INVALID_PARAMS"},
		{"GET", "tasks?statusTimestampAfter=yesterday", "", 400, "INVALID_PARAMS"},
		{"POST", "message:send", "{", 400, "PARSE_ERROR"},
		{"POST", "message:send", "\xff", 400, "PARSE_ERROR"},
		{"POST", "message:send", "[]", 400, "INVALID_PARAMS"},
		{"POST", "message:send", "", 400, "message is required"},
		{"POST", "message:stream", "{}", 400, "message is required"},
		{"POST", "alice/shop/message:send", `{"message":{},"message":{}}`, 400, "message is there twice"},
		{"POST", unknown + "/pushNotificationConfigs", "{}", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"DELETE", unknown + "/pushNotificationConfigs/x", "", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
	} {
		response := sendHTTP(t, server, alice, test.method, test.path, test.body)
		if text := textOf(t, response); response.StatusCode != test.status || !strings.Contains(text, test.said) || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, response.StatusCode, text)
		}
	}
}

// TestHTTPTenant has the tenant of the path for the one of the body.
func TestHTTPTenant(t *testing.T) {
	t.Parallel()
	var got []string
	agent := echo()
	agent.send = func(_ context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		got = append(got, request.Tenant)
		return &a2a.Task{ID: "t1"}, nil
	}
	for _, path := range []string{"message:send", "alice/shop/message:send", "alice%2Fshop/message:send"} {
		operation, members, ok := routeHTTP(http.MethodPost, path)
		if !ok {
			t.Fatal(path)
		}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		body := `{"tenant":"bob/den",` + aMessage[1:]
		httpTransport{transport{Config: testConfig(io.Discard), agent: agent}}.serve(httptest.NewRecorder(), r, operation, members, []byte(body))
	}
	if want := []string{"bob/den", "alice/shop", "alice/shop"}; !slices.Equal(got, want) {
		t.Errorf("tenants %q", got)
	}
}

// A stream that fails says so in an event of its own.
func TestHTTPStreamFails(t *testing.T) {
	t.Parallel()
	agent := echo()
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) {
		return newSubscription(domain.ErrTooMany, `{"statusUpdate":{}}`), nil
	}
	w := httptest.NewRecorder()
	operation, _, _ := routeHTTP(http.MethodPost, "message:stream")
	httpTransport{transport{Config: testConfig(io.Discard), agent: agent}}.serve(w, httptest.NewRequest(http.MethodPost, "/", nil), operation, nil, []byte(aMessage))
	const want = "id: 1\ndata: {\"statusUpdate\":{}}\n\nevent: error\ndata: {\"error\":{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\","
	if got := w.Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got %s", got)
	}
}

// Requests that no agent has seen are refused in the same form.
func TestRefuseHTTP(t *testing.T) {
	t.Parallel()
	h := &Host{cfg: *testConfig(io.Discard)}
	for status, want := range map[int]string{
		401: `"status":"UNAUTHENTICATED","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"UNAUTHENTICATED","domain":"a2a-protocol.org"}]`,
		413: `"status":"INVALID_ARGUMENT","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_REQUEST",`,
		415: `"reason":"INVALID_REQUEST"`, // the reason CONTENT_TYPE_NOT_SUPPORTED is for parts of messages, with 400
		404: `"status":"NOT_FOUND"`,
		429: `"status":"RESOURCE_EXHAUSTED"`,
		418: `"status":"UNKNOWN","message":"no","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"HTTP_418"`,
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Accept", mediaA2A)
		h.RefuseHTTP(w, r, status, "no")
		got := w.Body.String()
		if w.Code != status || !strings.HasPrefix(got, fmt.Sprintf(`{"error":{"code":%d,`, status)) || !strings.Contains(got, want) || w.Header().Get("Content-Type") != mediaA2A {
			t.Errorf("%d: %d %s", status, w.Code, got)
		}
	}
}
