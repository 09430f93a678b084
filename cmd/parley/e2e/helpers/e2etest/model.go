package e2etest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ProviderKey is the API key of the models. It must be seen nowhere else.
const ProviderKey = "sk-standin-5up3rs3cr3t-key"

// StandinModel is a provider of language models on loopback. It has models of all names.
type StandinModel struct {
	t        *testing.T
	Provider string
	Server   *httptest.Server
	Answer   func(w http.ResponseWriter, r *http.Request, q Prompt)
	// Refuses makes it answer 401.
	Refuses atomic.Bool
	Calls   atomic.Int64

	mu  sync.Mutex
	all []Prompt
}

// Prompt is a request that a model got.
type Prompt struct {
	Model string
	// N counts the requests for the model, from 0.
	N int
	// Job is one of those below.
	Job string
	// System has the instructions, Text the input.
	System, Text string
	Shaped       bool
	At           time.Time
}

// The jobs of a model, by a field that only their output has.
const (
	PlanJob     = "steps"
	QueryJob    = "sql"
	AnswerJob   = ""
	ExtractJob  = "rows"
	DescribeJob = "fields"
)

// ModelLine is the answer to a job whose input has some words. The first match counts.
// Hang makes the model not answer.
type ModelLine struct {
	Job, Words, Says string
	Hang             bool
}

// Plans answers the question that has these words with a plan.
func Plans(words, reasoning string, steps ...string) ModelLine {
	return ModelLine{Job: PlanJob, Words: words, Says: ToJSON(map[string]any{"reasoning": reasoning, "unanswerable": "", "steps": steps})}
}

// Queries answers the step that has these words with a query.
func Queries(words, reasoning, sql string) ModelLine {
	return ModelLine{Job: QueryJob, Words: words, Says: ToJSON(map[string]any{
		"reasoning": reasoning, "unanswerable": "", "sql": sql, "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0.9,
	})}
}

// Answers writes the answer to the question that has these words.
func Answers(words, markdown string) ModelLine {
	return ModelLine{Job: AnswerJob, Words: words, Says: markdown}
}

// ToJSON encodes a value that cannot fail.
func ToJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// NewModel starts a model in Ollama's protocol with these answers.
func NewModel(t *testing.T, lines ...ModelLine) *StandinModel {
	t.Helper()
	m := NewProvider(t, "ollama", nil)
	m.Does(func(w http.ResponseWriter, r *http.Request, q Prompt) {
		for _, line := range lines {
			if q.Job != line.Job || !strings.Contains(q.Text, line.Words) {
				continue
			}
			if line.Hang {
				<-r.Context().Done()
				return
			}
			m.Say(w, q, line.Says)
			return
		}
		t.Errorf("the model has no line for\n%s\nof %q", q.Text, q.Job)
		w.WriteHeader(http.StatusInternalServerError)
	})
	return m
}

// NewProvider starts a provider with an answer function.
func NewProvider(t *testing.T, provider string, answer func(w http.ResponseWriter, r *http.Request, q Prompt)) *StandinModel {
	t.Helper()
	m := &StandinModel{t: t, Provider: provider, Answer: answer}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Server.Close)
	return m
}

// Does replaces the answer function.
func (m *StandinModel) Does(answer func(w http.ResponseWriter, r *http.Request, q Prompt)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Answer = answer
}

// Env sets a model for a server.
func (m *StandinModel) Env() []string {
	return append(m.Address(), "PARLEY_LLM="+m.Provider+":standin")
}

// Address has the variables of the URL and the key.
func (m *StandinModel) Address() []string {
	switch m.Provider {
	case "openai":
		return []string{"OPENAI_BASE_URL=" + m.Server.URL + "/v1", "OPENAI_API_KEY=" + ProviderKey}
	case "anthropic":
		return []string{"ANTHROPIC_BASE_URL=" + m.Server.URL + "/v1", "ANTHROPIC_API_KEY=" + ProviderKey}
	}
	return []string{"OLLAMA_HOST=" + m.Server.URL}
}

// Requests returns the requests for a model so far.
func (m *StandinModel) Requests(model string) []Prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.all), func(q Prompt) bool { return q.Model != model })
}

func (m *StandinModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	q, err := readPrompt(body)
	path := map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}[m.Provider]
	keyed := m.Provider == "ollama" || r.Header.Get("X-Api-Key") == ProviderKey || r.Header.Get("Authorization") == "Bearer "+ProviderKey
	if err != nil || r.URL.Path != path || !keyed {
		m.t.Errorf("the model was asked at %s with %v: %v", r.URL.Path, r.Header, err)
	}
	m.Calls.Add(1)
	if m.Refuses.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	m.mu.Lock()
	for _, before := range m.all {
		if before.Model == q.Model {
			q.N++
		}
	}
	m.all = append(m.all, q)
	answer := m.Answer
	m.mu.Unlock()
	answer(w, r, q)
}

// readPrompt parses a streaming request of any protocol.
func readPrompt(body []byte) (Prompt, error) {
	var sent struct {
		Model    string
		System   string
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
		// The schema of the answer is in one of these.
		Format json.RawMessage
		Tools  json.RawMessage
		Shape  json.RawMessage `json:"response_format"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || !sent.Stream {
		return Prompt{}, fmt.Errorf("not a request for a stream: %v", err)
	}
	q := Prompt{Model: sent.Model, System: sent.System, At: time.Now()}
	for _, message := range sent.Messages {
		if text := messageText(message.Content); message.Role == "system" {
			q.System += text
		} else {
			q.Text += text + "\n"
		}
	}
	shape := string(sent.Format) + string(sent.Tools) + string(sent.Shape)
	for _, job := range []string{QueryJob, PlanJob, ExtractJob, DescribeJob} {
		if strings.Contains(shape, `"`+job+`"`) {
			q.Job, q.Shaped = job, true
		}
	}
	return q, nil
}

// messageText returns the content of a message: a text, or parts.
func messageText(content json.RawMessage) string {
	var text string
	var parts []struct{ Text string }
	if json.Unmarshal(content, &text) != nil && json.Unmarshal(content, &parts) == nil {
		for _, part := range parts {
			text += part.Text
		}
	}
	return text
}

// Say answers with a text.
func (m *StandinModel) Say(w http.ResponseWriter, q Prompt, text string) {
	m.Send(w, m.Events(q, text)...)
}

// Send sends events, each at once.
func (m *StandinModel) Send(w http.ResponseWriter, events ...string) {
	if m.Provider != "ollama" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for _, event := range events {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// Events are those of an answer in the provider's protocol: one or two to start, the
// pieces, and those of the end.
func (m *StandinModel) Events(q Prompt, text string) []string {
	var pieces []string
	rest := []rune(text)
	for size := max(24, len(rest)/20); len(rest) > 0; rest = rest[min(len(rest), size):] {
		pieces = append(pieces, ToJSON(string(rest[:min(len(rest), size)])))
	}
	switch m.Provider {
	case "openai":
		return openaiEvents(q, pieces)
	case "anthropic":
		return anthropicEvents(q, pieces)
	}
	var events []string
	for _, piece := range pieces {
		events = append(events, fmt.Sprintf(`{"model":%q,"created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":%s},"done":false}`+"\n", q.Model, piece))
	}
	return append(events, fmt.Sprintf(`{"model":%q,"created_at":"2025-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,`+
		`"done_reason":"stop","total_duration":1,"prompt_eval_count":7,"eval_count":5}`+"\n", q.Model))
}

func openaiEvents(q Prompt, pieces []string) []string {
	chunk := func(choices, more string) string {
		return fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":%q,"choices":[%s]%s}`+"\n\n", q.Model, choices, more)
	}
	events := []string{chunk(`{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}`, `,"usage":null`)}
	for _, piece := range pieces {
		events = append(events, chunk(`{"index":0,"delta":{"content":`+piece+`},"logprobs":null,"finish_reason":null}`, `,"usage":null`))
	}
	return append(events,
		chunk(`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`, `,"usage":null`),
		chunk("", `,"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}`), "data: [DONE]\n\n")
}

func anthropicEvents(q Prompt, pieces []string) []string {
	event := func(kind, more string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, more)
	}
	block, delta, field, stop := `{"type":"text","text":""}`, "text_delta", "text", "end_turn"
	if q.Shaped {
		block, delta, field, stop = `{"type":"tool_use","id":"toolu_1","name":"answer","input":{}}`, "input_json_delta", "partial_json", "tool_use"
	}
	events := []string{
		event("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}`, q.Model)),
		event("content_block_start", `,"index":0,"content_block":`+block) + event("ping", ""),
	}
	for _, piece := range pieces {
		events = append(events, event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":%q,%q:%s}`, delta, field, piece)))
	}
	return append(events, event("content_block_stop", `,"index":0`),
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, stop)), event("message_stop", ""))
}
