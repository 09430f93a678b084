package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestFollowUps goes on from a question before, without a model and with both agents, in a
// context of the server's and in one that the client has named.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	for _, context := range [][2]string{{"nl2ql", ""}, {"nl2ql", "my chat"}, {"assistant", ""}, {"assistant", "my chat"}} {
		agent, conversation := context[0], context[1]
		t.Run(agent+" "+conversation, func(t *testing.T) {
			t.Parallel()
			for _, turn := range [][2]string{
				{"How many orders are there?", `"count":4`},
				{"and in Berlin?", `"count":2`},
				{"What is the weather on Mars?", `"answered":false`}, // leaves no trace
				{"and in Paris?", `"count":1`},
			} {
				_, answer := s.Post(s.Token, "/api/v1/a2a/"+agent, e2etest.A2ABody("SendMessage", turn[0], conversation))
				conversation = e2etest.Field(answer, "contextId")
				if !strings.Contains(answer, turn[1]) {
					t.Errorf("%s: no %s in %s", turn[0], turn[1], answer)
				}
			}
		})
	}
}

// TestQuestionIsNotUnderstood asks what the data does not hold, without a model: nl2ql fails
// with the words that it does not know and with questions that it does, the assistant
// completes and says so, and REST answers 422.
func TestQuestionIsNotUnderstood(t *testing.T) {
	t.Parallel()
	const question = "What is the weather on Mars?"
	s := e2etest.ServeShop(t, nil)
	_, answer := s.Post(s.Token, "/api/v1/a2a/nl2ql", e2etest.A2ABody("SendMessage", question, ""))
	for _, want := range []string{`"state":"TASK_STATE_FAILED"`, `"code":"NOT_UNDERSTOOD"`, `"suggestions":["`, `"words":["`, `"answered":false`} {
		if !strings.Contains(answer, want) {
			t.Errorf("nl2ql: no %s in %s", want, answer)
		}
	}
	if strings.Contains(answer, "generated-query") {
		t.Errorf("nl2ql has a query: %s", answer)
	}
	_, answer = s.Post(s.Token, "/api/v1/a2a/assistant", e2etest.A2ABody("SendMessage", question, ""))
	if !strings.Contains(answer, `"state":"TASK_STATE_COMPLETED"`) || !strings.Contains(answer, `"metadata":{"answered":false,"confidence":0,"reading":""}`) {
		t.Errorf("assistant: %s", answer)
	}
	status, answer := s.Post(s.Token, "/api/v1/query", e2etest.ToJSON(map[string]any{"username": "self", "namespace": "shop", "naturalLanguageQuery": question}))
	if status != http.StatusUnprocessableEntity || !strings.Contains(answer, "I found nothing for") {
		t.Errorf("REST: %d %s", status, answer)
	}
}
