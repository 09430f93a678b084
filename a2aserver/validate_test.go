package a2aserver

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
)

// The host refuses bad requests itself, so that it can be served by any transport.
func TestOtherTransports(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	handler := newHost(t, store, fourEvents).service("echo")
	sent, err := handler.SendMessage(as(t, alice), toShop("?"))
	if err != nil {
		t.Fatal(err)
	}
	id := string(sent.(*a2a.Task).ID)
	rest, rpc := a2asrv.NewRESTHandler(handler), a2asrv.NewJSONRPCHandler(handler)
	message := `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"?"}],"metadata":{"namespace":"shop"}}`
	for _, test := range []struct{ method, path, body, want string }{
		{"SendMessage", "/message:send", message + "}", `"TASK_STATE_COMPLETED"`},
		{"SendMessage", "/message:send", "{}", "message is required"},
		{"SendStreamingMessage", "/message:stream", "{}", "message is required"},
		{"SendMessage", "/message:send", message + `,"configuration":{"historyLength":-1}}`, "configuration.historyLength must not be negative"},
		{"SendMessage", "/message:send", message + `,"configuration":{"taskPushNotificationConfig":{}}}`, "ush notification"},
		{"SendMessage", "/message:send", strings.Replace(message, `"shop"`, `"nothing"`, 1) + "}", "namespace not found"},
		{"GetTask", "", `{"id":"` + id + `","historyLength":-1}`, "historyLength must not be negative"},
		{"GetTask", "", `{}`, "id is required"},
		{"GetTask", "", `{"id":"none"}`, "task not found"},
		{"CancelTask", "", `{}`, "id is required"},
		{"ListTasks", "", `{"pageSize":101}`, "pageSize must be from 1 to 100"},
		{"ListTasks", "", `{"status":"working"}`, "status must be"},
		{"ListTasks", "", `{"historyLength":-1}`, "historyLength must not be negative"},
	} {
		check := func(transport http.Handler, path, body string) {
			w := httptest.NewRecorder()
			transport.ServeHTTP(w, httptest.NewRequestWithContext(as(t, alice), http.MethodPost, path, strings.NewReader(body)))
			if !strings.Contains(w.Body.String(), test.want) {
				t.Errorf("%s: %s\n%s, want %q", test.method, body, w.Body, test.want)
			}
		}
		check(rpc, "/", `{"jsonrpc":"2.0","id":1,"method":"`+test.method+`","params":`+test.body+`}`)
		if test.path != "" {
			check(rest, test.path, test.body)
		}
	}
}

func TestMetadataLimit(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, fourEvents).service("echo")
	large := map[string]any{"a": strings.Repeat("x", maxMetadata)}
	for name, test := range map[string]struct {
		change func(*a2a.SendMessageRequest)
		ok     bool
	}{
		"message": {change: func(r *a2a.SendMessageRequest) { r.Message.Metadata["a"] = large }},
		"part":    {change: func(r *a2a.SendMessageRequest) { r.Message.Parts[0].Metadata = large }},
		"parts": {change: func(r *a2a.SendMessageRequest) {
			r.Message.Parts = append(r.Message.Parts, slices.Repeat(a2a.ContentParts{a2a.NewTextPart("")}, maxMetadata/10)...)
		}},
		"id":      {change: func(r *a2a.SendMessageRequest) { r.Message.ID = strings.Repeat("x", maxMetadata) }},
		"answer":  {change: func(r *a2a.SendMessageRequest) { r.Message.TaskID, r.Message.Metadata["a"] = "x", large }},
		"request": {change: func(r *a2a.SendMessageRequest) { r.Metadata = large }, ok: true},
		"all that fits": {change: func(r *a2a.SendMessageRequest) {
			r.Message.Metadata["a"], r.Message.Parts[0] = strings.Repeat("x", maxMetadata-1<<10), a2a.NewTextPart(strings.Repeat("\"", domain.MaxQuestion))
		}, ok: true},
	} {
		request := toShop("How many?")
		test.change(request)
		sent, err := s.SendMessage(as(t, alice), request)
		if test.ok && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if failure := jsonrpc.ToError(err); !test.ok && (failure.Code != -32602 || !strings.HasPrefix(failure.Message, "message.metadata must be at most 65536 bytes")) {
			t.Errorf("%s: %v, %v", name, sent, err)
		}
	}
}
