package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/jsonrpc"
	"parley/a2aserver/params"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/internal/domain"
)

func TestEnvelope(t *testing.T) {
	t.Parallel()
	task := `{"id":"t1"}`
	nested := func(depth int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{"x":` + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}}`
	}
	manyKeys := func(last string) string {
		var keys strings.Builder
		for i := range 100 {
			fmt.Fprintf(&keys, `"k%d":0,`, i)
		}
		return rpc("1", "CancelTask", `{"id":"t1","metadata":{`+keys.String()+`"`+last+`":0}}`)
	}
	batch := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(rpc("1", "ListTasks", "{}")+",", n), ",") + "]"
	}
	tests := []struct {
		name, body string
		id         string
		code       int // 0 for a result
	}{
		{"large integer", rpc("12345678901234567890", "GetTask", task), "12345678901234567890", 0},
		{"fraction", rpc("1.50e3", "GetTask", task), "1.50e3", 0},
		{"negative", rpc("-0", "GetTask", task), "-0", 0},
		{"escapes", rpc(`"a\u0000b\/\u003c"`, "GetTask", task), `"a\u0000b\/\u003c"`, 0},
		{"empty string", rpc(`""`, "GetTask", task), `""`, 0},
		{"null", rpc("null", "GetTask", task), "null", 0},
		{"blanks around", " \n\t" + rpc(" 7 ", "GetTask", " "+task+" ") + "\r\n", "7", 0},
		{"id is an object", rpc("{}", "GetTask", task), "null", -32600},
		{"id is a list", rpc("[1]", "GetTask", task), "null", -32600},
		{"id is a boolean", rpc("true", "GetTask", task), "null", -32600},
		{"id is too long", rpc(`"`+strings.Repeat("x", 4<<10)+`"`, "GetTask", task), "null", -32600},
		{"id of another case", `{"jsonrpc":"2.0","ID":1,"method":5}`, "null", -32600},

		{"empty", "", "null", -32700},
		{"blank", " ", "null", -32700},
		{"cut off", `{"jsonrpc":"2.0"`, "null", -32700},
		{"garbage behind", rpc("1", "GetTask", task) + "x", "null", -32700},
		{"two documents", rpc("1", "GetTask", task) + rpc("2", "GetTask", task), "null", -32700},
		{"not UTF-8", rpc(`"`+"\xff"+`"`, "GetTask", task), "null", -32700},
		{"byte order mark", "\ufeff" + rpc("1", "GetTask", task), "null", -32700},
		{"key twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ListTasks"}`, "null", -32700},
		{"key twice, spelt differently", `{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"ListTasks"}`, "null", -32700},
		{"key twice, deep down", rpc("1", "CancelTask", `{"id":"t1","metadata":{"x":[{"a":1,"b":{"a":1},"a":2}]}}`), "1", -32602},
		{"unknown key twice", `{"jsonrpc":"2.0","id":1,"x":1,"x":2,"method":"ListTasks","params":{"y":1,"y":2}}`, "1", 0},
		{"key twice of many", manyKeys("k50"), "1", -32602},
		{"many keys", manyKeys("k100"), "1", 0},
		{"same key beside", rpc("1", "GetTask", `{"id":"t1","x":[{"a":1},{"a":{"a":1}}],"y":{"a":"a"}}`), "1", 0},
		{"brackets in strings", rpc("1", "GetTask", `{"id":"t1","x":"`+strings.Repeat(`[{\"`, 100)+`"}`), "1", 0},
		{"deep enough", nested(params.MaxDepth), "1", 0},
		{"too deep", nested(params.MaxDepth + 2), "1", -32602},
		{"far too deep", nested(9000), "1", -32602},
		{"deep metadata", rpc("1", "CancelTask", `{"id":"t1","metadata":`+strings.Repeat(`{"x":`, params.MaxDepth)+"1"+strings.Repeat("}", params.MaxDepth)+"}"), "1", -32602},

		{"a number", "5", "null", -32600},
		{"a string", `"x"`, "null", -32600},
		{"null request", "null", "null", -32600},
		{"no version", `{"id":1,"method":"ListTasks"}`, "1", -32600},
		{"wrong version", `{"jsonrpc":"1.0","id":1,"method":"ListTasks"}`, "1", -32600},
		{"version as number", `{"jsonrpc":2.0,"id":1,"method":"ListTasks"}`, "1", -32600},
		{"wrong without id", `{"jsonrpc":"1.0","method":"ListTasks"}`, "null", -32600},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600},
		{"method as number", `{"jsonrpc":"2.0","id":1,"method":1}`, "1", -32600},
		{"params as text", rpc("1", "GetTask", `"x"`), "1", -32600},
		{"params as list", rpc("1", "GetTask", `[]`), "1", -32602},
		{"params as null", rpc("1", "GetTask", "null"), "1", -32602},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"GetTask"}`, "1", -32602},
		{"no params needed", `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, "1", 0},
		{"null params needed", rpc("1", "GetExtendedAgentCard", "null"), "1", 0},
		{"unknown method", rpc("1", "tasks/take", "[]"), "1", -32601},
		{"empty method", rpc("1", "", "{}"), "1", -32601},

		{"empty batch", "[]", "null", -32600},
		{"large batch", batch(33), "null", -32600},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := ask(echo(), test.body)
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("status %d, type %q", w.Code, w.Header().Get("Content-Type"))
			}
			if !strings.HasSuffix(w.Body.String(), "}\n") {
				t.Errorf("no line end: %s", w.Body)
			}
			var response struct {
				JSONRPC string
				ID      json.RawMessage
				Result  json.RawMessage
				Error   *jsonrpc.Error
			}
			if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			code := 0
			if response.Error != nil {
				code = response.Error.Code
			}
			if response.JSONRPC != "2.0" || string(response.ID) != test.id || code != test.code {
				t.Errorf("got %s", w.Body)
			}
			if (response.Result == nil) != (test.code != 0) {
				t.Errorf("result and error: %s", w.Body)
			}
		})
	}
}

// A batch ends with its time and with the size of its responses; the requests that are left get
// an error each.
func TestBatchLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		takes time.Duration
		bytes int
		done  int
		want  string
	}{
		"small": {0, 10, 6, ""},
		"slow":  {20 * time.Second, 10, 2, "not done: the requests before it in the batch took longer than 30s; send it alone"},
		"large": {0, 6 << 20, 3, "not done: the responses before it in the batch have more than 16 MiB; send it alone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent, calls := echo(), 0
				agent.list = func(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
					calls++
					time.Sleep(test.takes)
					return &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, NextPageToken: strings.Repeat("x", test.bytes)}, nil
				}
				cfg, w := testConfig(io.Discard), httptest.NewRecorder()
				cfg.RequestTimeout = 30 * time.Second
				body := "[" + strings.TrimSuffix(strings.Repeat(rpc("1", "ListTasks", "{}")+",", 6), ",") + "]"
				transport{Config: cfg, agent: agent}.serve(w, httptest.NewRequest(http.MethodPost, "/a2a/echo", nil), []byte(body))
				var responses []struct{ Error *jsonrpc.Error }
				if err := json.Unmarshal(w.Body.Bytes(), &responses); err != nil || len(responses) != 6 || calls != test.done {
					t.Fatalf("%d calls, %d responses, %v", calls, len(responses), err)
				}
				for i, response := range responses {
					if done := i < test.done; done != (response.Error == nil) || !done && response.Error.Message != test.want {
						t.Errorf("%d: %+v", i, response.Error)
					}
				}
			})
		})
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	sent := 0
	events := newSubscription(nil, "{}")
	agent := echo()
	agent.send = func(context.Context, *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		sent++
		return nil, errors.New("no")
	}
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) {
		sent++
		return events, nil
	}
	send := `{"jsonrpc":"2.0","method":"SendMessage","params":` + aMessage + `}`
	stream := `{"jsonrpc":"2.0","method":"SendStreamingMessage","params":` + aMessage + `}`
	unknown := `{"jsonrpc":"2.0","method":"nothing","params":[1]}`
	for _, body := range []string{send, stream, unknown, "[" + send + "," + unknown + "," + stream + "]"} {
		if w := ask(agent, body); w.Code != http.StatusNoContent || w.Body.Len() != 0 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if sent != 3 {
		t.Errorf("%d were carried out, want 3", sent)
	}
	select {
	case <-events.closed:
	default:
		t.Error("the stream that nobody reads is open")
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, served := range map[string]bool{
		"": true, "1.0": true, " 1.0 ": true, "1.0.1": true, "1.0.0": true, "0.3": true, "0.3.0": true,
		"1.1": false, "1": false, "1.00": false, "10.0": false, "1.0, 0.3": false, "latest": false, "1.0.x": false, "1.0.": false, "1.0.0.1": false, "0.2.6": false,
	} {
		if w := ask(echo(), rpc("7", "nothing", "{}"), "A2A-Version", version); strings.Contains(w.Body.String(), `"code":-32601`) != served ||
			strings.Contains(w.Body.String(), `"id":7,"error":{"code":-32009`) == served {
			t.Errorf("%q: %s", version, w.Body)
		}
	}
	server, _ := listen(t, echo(), testConfig(&logtest.Buffer{}))
	for query, served := range map[string]bool{"?A2A-Version=1.0": true, "?A2A-Version=0.3": false, "?a2a-version=0.3": false, "?A2a-VERSION=1.0.1": true, "?x=1": true} {
		response, err := server.Client().Post(server.URL+query, "application/json", strings.NewReader(rpc("1", "ListTasks", "{}")))
		if err != nil {
			t.Fatal(err)
		}
		var body struct{ Error *jsonrpc.Error }
		err = json.NewDecoder(response.Body).Decode(&body)
		response.Body.Close()
		if err != nil || (body.Error == nil) != served {
			t.Errorf("%s: %v %+v", query, err, body.Error)
		}
	}
}

// Whole requests and answers, as a client sees them.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	message := func(part string) string {
		return `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[` + part + `]}}`
	}
	transcripts := map[string][]string{
		"methods.txt": {
			rpc("1", "SendMessage", aMessage),
			rpc("2", "SendStreamingMessage", aMessage),
			rpc("3", "GetTask", `{"id":"t1"}`),
			rpc("4", "ListTasks", `{}`),
			rpc("5", "CancelTask", `{"id":"t1"}`),
			rpc("6", "SubscribeToTask", `{"id":"t1"}`),
			rpc("7", "GetExtendedAgentCard", `{}`),
			rpc("8", "SendMessage", message(`{"text":"a < b && b > c \\u003c \\\\u003c \\ \u2028 \" é"}`)),
			"[" + rpc("1", "GetTask", `{"id":"a"}`) + `,{"jsonrpc":"2.0","method":"ListTasks"},` + rpc(`"2"`, "nothing", "{}") +
				"," + rpc("3", "SendStreamingMessage", aMessage) + ",5]",
		},
		"params.txt": {
			rpc("1", "SendMessage", `{"message":{"message_id":"m1","context_id":"c1","task_id":"t9","reference_task_ids":["r1"],"role":1,`+
				`"parts":[{"text":"q","media_type":"text/plain"},{"raw":"aGk=","filename":"f"},{"url":"https://a.test/"},`+
				`{"data":{"big":9007199254740993,"list":[1,null,{"x":1.5}]}},{"data":[1,"a"]},{"data":7},{"data":null}],`+
				`"metadata":{"namespace":"ns","deep":{"list":[]}},"unknown":[1]},"configuration":{"history_length":"0"}}`),
			rpc("2", "GetTask", `{"id":"t1","historyLength":0}`),
			rpc("3", "GetTask", `{"id":"t1","history_length":"2"}`),
			rpc("4", "GetTask", `{"id":"t1","historyLength":null}`),
			rpc("5", "GetTask", `{"id":"t1","historyLength":-1}`),
			rpc("6", "GetTask", `{"id":5}`),
			rpc("7", "GetTask", `{"id":""}`),
			rpc("8", "GetTask", `{"id":"t1","historyLength":"many"}`),
			rpc("9", "GetTask", `{"id":"t1","historyLength":1,"history_length":1}`),
			rpc("10", "ListTasks", `{"pageSize":0}`),
			rpc("11", "ListTasks", `{"page_size":"101"}`),
			rpc("12", "ListTasks", `{"status":99}`),
			rpc("13", "ListTasks", `{"status":"working"}`),
			rpc("13.1", "ListTasks", `{"status":"TASK_STATE_WORKING"}`),
			rpc("13.2", "ListTasks", `{"status":2}`),
			rpc("13.3", "ListTasks", `{"status":"TASK_STATE_UNSPECIFIED"}`),
			rpc("13.4", "ListTasks", `{"status":null}`),
			rpc("14", "ListTasks", `{"statusTimestampAfter":"yesterday"}`),
			rpc("15", "SendMessage", `{}`),
			rpc("16", "SendMessage", `{"message":{"role":"ROLE_USER"}}`),
			rpc("17", "SendMessage", `{"message":{"messageId":"m1"}}`),
			rpc("18", "SendMessage", `{"message":{"messageId":"m1","role":"user"}}`),
			rpc("19", "SendMessage", `{"message":{"messageId":"m1","role":"ROLE_AGENT"}}`),
			rpc("20", "SendMessage", message(`{}`)),
			rpc("21", "SendMessage", message(`{"text":"a","data":{}}`)),
			rpc("22", "SendMessage", message(`{"text":["a"]}`)),
			rpc("23", "SendMessage", message(`"a"`)),
			rpc("24", "SendMessage", message(`{"text":"\ud800"}`)),
			rpc("25", "SendMessage", `{"message":{"messageId":"m1","role":"`+strings.Repeat("é", 100)+`"}}`),
			rpc("26", "SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER"},"configuration":{"taskPushNotificationConfig":{}}}`),
			rpc("27", "SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER"},"configuration":{"historyLength":-3}}`),
			rpc("28", "SubscribeToTask", `{}`),
			rpc("29", "CancelTask", `[]`),
			rpc("30", "CreateTaskPushNotificationConfig", `{}`),
			rpc("31", "GetTaskPushNotificationConfig", `{}`),
			rpc("32", "ListTaskPushNotificationConfigs", `{}`),
			rpc("33", "DeleteTaskPushNotificationConfig", `{}`),
		},
	}
	for name, bodies := range transcripts {
		var text strings.Builder
		for _, body := range bodies {
			w := ask(echo(), body)
			fmt.Fprintf(&text, "> %s\n< %s\n%s\n", body, w.Header().Get("Content-Type"), w.Body)
		}
		golden.Assert(t, name, []byte(text.String()))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	secret := errors.New("pq: secret in /etc/passwd")
	failures := []struct {
		err error
		log string // the level; "" for no line
	}{
		{a2a.ErrTaskNotFound, ""},
		{a2a.ErrTaskNotCancelable, ""},
		{a2a.ErrUnsupportedOperation, ""},
		{a2a.ErrUnsupportedContentType, ""},
		{a2a.ErrInvalidAgentResponse, ""},
		{a2a.ErrExtendedCardNotConfigured, ""},
		{a2a.ErrExtensionSupportRequired, ""},
		{a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended"), ""},
		{fmt.Errorf("send: %w", a2a.NewError(a2a.ErrInvalidParams, "message metadata.namespace is required")), ""},
		{a2a.NewError(fmt.Errorf("%w: %w", a2a.ErrInvalidParams, domain.ErrNotFound), "there is no namespace <x>"), ""},
		{fmt.Errorf("%w: %w", a2a.ErrInvalidParams, secret), ""},
		{fmt.Errorf("read task: %w", domain.ErrNotFound), ""},
		{domain.Errorf(domain.ErrNotFound, "the conversation is gone"), ""},
		{domain.Invalid(domain.FieldError{Field: "namespace", Message: "is too long"}, domain.FieldError{Field: "model", Message: "is unknown"}), ""},
		{domain.ErrForbidden, ""},
		{domain.ErrConflict, "WARN"},
		{fmt.Errorf("%w: %w", domain.ErrUnavailable, secret), "WARN"},
		{fmt.Errorf("ask: %w", context.DeadlineExceeded), "WARN"},
		{context.Canceled, "ERROR"},
		{a2a.NewError(secret, "words"), "ERROR"},
		{secret, "ERROR"},
	}
	var text strings.Builder
	for _, failure := range failures {
		agent := echo()
		agent.get = func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { return nil, failure.err }
		var log logtest.Buffer
		w := askLogged(&log, agent, rpc(`"r-1"`, "GetTask", `{"id":"t1"}`))
		fmt.Fprintf(&text, "%v\n%s\n", failure.err, w.Body)
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: told the client %s", failure.err, w.Body)
		}
		line := log.String()
		switch {
		case failure.log == "" && line != "":
			t.Errorf("%v: logged %s", failure.err, line)
		case failure.log != "" && !(strings.Contains(line, "level="+failure.log) && strings.Contains(line, failure.err.Error()) && strings.Contains(line, "r-1")):
			t.Errorf("%v: logged %q", failure.err, line)
		}
	}
	golden.Assert(t, "errors.txt", []byte(text.String()))
}

func TestPanics(t *testing.T) {
	t.Parallel()
	agent := echo()
	agent.get = func(context.Context, *a2a.GetTaskRequest) (*a2a.Task, error) { panic("secret") }
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) { panic("secret") }
	agent.list = func(context.Context, *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) { return nil, nil }
	for _, body := range []string{rpc("1", "GetTask", `{"id":"t1"}`), rpc("1", "SendStreamingMessage", aMessage), rpc("1", "ListTasks", "{}")} {
		var log logtest.Buffer
		w := askLogged(&log, agent, body)
		if !strings.HasPrefix(w.Body.String(), `{"jsonrpc":"2.0","id":1,"error":{"code":-32603`) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %s", body, w.Body)
		}
		if !strings.Contains(log.String(), "fake_test.go") && !strings.Contains(log.String(), "rpc.go") {
			t.Errorf("%s: no stack in the log: %s", body, log.String())
		}
	}
}

func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		rpc("1", "GetTask", `{"id":"t1"}`), rpc(`"a\u0000b"`, "SendMessage", aMessage), "[" + rpc("1", "ListTasks", "{}") + "]",
		`{"a":{"a":[{"b":"\"\\"}]}}`, `[[`, `{"\u0061":1,"a":2}`, `"\ud800"`, "[]", "{", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		w := ask(echo(), string(body))
		if w.Code == http.StatusNoContent {
			return
		}
		answer := w.Body.Bytes()
		if w.Header().Get("Content-Type") == "text/event-stream" {
			return
		}
		if !json.Valid(answer) {
			t.Fatalf("not JSON: %s", answer)
		}
		var response struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if json.Unmarshal(answer, &response) != nil || response.Result == nil {
			return
		}
		var request map[string]json.RawMessage
		if err := json.Unmarshal(body, &request); err != nil {
			t.Fatalf("answered what cannot be read: %v", err)
		}
		if string(request["id"]) != string(response.ID) {
			t.Fatalf("id %s came back as %s", request["id"], response.ID)
		}
	})
}
