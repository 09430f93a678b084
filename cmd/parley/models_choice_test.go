package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// naming does jobs, and puts the model's name into the rows.
func naming(m *standinModel) func(http.ResponseWriter, *http.Request, prompt) {
	return func(w http.ResponseWriter, _ *http.Request, q prompt) {
		text := wellDone(q.job)
		if q.job == queryJob {
			text = queries("", "", fmt.Sprintf("SELECT '%s:%s' AS who", m.provider, q.model)).says
		}
		m.say(w, q, text)
	}
}

// TestChoiceOfModels has several models set: each request chooses one, in every
// way there is to ask, or is told which there are.
func TestChoiceOfModels(t *testing.T) {
	t.Parallel()
	first, second := newProvider(t, "openai", nil), newProvider(t, "ollama", nil)
	first.does(naming(first))
	second.does(naming(second))
	env := append(append(first.address(), second.address()...), "PARLEY_LLM=openai:a,ollama:b,openai:c")
	s := serveShop(t, env)
	ways := map[string]func(choice object) (int, string){
		"A2A nl2ql": func(choice object) (int, string) {
			return s.post(s.alice, "/api/v1/a2a/nl2ql", choosing("SendMessage", choice))
		},
		"A2A assistant": func(choice object) (int, string) {
			return s.post(s.alice, "/api/v1/a2a/assistant", choosing("SendStreamingMessage", choice))
		},
		"ask": func(choice object) (int, string) {
			return s.post(s.alice, "/api/v1/query/ask", questionWith(choice, "query"))
		},
		"autorag": func(choice object) (int, string) {
			return s.post(s.alice, "/api/v1/query/autorag", questionWith(choice, "query"))
		},
		"query": func(choice object) (int, string) {
			return s.post(s.alice, "/api/v1/query", questionWith(choice, "naturalLanguageQuery"))
		},
	}
	for way, ask := range ways {
		for _, test := range []struct {
			choice object
			want   string
		}{
			{object{}, `"who":"openai:a"`},
			{object{"provider": "openai"}, `"who":"openai:a"`},
			{object{"provider": "ollama"}, `"who":"ollama:b"`},
			{object{"model": "b"}, `"who":"ollama:b"`},
			{object{"provider": "openai", "model": "c"}, `"who":"openai:c"`},
			{object{"model": "openai:c"}, `"who":"openai:c"`},
			{object{"provider": "rules"}, `:4,"__metadata"`},
		} {
			if status, text := ask(test.choice); status != http.StatusOK || !strings.Contains(text, test.want) {
				t.Errorf("%s with %v: %d %s, want %s", way, test.choice, status, text, test.want)
			}
		}
	}
	for way, ask := range ways {
		for _, choice := range []object{{"provider": "anthropic"}, {"model": "d"}, {"provider": "ollama", "model": "a"}, {"provider": "rules", "model": "a"}} {
			status, text := ask(choice)
			var answer struct {
				Error     struct{ Code int }
				ErrorCode string `json:"error_code"`
			}
			_ = json.Unmarshal([]byte(text), &answer)
			refused := status == http.StatusUnprocessableEntity && answer.ErrorCode == "VALIDATION_FAILED"
			if strings.HasPrefix(way, "A2A") {
				refused = status == http.StatusOK && answer.Error.Code == -32602
			}
			if !refused || !strings.Contains(text, "is not set here; there is openai:a, ollama:b, openai:c, rules") {
				t.Errorf("%s with %v: %d %s", way, choice, status, text)
			}
		}
	}
	// What was refused has left nothing behind: seven tasks of each way.
	for agent, want := range map[string]int{"nl2ql": 14, "assistant": 21} {
		_, list := s.post(s.alice, "/api/v1/a2a/"+agent, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
		if !strings.Contains(list, fmt.Sprintf(`"totalSize":%d`, want)) {
			t.Errorf("%s: %s, want %d tasks", agent, list, want)
		}
	}
}

// choosing is a question over A2A that chooses a model.
func choosing(method string, choice object) string {
	metadata := object{"namespace": "shop"}
	for key, value := range choice {
		metadata[key] = value
	}
	return toJSON(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": object{"message": object{
		"messageId": "m-1", "role": "ROLE_USER", "parts": []object{{"text": goodQuestion}}, "metadata": metadata}}})
}

// questionWith is a question by REST, in the named field, that chooses a model.
func questionWith(choice object, in string) string {
	body := object{"username": "self", "namespace": "shop", in: goodQuestion}
	for key, value := range choice {
		body[key] = value
	}
	return toJSON(body)
}
