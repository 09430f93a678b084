package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/domain"
)

// naming does jobs, and puts the model's name into the rows.
func naming(m *e2etest.StandinModel) func(http.ResponseWriter, *http.Request, e2etest.Prompt) {
	return func(w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
		text := wellDone(q.Job)
		if q.Job == e2etest.QueryJob {
			text = e2etest.Queries("", "", fmt.Sprintf("SELECT '%s:%s' AS who", m.Provider, q.Model)).Says
		}
		m.Say(w, q, text)
	}
}

// TestChoiceOfModels has several models set: each request chooses one, in every
// way there is to ask, or is told which there are.
func TestChoiceOfModels(t *testing.T) {
	t.Parallel()
	first, second := e2etest.NewProvider(t, "openai", nil), e2etest.NewProvider(t, "ollama", nil)
	first.Does(naming(first))
	second.Does(naming(second))
	env := append(append(first.Address(), second.Address()...), "PARLEY_LLM=openai:a,ollama:b,openai:c")
	s := e2etest.ServeShop(t, env)
	ways := map[string]func(choice e2etest.Object) (int, string){
		"A2A nl2ql": func(choice e2etest.Object) (int, string) {
			return s.Post(s.Token, "/api/v1/a2a/nl2ql", choosing("SendMessage", choice))
		},
		"A2A assistant": func(choice e2etest.Object) (int, string) {
			return s.Post(s.Token, "/api/v1/a2a/assistant", choosing("SendStreamingMessage", choice))
		},
		"ask": func(choice e2etest.Object) (int, string) {
			return s.Post(s.Token, "/api/v1/query/ask", questionWith(choice, "query"))
		},
		"autorag": func(choice e2etest.Object) (int, string) {
			return s.Post(s.Token, "/api/v1/query/autorag", questionWith(choice, "query"))
		},
		"query": func(choice e2etest.Object) (int, string) {
			return s.Post(s.Token, "/api/v1/query", questionWith(choice, "naturalLanguageQuery"))
		},
	}
	for way, ask := range ways {
		for _, test := range []struct {
			choice e2etest.Object
			want   string
		}{
			{e2etest.Object{}, `"who":"openai:a"`},
			{e2etest.Object{"provider": "openai"}, `"who":"openai:a"`},
			{e2etest.Object{"provider": "ollama"}, `"who":"ollama:b"`},
			{e2etest.Object{"model": "b"}, `"who":"ollama:b"`},
			{e2etest.Object{"provider": "openai", "model": "c"}, `"who":"openai:c"`},
			{e2etest.Object{"model": "openai:c"}, `"who":"openai:c"`},
			{e2etest.Object{"provider": "reader"}, `:4,"__metadata"`},
		} {
			if status, text := ask(test.choice); status != http.StatusOK || !strings.Contains(text, test.want) {
				t.Errorf("%s with %v: %d %s, want %s", way, test.choice, status, text, test.want)
			}
		}
	}
	for way, ask := range ways {
		for _, choice := range []e2etest.Object{{"provider": "anthropic"}, {"model": "d"}, {"provider": "ollama", "model": "a"}, {"provider": "reader", "model": "a"}} {
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
			if !refused || !strings.Contains(text, "is not set here; there is openai:a, ollama:b, openai:c, reader") {
				t.Errorf("%s with %v: %d %s", way, choice, status, text)
			}
		}
	}
	// What was refused has left nothing behind: seven tasks of each way.
	for agent, want := range map[string]int{"nl2ql": 14, "assistant": 21} {
		_, list := s.Post(s.Token, "/api/v1/a2a/"+agent, `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
		if !strings.Contains(list, fmt.Sprintf(`"totalSize":%d`, want)) {
			t.Errorf("%s: %s, want %d tasks", agent, list, want)
		}
	}
}

// choosing is a question over A2A that chooses a model.
func choosing(method string, choice e2etest.Object) string {
	metadata := e2etest.Object{"namespace": "shop"}
	for key, value := range choice {
		metadata[key] = value
	}
	return e2etest.ToJSON(e2etest.Object{"jsonrpc": "2.0", "id": 1, "method": method, "params": e2etest.Object{"message": e2etest.Object{
		"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []e2etest.Object{{"text": goodQuestion}}, "metadata": metadata}}})
}

// questionWith is a question by REST, in the named field, that chooses a model.
func questionWith(choice e2etest.Object, in string) string {
	body := e2etest.Object{"username": "self", "namespace": "shop", in: goodQuestion}
	for key, value := range choice {
		body[key] = value
	}
	return e2etest.ToJSON(body)
}

// TestModelUnavailable asks by REST for a whole answer while the model is down.
func TestModelUnavailable(t *testing.T) {
	t.Parallel()
	model := e2etest.NewProvider(t, "openai", nil)
	model.Does(func(w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
		refuses(http.StatusUnauthorized)(model, w, r, q)
	})
	s := e2etest.ServeShop(t, append(model.Address(), "PARLEY_LLM=openai:a"))
	for path, field := range map[string]string{"/api/v1/query": "naturalLanguageQuery", "/api/v1/query/autorag": "query"} {
		status, text := s.Post(s.Token, path, questionWith(nil, field))
		if status != http.StatusServiceUnavailable || !strings.Contains(text, `"UNAVAILABLE"`) || !strings.Contains(text, "API key") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}
