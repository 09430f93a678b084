package cli

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// example is a question on an extended card.
type example struct{ Text, Namespace string }

// extendedCard reads the examples of a user's card: those of its skill, and with their
// namespaces.
func extendedCard(t *testing.T, p *e2etest.Process, token, agent string) (texts []string, named []example) {
	t.Helper()
	_, answer := p.Call(token, http.MethodPost, "/api/v1/a2a/"+agent, `{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}`)
	var card struct {
		Result struct {
			Skills       []struct{ Examples []string }
			Capabilities struct {
				Extensions []struct {
					URI    string
					Params struct{ Examples []example }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &card); err != nil || len(card.Result.Skills) != 1 {
		t.Fatalf("%s: %v %s", agent, err, answer)
	}
	for _, extension := range card.Result.Capabilities.Extensions {
		if extension.URI == "urn:parley:namespace:v1" {
			named = extension.Params.Examples
		}
	}
	return card.Result.Skills[0].Examples, named
}

// awaitExamples is extendedCard when it has examples: a card waits for them a moment only.
func awaitExamples(t *testing.T, p *e2etest.Process, token, agent string) (texts []string, named []example) {
	t.Helper()
	e2etest.Eventually(t, func() bool {
		texts, named = extendedCard(t, p, token, agent)
		return len(texts) > 0
	})
	return texts, named
}

// checkAnswered asks a question, with members of the message besides its text, and wants an
// answer.
func checkAnswered(t *testing.T, p *e2etest.Process, token, agent, question, members string) {
	t.Helper()
	text, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"` + uuid.NewString() + `","role":"ROLE_USER","parts":[{"text":` + string(text) + `}]` + members + `}}}`
	_, answer := p.Call(token, http.MethodPost, "/api/v1/a2a/"+agent, body)
	var sent struct {
		Result struct {
			Task struct {
				Status   struct{ State string }
				Metadata struct{ Answered bool }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &sent); err != nil || sent.Result.Task.Status.State != "TASK_STATE_COMPLETED" || !sent.Result.Task.Metadata.Answered {
		t.Errorf("%s, %q%s: %v\n%s", agent, question, members, err, answer)
	}
}

// TestDemoExamples asks every example of both agents' cards, as it is, of the sample.
func TestDemoExamples(t *testing.T) {
	t.Parallel()
	d := startDemo(t, t.TempDir(), nil, "--listen", "127.0.0.1:0")
	for user, token := range map[string]string{"alice": d.tokenIn(d.page), "bob": d.tokenIn(d.bob)} {
		var namespaces []string
		for _, agent := range []string{"nl2ql", "assistant"} {
			texts, named := awaitExamples(t, d.Process, token, agent)
			if len(texts) < 2 || len(named) < len(texts) {
				t.Errorf("%s, %s: %d texts, %d with namespaces", user, agent, len(texts), len(named))
			}
			for _, e := range named {
				if !slices.Contains(texts, e.Text) {
					t.Errorf("%s, %s: %q is no example of the skill: %q", user, agent, e.Text, texts)
				}
				checkAnswered(t, d.Process, token, agent, e.Text, `,"metadata":{"urn:parley:namespace:v1":{"namespace":"`+e.Namespace+`"}}`)
				namespaces = append(namespaces, e.Namespace)
			}
			t.Logf("%s, %s: %q", user, agent, named)
		}
		slices.Sort(namespaces)
		if namespaces = slices.Compact(namespaces); len(namespaces) == 0 {
			t.Errorf("%s has no examples", user)
		}
	}
}

// TestExamplesOfOddData has datasets that are hard to ask about: what is on the card is
// answered, with nothing but its text, since there is one namespace.
func TestExamplesOfOddData(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("carol")}
	for name, rows := range map[string][]e2etest.Object{
		"x9_q-z":   {{"c1": 1, "c2": "a"}, {"c1": 2, "c2": "b"}},
		"data":     {{"value": 1.5}, {"value": 2}},
		"bücher":   {{"titel": "Öl"}},
		"orders":   {{"city": "Berlin", "price": 3}, {"city": "Paris", "price": 4}, {"city": "Berlin", "price": 5}},
		"orders_2": {{"city": "Berlin", "price": 3}, {"city": "Rome", "price": 4}},
		"notes":    {{"document": "a.md", "passage": 1, "text": "Refunds take a week."}},
	} {
		// Not all names are taken.
		c.Ask(http.MethodPost, "/ingest/odd/"+strings.ReplaceAll(name, "ü", "%C3%BC"), e2etest.Object{"data": rows}, nil)
	}
	for _, agent := range []string{"nl2ql", "assistant"} {
		texts, named := awaitExamples(t, p, c.Token, agent)
		if len(texts) == 0 || len(texts) > 5 {
			t.Errorf("%s has %d examples", agent, len(texts))
		}
		for _, text := range texts {
			checkAnswered(t, p, c.Token, agent, text, "")
		}
		for _, e := range named {
			if e.Namespace != "carol/odd" {
				t.Errorf("%s: %+v", agent, e)
			}
		}
		t.Logf("%s: %q", agent, texts)
	}
	// Who can read nothing has a card without examples.
	if texts, named := extendedCard(t, p, p.Token("nobody"), "nl2ql"); len(texts)+len(named) != 0 {
		t.Errorf("examples of nothing: %q %q", texts, named)
	}
}
