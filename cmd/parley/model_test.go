package main

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

// providerKey is the key that the models are asked with, and that must be seen
// nowhere else.
const providerKey = "sk-standin-5up3rs3cr3t-key"

// standinModel is a provider of language models on loopback. Every name is a
// model that it has.
type standinModel struct {
	t        *testing.T
	provider string
	server   *httptest.Server
	answer   func(w http.ResponseWriter, r *http.Request, q prompt)
	// refuses has it accept nobody.
	refuses atomic.Bool
	calls   atomic.Int64

	mu  sync.Mutex
	all []prompt
}

// prompt is a request that a model got.
type prompt struct {
	model string
	// n counts the requests for the model, from 0.
	n int
	// job is one of those below.
	job string
	// system is what the model was told to do, text what it was given for it.
	system, text string
	shaped       bool
	at           time.Time
}

// The jobs of a model, by what only their output has.
const (
	planJob     = "steps"
	queryJob    = "sql"
	answerJob   = ""
	extractJob  = "rows"
	describeJob = "fields"
)

// modelLine is what the model says when it is asked to do a job and what it is
// asked holds some words. The first that fits is said. hang has it say nothing.
type modelLine struct {
	job, words, says string
	hang             bool
}

func plans(words, reasoning string, steps ...string) modelLine {
	return modelLine{job: planJob, words: words, says: toJSON(map[string]any{"reasoning": reasoning, "unanswerable": "", "steps": steps})}
}

func queries(words, reasoning, sql string) modelLine {
	return modelLine{job: queryJob, words: words, says: toJSON(map[string]any{
		"reasoning": reasoning, "unanswerable": "", "sql": sql, "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0.9,
	})}
}

func answers(words, markdown string) modelLine {
	return modelLine{job: answerJob, words: words, says: markdown}
}

func extracts(words string, rows ...object) modelLine {
	return modelLine{job: extractJob, words: words, says: toJSON(object{"rows": append([]object{}, rows...)})}
}

func describes(words, description string, fields ...object) modelLine {
	return modelLine{job: describeJob, words: words, says: toJSON(object{"description": description, "fields": fields})}
}

// toJSON is for what can always be written.
func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// newModel starts a model in Ollama's protocol that has its lines by heart.
func newModel(t *testing.T, lines ...modelLine) *standinModel {
	t.Helper()
	m := newProvider(t, "ollama", nil)
	m.does(func(w http.ResponseWriter, r *http.Request, q prompt) {
		for _, line := range lines {
			if q.job != line.job || !strings.Contains(q.text, line.words) {
				continue
			}
			if line.hang {
				<-r.Context().Done()
				return
			}
			m.say(w, q, line.says)
			return
		}
		t.Errorf("the model has no line for\n%s\nof %q", q.text, q.job)
		w.WriteHeader(http.StatusInternalServerError)
	})
	return m
}

// newProvider starts a provider that answers as it is told.
func newProvider(t *testing.T, provider string, answer func(w http.ResponseWriter, r *http.Request, q prompt)) *standinModel {
	t.Helper()
	m := &standinModel{t: t, provider: provider, answer: answer}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// does tells the provider how to answer from now on.
func (m *standinModel) does(answer func(w http.ResponseWriter, r *http.Request, q prompt)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

// env sets a model for a server.
func (m *standinModel) env() []string {
	return append(m.address(), "PARLEY_LLM="+m.provider+":standin")
}

// address says where the provider is, and the key to it.
func (m *standinModel) address() []string {
	switch m.provider {
	case "openai":
		return []string{"OPENAI_BASE_URL=" + m.server.URL + "/v1", "OPENAI_API_KEY=" + providerKey}
	case "anthropic":
		return []string{"ANTHROPIC_BASE_URL=" + m.server.URL + "/v1", "ANTHROPIC_API_KEY=" + providerKey}
	}
	return []string{"OLLAMA_HOST=" + m.server.URL}
}

// requests gives those for a model so far.
func (m *standinModel) requests(model string) []prompt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.all), func(q prompt) bool { return q.model != model })
}

func (m *standinModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked has gone
	}
	q, err := readPrompt(body)
	path := map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages", "ollama": "/api/chat"}[m.provider]
	keyed := m.provider == "ollama" || r.Header.Get("X-Api-Key") == providerKey || r.Header.Get("Authorization") == "Bearer "+providerKey
	if err != nil || r.URL.Path != path || !keyed {
		m.t.Errorf("the model was asked at %s with %v: %v", r.URL.Path, r.Header, err)
	}
	m.calls.Add(1)
	if m.refuses.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	m.mu.Lock()
	for _, before := range m.all {
		if before.model == q.model {
			q.n++
		}
	}
	m.all = append(m.all, q)
	answer := m.answer
	m.mu.Unlock()
	answer(w, r, q)
}

// readPrompt reads a request of any of the protocols, which must be for a stream.
func readPrompt(body []byte) (prompt, error) {
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
		return prompt{}, fmt.Errorf("not a request for a stream: %v", err)
	}
	q := prompt{model: sent.Model, system: sent.System, at: time.Now()}
	for _, message := range sent.Messages {
		if text := messageText(message.Content); message.Role == "system" {
			q.system += text
		} else {
			q.text += text + "\n"
		}
	}
	shape := string(sent.Format) + string(sent.Tools) + string(sent.Shape)
	for _, job := range []string{queryJob, planJob, extractJob, describeJob} {
		if strings.Contains(shape, `"`+job+`"`) {
			q.job, q.shaped = job, true
		}
	}
	return q, nil
}

// messageText reads the content of a message: a text, or parts.
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

// say answers with a text.
func (m *standinModel) say(w http.ResponseWriter, q prompt, text string) {
	m.send(w, m.events(q, text)...)
}

// send sends events as they come.
func (m *standinModel) send(w http.ResponseWriter, events ...string) {
	if m.provider != "ollama" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for _, event := range events {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
	}
}

// events are those of an answer as the provider streams it: one or two that begin
// it, its pieces, and those that end it.
func (m *standinModel) events(q prompt, text string) []string {
	var pieces []string
	rest := []rune(text)
	for size := max(24, len(rest)/20); len(rest) > 0; rest = rest[min(len(rest), size):] {
		pieces = append(pieces, toJSON(string(rest[:min(len(rest), size)])))
	}
	switch m.provider {
	case "openai":
		return openaiEvents(q, pieces)
	case "anthropic":
		return anthropicEvents(q, pieces)
	}
	var events []string
	for _, piece := range pieces {
		events = append(events, fmt.Sprintf(`{"model":%q,"created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":%s},"done":false}`+"\n", q.model, piece))
	}
	return append(events, fmt.Sprintf(`{"model":%q,"created_at":"2025-01-01T00:00:01Z","message":{"role":"assistant","content":""},"done":true,`+
		`"done_reason":"stop","total_duration":1,"prompt_eval_count":7,"eval_count":5}`+"\n", q.model))
}

func openaiEvents(q prompt, pieces []string) []string {
	chunk := func(choices, more string) string {
		return fmt.Sprintf(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":%q,"choices":[%s]%s}`+"\n\n", q.model, choices, more)
	}
	events := []string{chunk(`{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}`, `,"usage":null`)}
	for _, piece := range pieces {
		events = append(events, chunk(`{"index":0,"delta":{"content":`+piece+`},"logprobs":null,"finish_reason":null}`, `,"usage":null`))
	}
	return append(events,
		chunk(`{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}`, `,"usage":null`),
		chunk("", `,"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}`), "data: [DONE]\n\n")
}

func anthropicEvents(q prompt, pieces []string) []string {
	event := func(kind, more string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, more)
	}
	block, delta, field, stop := `{"type":"text","text":""}`, "text_delta", "text", "end_turn"
	if q.shaped {
		block, delta, field, stop = `{"type":"tool_use","id":"toolu_1","name":"answer","input":{}}`, "input_json_delta", "partial_json", "tool_use"
	}
	events := []string{
		event("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}`, q.model)),
		event("content_block_start", `,"index":0,"content_block":`+block) + event("ping", ""),
	}
	for _, piece := range pieces {
		events = append(events, event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":%q,%q:%s}`, delta, field, piece)))
	}
	return append(events, event("content_block_stop", `,"index":0`),
		event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}`, stop)), event("message_stop", ""))
}
