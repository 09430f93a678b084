package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// standinModel is a language model on loopback, in Ollama's protocol, that has
// its lines by heart.
type standinModel struct {
	t      *testing.T
	server *httptest.Server
	lines  []modelLine
	// refuses has it accept nobody.
	refuses atomic.Bool
	calls   atomic.Int64
}

// modelLine is what the model says when it is asked to do a job and what it is
// asked holds some words. The first that fits is said. hang has it say nothing.
type modelLine struct {
	job, words, says string
	hang             bool
}

// The jobs of a model, by what only their output has.
const (
	planJob     = "steps"
	queryJob    = "sql"
	answerJob   = ""
	extractJob  = "rows"
	describeJob = "fields"
)

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

// newModel starts a model with these lines.
func newModel(t *testing.T, lines ...modelLine) *standinModel {
	t.Helper()
	m := &standinModel{t: t, lines: lines}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// env sets the model for a server.
func (m *standinModel) env() []string {
	return []string{"PARLEY_LLM=ollama:standin", "OLLAMA_HOST=" + m.server.URL}
}

func (m *standinModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Format   json.RawMessage
		Messages []struct{ Role, Content string }
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		m.t.Errorf("the model was asked: %v", err)
	}
	m.calls.Add(1)
	if m.refuses.Load() {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var text strings.Builder
	for _, message := range asked.Messages {
		if message.Role != "system" {
			text.WriteString(message.Content)
		}
	}
	for _, line := range m.lines {
		shaped := strings.HasPrefix(string(asked.Format), "{")
		if shaped != (line.job != "") || !strings.Contains(string(asked.Format), `"`+line.job) || !strings.Contains(text.String(), line.words) {
			continue
		}
		if line.hang {
			<-r.Context().Done()
			return
		}
		fmt.Fprintf(w, `{"model":"standin","message":{"role":"assistant","content":%s},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":5}`+"\n", toJSON(line.says))
		return
	}
	m.t.Errorf("the model has no line for\n%s\nof %s", text.String(), asked.Format)
	w.WriteHeader(http.StatusInternalServerError)
}
