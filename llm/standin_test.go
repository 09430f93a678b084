package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/llm"
)

// request is a request to a stand-in for a model.
type request struct {
	// system and user are the texts of the messages; user has all but the first.
	system, user string
	streamed     bool
	// shape is the requested schema; "" for none.
	shape string
	raw   map[string]json.RawMessage
}

// standin is a server on loopback that answers as a test says.
type standin struct {
	t        *testing.T
	provider string
	w        wire

	mu       sync.Mutex
	requests []request
	// answer serves the nth request, from 0.
	answer func(s *standin, n int, rw http.ResponseWriter, r *http.Request, asked request)
	url    string
}

func newStandin(t *testing.T, provider string, answer func(*standin, int, http.ResponseWriter, *http.Request, request)) *standin {
	t.Helper()
	s := &standin{t: t, provider: provider, w: wires[provider], answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// saying returns a stand-in that answers with these texts in order, and then repeats the
// last.
func saying(t *testing.T, provider string, texts ...string) *standin {
	return newStandin(t, provider, func(s *standin, n int, rw http.ResponseWriter, _ *http.Request, asked request) {
		s.say(rw, asked, texts[min(n, len(texts)-1)])
	})
}

func (s *standin) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if r.URL.Path != s.w.base+s.w.path || r.Header.Get(s.w.header) != s.w.prefix+key {
		s.t.Errorf("request to %s with %v", r.URL.Path, r.Header)
	}
	asked := s.read(body)
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, asked)
	s.mu.Unlock()
	s.answer(s, n, rw, r, asked)
}

func (s *standin) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

func (s *standin) read(body []byte) request {
	var sent struct {
		Model    string
		System   string
		Stream   bool
		Format   json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		Tools []struct {
			Schema json.RawMessage `json:"input_schema"`
		}
		Choice struct{ Name string } `json:"tool_choice"`
		Form   struct {
			Schema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.Model != "m" {
		s.t.Errorf("request for model %q: %v", sent.Model, err)
	}
	asked := request{system: sent.System, streamed: sent.Stream}
	_ = json.Unmarshal(body, &asked.raw)
	for _, message := range sent.Messages {
		if text := contentText(message.Content); message.Role == "system" {
			asked.system += text
		} else {
			asked.user += text + "\n"
		}
	}
	switch {
	case len(sent.Tools) == 1 && sent.Choice.Name != "":
		asked.shape = string(sent.Tools[0].Schema)
	case len(sent.Form.Schema.Schema) > 0:
		asked.shape = string(sent.Form.Schema.Schema)
	case strings.HasPrefix(string(sent.Format), "{"):
		asked.shape = string(sent.Format)
	}
	return asked
}

// contentText reads a message's content: a text, or parts.
func contentText(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts)
	for _, part := range parts {
		text += part.Text
	}
	return text
}

// say answers with a text as the provider would: streamed or whole, in a tool's
// input where one is asked for.
func (s *standin) say(rw http.ResponseWriter, asked request, text string) {
	if !asked.streamed && s.provider != "ollama" {
		fmt.Fprintf(rw, s.w.answer, text)
		return
	}
	for _, event := range s.events(asked, text) {
		fmt.Fprint(rw, event)
		_ = http.NewResponseController(rw).Flush()
	}
}

// events are those of a streamed answer.
func (s *standin) events(asked request, text string) []string {
	var events []string
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	switch s.provider {
	case "openai", "googleai":
		add("data: " + `{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}` + "\n\n")
		for _, piece := range pieces(text) {
			add(`data: {"choices":[{"index":0,"delta":{"content":%s},"finish_reason":null}]}`+"\n\n", piece)
		}
		add(": still here\n\n" + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n")
		add(`data: {"choices":[],"usage":{"prompt_tokens":70,"completion_tokens":50,"total_tokens":120}}` + "\n\n")
		add("data: [DONE]\n\n")
	case "anthropic":
		add("event: message_start\ndata: " + `{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":60,"cache_read_input_tokens":10,"output_tokens":1}}}` + "\n\n")
		kind, delta, field := "text", "text_delta", "text"
		if asked.shape != "" {
			kind, delta, field = "tool_use", "input_json_delta", "partial_json"
		}
		add(`event: content_block_start`+"\n"+`data: {"type":"content_block_start","index":0,"content_block":{"type":%q,"text":""}}`+"\n\n", kind)
		add("event: ping\ndata: " + `{"type":"ping"}` + "\n\n")
		for _, piece := range pieces(text) {
			add(`event: content_block_delta`+"\n"+`data: {"type":"content_block_delta","index":0,"delta":{"type":%q,%q:%s}}`+"\n\n", delta, field, piece)
		}
		add("event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}` + "\n\n")
		add("event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}` + "\n\n")
		add("event: message_stop\ndata: " + `{"type":"message_stop"}` + "\n\n")
	case "ollama":
		for _, piece := range pieces(text) {
			add(`{"model":"m","message":{"role":"assistant","content":%s},"done":false}`+"\n", piece)
		}
		add(`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":70,"eval_count":50}` + "\n")
	}
	return events
}

// pieces cuts a text as a model's tokens might, each a JSON string.
func pieces(text string) []string {
	var all []string
	runes := []rune(text)
	size := max(9, len(runes)/50)
	for len(runes) > 0 {
		n := min(size, len(runes))
		piece, _ := json.Marshal(string(runes[:n]))
		all, runes = append(all, string(piece)), runes[n:]
	}
	return all
}

// chat returns a Chat over the stand-in that does not wait between tries, and a function
// that returns the pauses.
func (s *standin) chat(cfg llm.ChatConfig) (*llm.Chat, func() []time.Duration) {
	s.t.Helper()
	model, err := llm.Open(s.t.Context(), llm.Config{Spec: s.provider + ":m", APIKey: key, BaseURL: s.url + s.w.base})
	if err != nil {
		s.t.Fatal(err)
	}
	chat := llm.NewChat(model, cfg)
	var mu sync.Mutex
	var pauses []time.Duration
	chat.SetPause(func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		pauses = append(pauses, d)
		return ctx.Err()
	})
	return chat, func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return pauses
	}
}

// onEach runs a test for every provider.
func onEach(t *testing.T, test func(t *testing.T, provider string)) {
	t.Helper()
	for provider := range wires {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			test(t, provider)
		})
	}
}

// shop has the datasets of the tests.
var shop = []llm.Dataset{
	{Name: "orders", Rows: 3, Description: "what customers bought", Columns: []llm.Column{
		{Name: "id", Type: "BIGINT"}, {Name: "customer_name", Type: "VARCHAR", Description: "who bought"}, {Name: "total", Type: "DOUBLE"},
	}},
	{Name: "notes", Rows: 2, Columns: []llm.Column{
		{Name: "document", Type: "VARCHAR"}, {Name: "passage", Type: "BIGINT"}, {Name: "text", Type: "VARCHAR"},
	}},
}

// data holds every address, and nothing else.
type data struct{}

func (data) Query(_ context.Context, sql string) (llm.Rows, error) {
	if strings.HasPrefix(sql, "SELECT bool_or(") {
		return rowsOf(`{"a0":true}`), nil
	}
	return llm.Rows{}, fmt.Errorf("unexpected query %s", sql)
}

func rowsOf(texts ...string) llm.Rows {
	var rows llm.Rows
	for _, text := range texts {
		rows.Rows = append(rows.Rows, json.RawMessage(text))
	}
	return rows
}

func shopTask() llm.Task {
	return llm.Task{
		Question: "Who are the best customers?",
		Datasets: shop,
		Data:     data{},
		Now:      time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
	}
}
