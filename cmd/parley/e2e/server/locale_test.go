package server

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc/metadata"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

const (
	average = "What is the average price of orders?"
	german  = "The average price is **27.425,50**."
)

// amounts starts a server on which alice has three orders.
func amounts(t *testing.T, env []string) e2etest.Client {
	t.Helper()
	p := e2etest.Serve(t, t.TempDir(), env)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{
		{"item": "apple", "city": "Berlin", "price": 27425.5}, {"item": "pear", "city": "Paris", "price": 27000}, {"item": "fig", "city": "Rome", "price": 27851},
	}}, nil)
	if status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	return c
}

// TestLocale asks over each binding, with the languages of a German browser and with others.
// The data does not change.
func TestLocale(t *testing.T) {
	t.Parallel()
	c := amounts(t, nil)
	const browser = "de-DE,de;q=0.9,en-US;q=0.8,en;q=0.7"
	body := func() string {
		return strings.Replace(e2etest.Message(`"metadata":{"namespace":"shop"}`), "How many orders are there?", average, 1)
	}
	legacy := strings.NewReplacer(`"role":"ROLE_USER"`, `"role":"user"`, `{"text":`, `{"kind":"text","text":`)
	rest := e2etest.ToJSON(e2etest.Object{"username": "self", "namespace": "shop", "query": average})
	for _, test := range []struct{ name, path, body, languages, want string }{
		{"JSON-RPC", "/a2a/assistant", e2etest.RPCBody("SendMessage", body()), browser, german},
		{"a stream", "/a2a/assistant", e2etest.RPCBody("SendStreamingMessage", body()), browser, german},
		{"HTTP+JSON", "/a2a/assistant/message:send", body(), browser, german},
		{"0.3", "/a2a/assistant/v0.3", e2etest.RPCBody("message/send", legacy.Replace(body())), browser, german},
		{"REST", "/query/autorag", rest, browser, german},
		{"a REST stream", "/query/ask", rest, browser, german},
		{"Swiss", "/query/autorag", rest, "de-CH", "**27’425.50**"},
		{"French", "/query/autorag", rest, "fr", "**27\u202f425,50**"},
		{"English", "/query/autorag", rest, "en-GB, de;q=0.5", "**27,425.50**"},
		{"none", "/query/autorag", rest, "", "**27,425.50**"},
		{"a wrong one", "/query/autorag", rest, "de;q=;,%", "**27,425.50**"},
		{"a long one", "/query/autorag", rest, "de" + strings.Repeat(",en;q=0.1", 1000), "**27,425.50**"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			status, answer := c.Post(c.Token, "/api/v1"+test.path, test.body, "Accept-Language", test.languages)
			if status != http.StatusOK || !strings.Contains(answer, test.want) || !strings.Contains(answer, `27425.5`) {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	ctx := metadata.AppendToOutgoingContext(withToken(t, c.Token), "accept-language", browser)
	answer, err := grpcClient(t, strings.TrimPrefix(c.URL, "http://")).SendMessage(ctx, &a2apb.SendMessageRequest{Tenant: "assistant/alice/shop", Message: &a2apb.Message{
		MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: average}}},
	}})
	if err != nil || !strings.Contains(answer.String(), german) {
		t.Errorf("gRPC: %v, %v", answer, err)
	}
}

// TestLocaleAfterKill kills the server before it has answered. The one that resumes the run
// knows the locale of the asker.
func TestLocaleAfterKill(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		if env != nil {
			env = append(env, e2etest.ShortLease)
		}
		c := amounts(t, env)
		c.Hold()
		body := strings.Replace(e2etest.A2ABody("SendMessage", average, ""), `"params":{`, `"params":{"configuration":{"returnImmediately":true},`, 1)
		_, text := c.Post(c.Token, "/api/v1/a2a/assistant", body, "Accept-Language", "de")
		id := e2etest.Field(text, "id")
		c.Signal(syscall.SIGKILL)
		c.Wait()
		c.Process = e2etest.Serve(t, c.Dir, env)
		var task string
		e2etest.Eventually(t, func() bool {
			task = c.Task("assistant", id)
			return strings.Contains(task, "TASK_STATE_COMPLETED")
		})
		if !strings.Contains(task, german) {
			t.Errorf("the task is %s", task)
		}
	})
}
