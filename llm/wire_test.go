package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"parley/llm"
)

const (
	key      = "sk-test-0123456789abcdef"
	question = "What is the capital of Norway?"
	reply    = "The capital is Oslo."
)

// wire is the HTTP interface of a provider, by its documentation.
type wire struct {
	// base is the path that the client's base URL ends in, path what follows.
	base, path string
	// header carries the key, after prefix. Without it none is expected.
	header, prefix string
	// answer is the body of a whole answer, %s standing for its text.
	answer string
	// refusal is the body of an error, %s standing for its message.
	refusal string
	// empty is an answer that says nothing.
	empty string
}

var wires = map[string]wire{
	"openai": {
		base: "/v1", path: "/chat/completions", header: "Authorization", prefix: "Bearer ",
		answer: `{"id":"c1","object":"chat.completion","model":"m","choices":[{"index":0,` +
			`"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}`,
		refusal: `{"error":{"message":%q,"type":"invalid_request_error","code":"x"}}`,
		empty:   `{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
	},
	"googleai": {
		base: "/v1beta/openai", path: "/chat/completions", header: "Authorization", prefix: "Bearer ",
		answer: `{"object":"chat.completion","model":"m","choices":[{"index":0,` +
			`"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}`,
		refusal: `{"error":{"message":%q,"code":400,"status":"INVALID_ARGUMENT"}}`,
		empty:   `{"choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}]}`,
	},
	"anthropic": {
		base: "/v1", path: "/messages", header: "X-Api-Key",
		answer: `{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],` +
			`"stop_reason":"end_turn","usage":{"input_tokens":7,"output_tokens":5}}`,
		refusal: `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`,
		empty:   `{"id":"m1","type":"message","role":"assistant","content":[],"stop_reason":"end_turn"}`,
	},
	"ollama": {
		path: "/api/chat", header: "Authorization", prefix: "Bearer ",
		answer: `{"model":"m","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":%q},"done":false}` + "\n" +
			`{"model":"m","created_at":"2025-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,` +
			`"prompt_eval_count":7,"eval_count":5}` + "\n",
		refusal: `{"error":%q}`,
		empty:   `{"model":"m","created_at":"2025-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true}` + "\n",
	},
}

// serve starts a server that checks each request for the provider's form, the model and the
// question, and calls next. It returns the server's address.
func (w wire) serve(t *testing.T, next http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.check(t, r)
		next(rw, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (w wire) check(t *testing.T, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("read the request: %v", err)
	}
	if r.Method != http.MethodPost || r.URL.Path != w.base+w.path {
		t.Errorf("request is %s %s, want POST %s%s", r.Method, r.URL.Path, w.base, w.path)
	}
	if w.header != "" && r.Header.Get(w.header) != w.prefix+key {
		t.Errorf("%s = %q, want the key", w.header, r.Header.Get(w.header))
	}
	var request struct {
		Model  string
		Stream bool
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Model != "m" {
		t.Errorf("request is for model %q (%v), want m", request.Model, err)
	}
	if request.Stream {
		t.Error("the client asks for a stream")
	}
	if !strings.Contains(string(body), question) {
		t.Errorf("the question is not in %s", body)
	}
}

func (w wire) answers(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintf(rw, w.answer, reply) }

// ask opens a model, asks it the question and checks the reply.
func ask(t *testing.T, cfg llm.Config) {
	t.Helper()
	model, err := llm.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if got, err := model.Call(t.Context(), question); err != nil || got != reply {
		t.Errorf("Call = %q, %v, want %q", got, err, reply)
	}
}
