package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/internal/golden"
)

// attempt is a request about somebody's things. {agent}, {task} and {context}
// stand for names and ids of theirs, {namespace} and {owner} for where they asked.
type attempt struct {
	name, method, path, body, last string
}

// rpcAttempt is an attempt over A2A.
func rpcAttempt(name, method, params string) attempt {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, method, params)
	return attempt{name: name, method: "POST", path: "/a2a/{agent}", body: body}
}

func withLast(a attempt, last string) attempt {
	a.last = last
	return a
}

func message(members string) string {
	return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"How many orders are there?"}],` + members + `}}`
}

// onTask are all the ways to reach a task over A2A.
var onTask = []attempt{
	rpcAttempt("get", "GetTask", `{"id":"{task}"}`),
	rpcAttempt("get a part", "GetTask", `{"id":"{task}","historyLength":0}`),
	rpcAttempt("cancel", "CancelTask", `{"id":"{task}"}`),
	rpcAttempt("subscribe", "SubscribeToTask", `{"id":"{task}"}`),
	withLast(rpcAttempt("subscribe from the start", "SubscribeToTask", `{"id":"{task}"}`), "0"),
	withLast(rpcAttempt("subscribe from the middle", "SubscribeToTask", `{"id":"{task}"}`), "2"),
	withLast(rpcAttempt("subscribe beyond", "SubscribeToTask", `{"id":"{task}"}`), "99"),
	rpcAttempt("send", "SendMessage", message(`"taskId":"{task}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("send in the context", "SendMessage", message(`"taskId":"{task}","contextId":"{context}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("stream", "SendStreamingMessage", message(`"taskId":"{task}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("push", "GetTaskPushNotificationConfig", `{"taskId":"{task}","id":"x"}`),
}

// onRun are all the ways to reach a run or its conversation by REST, and a
// context by A2A.
var onRun = []attempt{
	{name: "read run", method: "GET", path: "/query/runs/{task}"},
	{name: "resume", method: "POST", path: "/query/runs/{task}/resume"},
	{name: "rate", method: "POST", path: "/query/runs/{task}/feedback", body: `{"thumbsUp":false,"comment":"mine"}`},
	{name: "delete run", method: "DELETE", path: "/query/runs/{task}"},
	{name: "read conversation", method: "GET", path: "/query/conversations/{context}"},
	{name: "delete conversation", method: "DELETE", path: "/query/conversations/{context}"},
	{name: "ask in conversation", method: "POST", path: "/query/ask", body: `{"username":"self","namespace":"mine","query":"How many?","conversationId":"{context}"}`},
	{name: "ask and wait in conversation", method: "POST", path: "/query/autorag", body: `{"username":"self","namespace":"mine","query":"How many?","conversationId":"{context}"}`},
	rpcAttempt("list context", "ListTasks", `{"contextId":"{context}","includeArtifacts":true}`),
}

// onNamespace are the ways to ask about a namespace.
var onNamespace = []attempt{
	{name: "ask", method: "POST", path: "/query/ask", body: `{"username":"alice","namespace":"{namespace}","query":"How many?"}`},
	{name: "ask and wait", method: "POST", path: "/query/autorag", body: `{"username":"alice","namespace":"{namespace}","query":"How many?"}`},
	{name: "query in words", method: "POST", path: "/query", body: `{"username":"alice","namespace":"{namespace}","naturalLanguageQuery":"How many?"}`},
	{name: "query", method: "POST", path: "/query", body: `{"username":"alice","namespace":"{namespace}","query":"SELECT count(*) FROM orders"}`},
	{name: "list conversations", method: "GET", path: "/query/conversations?username=alice&namespace={namespace}"},
	rpcAttempt("send", "SendMessage", message(`"metadata":{"namespace":"alice/{namespace}"}`)),
	rpcAttempt("send by name", "SendMessage", message(`"metadata":{"namespace":"{namespace}","username":"alice"}`)),
	rpcAttempt("stream", "SendStreamingMessage", message(`"metadata":{"namespace":"alice/{namespace}"}`)),
	rpcAttempt("stream in a context", "SendStreamingMessage", message(`"contextId":"{context}","metadata":{"namespace":"alice/{namespace}"}`)),
}

// try sends an attempt and gives all of the answer that does not differ from one
// request to the next.
func (a attempt) try(c client, names map[string]string) string {
	c.t.Helper()
	fill := func(text string) string {
		for name, value := range names {
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
		return text
	}
	request, err := http.NewRequestWithContext(c.t.Context(), a.method, c.url+"/api/v1"+fill(a.path), strings.NewReader(fill(a.body)))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	if a.last != "" {
		request.Header.Set("Last-Event-ID", a.last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var headers []string
	for name, values := range response.Header {
		if name != "Date" && name != "X-Request-Id" {
			headers = append(headers, fmt.Sprint(name, values))
		}
	}
	slices.Sort(headers)
	return fmt.Sprintf("%d %v\n%s", response.StatusCode, headers, golden.Scrub(text))
}

// asked is a run of somebody's.
type asked struct{ agent, task, context string }

func (a asked) names(namespace string) map[string]string {
	return map[string]string{"agent": a.agent, "task": a.task, "context": a.context, "namespace": namespace}
}

// unknown is a run that never was.
func unknown(agent string) asked {
	return asked{agent, uuid.Must(uuid.NewV7()).String(), uuid.Must(uuid.NewV7()).String()}
}

// sendMessage asks over A2A and waits for the answer, which it gives as it came.
func (c client) sendMessage(agent, params string) (asked, string) {
	c.t.Helper()
	a := rpcAttempt("", "SendMessage", params)
	_, answer := c.call(c.token, "POST", "/api/v1/a2a/"+agent, a.body)
	var read struct {
		Result struct {
			Task struct {
				ID, ContextID string
				Status        struct{ State string }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &read); err != nil || read.Result.Task.Status.State != "TASK_STATE_COMPLETED" {
		c.t.Fatalf("%s: %v %s", agent, err, answer)
	}
	return asked{agent, read.Result.Task.ID, read.Result.Task.ContextID}, answer
}

// belongings is all that a user can read of some runs.
func (c client) belongings(runs []asked) string {
	var all strings.Builder
	for _, run := range runs {
		for _, a := range []attempt{
			rpcAttempt("", "GetTask", `{"id":"{task}"}`),
			withLast(rpcAttempt("", "SubscribeToTask", `{"id":"{task}"}`), "0"),
			rpcAttempt("", "ListTasks", `{"includeArtifacts":true}`),
			{method: "GET", path: "/query/runs/{task}"},
			{method: "GET", path: "/query/conversations/{context}"},
			{method: "GET", path: "/query/conversations"},
		} {
			fmt.Fprintln(&all, a.try(c, run.names("shop")))
		}
	}
	return all.String()
}

func (c client) newDataset(namespace, name string) {
	c.t.Helper()
	if status := c.ask("POST", "/ingest/new/"+namespace+"/"+name, nil, nil); status != http.StatusCreated {
		c.t.Fatalf("new dataset: %d", status)
	}
	if status := c.ask("POST", "/ingest/"+namespace+"/"+name, object{"data": []object{{"id": 1, "town": "Rome"}, {"id": 2, "town": "Berlin"}}}, nil); status != http.StatusOK {
		c.t.Fatalf("rows: %d", status)
	}
}

// TestIsolation has others try everything on somebody's runs: they are answered
// as if there were no such thing, and nothing happens to it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		p := serve(t, t.TempDir(), env, "--log-level", "warn")
		alice, bob := client{p, p.token("alice")}, client{p, p.token("bob")}
		alice.newDataset("shop", "orders")
		alice.newDataset("mine", "things")
		bob.newDataset("mine", "orders")
		var made struct{ Token string }
		alice.ask("POST", "/user/token", object{"name": "other", "accessRestrictedTo": []object{{"username": "self", "namespace": "mine"}}}, &made)
		restricted := client{p, made.Token}

		var runs []asked
		for _, agent := range []string{"nl2ql", "assistant"} {
			run, _ := alice.sendMessage(agent, message(`"metadata":{"namespace":"shop"}`))
			runs = append(runs, run)
		}
		if status := alice.ask("POST", "/query/runs/"+runs[0].task+"/feedback", object{"thumbsUp": true}, nil); status != http.StatusNoContent {
			t.Fatalf("feedback: %d", status)
		}
		before := alice.belongings(runs)

		compare := func(who string, c client, attempts []attempt, real, never map[string]string) {
			t.Helper()
			for _, a := range attempts {
				want := a.try(c, never)
				if got := a.try(c, real); got != want {
					t.Errorf("%s, %s, %s: got\n%s\nand for what never was\n%s", who, real["agent"], a.name, got, want)
				}
				if strings.HasPrefix(want, "2") && a.method == "DELETE" || strings.Contains(want, `"steps"`) {
					t.Errorf("%s, %s: an answer: %s", who, a.name, want)
				}
			}
		}
		for _, run := range runs {
			never := unknown(run.agent)
			compare("another user", bob, onTask, run.names("shop"), never.names("shop"))
			compare("another user", bob, onRun, run.names("shop"), never.names("shop"))
			compare("another user", bob, onNamespace, run.names("shop"), never.names("none"))
			compare("a token for elsewhere", restricted, onTask, run.names("shop"), never.names("shop"))
			compare("a token for elsewhere", restricted, onRun, run.names("shop"), never.names("shop"))
			compare("a token for elsewhere", restricted, onNamespace[:len(onNamespace)-1], run.names("shop"), never.names("none"))
		}
		// Nor is a task that of another agent.
		crossed := asked{"assistant", runs[0].task, runs[0].context}
		compare("its owner", alice, onTask, crossed.names("shop"), unknown("assistant").names("shop"))

		for _, agent := range []string{"nl2ql", "assistant"} {
			card := rpcAttempt("", "GetExtendedAgentCard", `{}`)
			if got := card.try(bob, map[string]string{"agent": agent}); strings.Contains(got, "alice") || !strings.Contains(got, "bob/mine") {
				t.Errorf("bob's card of %s: %s", agent, got)
			}
			if got := card.try(restricted, map[string]string{"agent": agent}); strings.Contains(got, "shop") || !strings.Contains(got, "alice/mine") {
				t.Errorf("a restricted token's card of %s: %s", agent, got)
			}
		}
		// The same context means another conversation.
		for _, run := range runs {
			in := `"metadata":{"namespace":"mine"},"contextId":"`
			_, want := bob.sendMessage(run.agent, message(in+uuid.NewString()+`"`))
			got, answer := bob.sendMessage(run.agent, message(in+run.context+`"`))
			if string(golden.Scrub([]byte(answer))) != string(golden.Scrub([]byte(want))) || got.context != run.context {
				t.Errorf("%s: in somebody's context\n%s\nin a new one\n%s", run.agent, answer, want)
			}
			var conversation struct{ Turns []struct{ RunID string } }
			if bob.ask("GET", "/query/conversations/"+run.context, nil, &conversation); len(conversation.Turns) != 1 || conversation.Turns[0].RunID != got.task {
				t.Errorf("%s: bob's conversation: %+v", run.agent, conversation)
			}
			if status := bob.ask("DELETE", "/query/conversations/"+run.context, nil, nil); status != http.StatusNoContent {
				t.Errorf("bob deletes his own: %d", status)
			}
		}
		if after := alice.belongings(runs); after != before {
			t.Errorf("was\n%s\nis\n%s", before, after)
		}
	})
}
