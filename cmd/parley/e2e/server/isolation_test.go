package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
)

// attempt is a request about somebody's things. {agent}, {task} and {context} stand for
// names and ids of theirs, {namespace} and {owner} for where they asked.
type attempt struct {
	Name, Method, Path, Body, Last string
}

// rpcAttempt is an attempt over A2A.
func rpcAttempt(name, method, params string) attempt {
	return attempt{Name: name, Method: "POST", Path: "/a2a/{agent}", Body: e2etest.RPCBody(method, params)}
}

// mcpAttempt is an attempt with a tool.
func mcpAttempt(name, tool, arguments string) attempt {
	return attempt{Name: name + " over MCP", Method: "POST", Path: mcpPath, Body: e2etest.RPCBody("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)}
}

const mcpPath = "/mcp"

func withLast(a attempt, last string) attempt {
	a.Last = last
	return a
}

// onTask are all the ways to reach a task over A2A.
var onTask = inAllBindings([]attempt{
	rpcAttempt("get", "GetTask", `{"id":"{task}"}`),
	rpcAttempt("get a part", "GetTask", `{"id":"{task}","historyLength":0}`),
	rpcAttempt("cancel", "CancelTask", `{"id":"{task}"}`),
	rpcAttempt("subscribe", "SubscribeToTask", `{"id":"{task}"}`),
	withLast(rpcAttempt("subscribe from the start", "SubscribeToTask", `{"id":"{task}"}`), "0"),
	withLast(rpcAttempt("subscribe from the middle", "SubscribeToTask", `{"id":"{task}"}`), "2"),
	withLast(rpcAttempt("subscribe beyond", "SubscribeToTask", `{"id":"{task}"}`), "99"),
	rpcAttempt("send", "SendMessage", e2etest.Message(`"taskId":"{task}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("send in the context", "SendMessage", e2etest.Message(`"taskId":"{task}","contextId":"{context}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("stream", "SendStreamingMessage", e2etest.Message(`"taskId":"{task}","metadata":{"namespace":"mine"}`)),
	rpcAttempt("push", "CreateTaskPushNotificationConfig", `{"taskId":"{task}","id":"x","url":"https://hooks.example.com"}`),
	rpcAttempt("get push", "GetTaskPushNotificationConfig", `{"taskId":"{task}","id":"x"}`),
	rpcAttempt("list pushes", "ListTaskPushNotificationConfigs", `{"taskId":"{task}"}`),
	rpcAttempt("delete push", "DeleteTaskPushNotificationConfig", `{"taskId":"{task}","id":"x"}`),
})

func inAllBindings(attempts []attempt) []attempt {
	for _, a := range attempts {
		attempts = append(attempts, inOtherBindings(a)...)
	}
	return attempts
}

// inOtherBindings returns an attempt on a task over HTTP+JSON and A2A 0.3.
func inOtherBindings(a attempt) []attempt {
	var call struct {
		Method string
		Params map[string]any
	}
	if err := json.Unmarshal([]byte(a.Body), &call); err != nil {
		panic(err)
	}
	body, err := json.Marshal(call.Params)
	if err != nil {
		panic(err)
	}
	const path = "/a2a/{agent}/tasks/{task}"
	over := func(method, path string) attempt {
		return attempt{Name: a.Name + " over HTTP+JSON", Method: method, Path: path, Body: string(body), Last: a.Last}
	}
	legacy := func(method string, params string) attempt {
		return attempt{Name: a.Name + " over 0.3", Method: "POST", Path: "/a2a/{agent}/v0.3", Body: e2etest.RPCBody(method, params), Last: a.Last}
	}
	message := strings.NewReplacer(`"role":"ROLE_USER"`, `"role":"user"`, `{"text":`, `{"kind":"text","text":`).Replace(string(body))
	switch call.Method {
	case "GetTask":
		return []attempt{over("GET", path), legacy("tasks/get", string(body))}
	case "CancelTask":
		return []attempt{over("POST", path+":cancel"), legacy("tasks/cancel", string(body))}
	case "SubscribeToTask":
		return []attempt{over("GET", path+":subscribe"), over("POST", path+":subscribe"), legacy("tasks/resubscribe", string(body))}
	case "SendMessage":
		return []attempt{over("POST", "/a2a/{agent}/message:send"), over("POST", "/a2a/{agent}/alice/shop/message:send"), legacy("message/send", message)}
	case "SendStreamingMessage":
		return []attempt{over("POST", "/a2a/{agent}/message:stream"), legacy("message/stream", message)}
	case "CreateTaskPushNotificationConfig":
		return []attempt{over("POST", path+"/pushNotificationConfigs"),
			legacy("tasks/pushNotificationConfig/set", `{"taskId":"{task}","pushNotificationConfig":{"id":"x","url":"https://hooks.example.com"}}`)}
	case "GetTaskPushNotificationConfig":
		return []attempt{over("GET", path+"/pushNotificationConfigs/x"), legacy("tasks/pushNotificationConfig/get", `{"id":"{task}","pushNotificationConfigId":"x"}`)}
	case "ListTaskPushNotificationConfigs":
		return []attempt{over("GET", path+"/pushNotificationConfigs"), legacy("tasks/pushNotificationConfig/list", `{"id":"{task}"}`)}
	case "DeleteTaskPushNotificationConfig":
		return []attempt{over("DELETE", path+"/pushNotificationConfigs/x"), legacy("tasks/pushNotificationConfig/delete", `{"id":"{task}","pushNotificationConfigId":"x"}`)}
	}
	panic("no attempt for " + call.Method)
}

// onRun are all the ways to reach a run or its conversation by REST, and a
// context by A2A.
var onRun = []attempt{
	{Name: "read run", Method: "GET", Path: "/query/runs/{task}"},
	{Name: "resume", Method: "POST", Path: "/query/runs/{task}/resume"},
	{Name: "rate", Method: "POST", Path: "/query/runs/{task}/feedback", Body: `{"thumbsUp":false,"comment":"mine"}`},
	{Name: "delete run", Method: "DELETE", Path: "/query/runs/{task}"},
	{Name: "read conversation", Method: "GET", Path: "/query/conversations/{context}"},
	{Name: "rename conversation", Method: "PATCH", Path: "/query/conversations/{context}", Body: `{"title":"mine"}`},
	{Name: "delete conversation", Method: "DELETE", Path: "/query/conversations/{context}"},
	{Name: "ask in conversation", Method: "POST", Path: "/query/ask", Body: `{"username":"self","namespace":"mine","query":"How many?","conversationId":"{context}"}`},
	{Name: "ask and wait in conversation", Method: "POST", Path: "/query/autorag", Body: `{"username":"self","namespace":"mine","query":"How many?","conversationId":"{context}"}`},
	rpcAttempt("list context", "ListTasks", `{"contextId":"{context}","includeArtifacts":true}`),
	mcpAttempt("read run", "get_answer", `{"run_id":"{task}"}`),
	mcpAttempt("cancel", "cancel_run", `{"run_id":"{task}"}`),
	mcpAttempt("rate", "give_feedback", `{"run_id":"{task}","thumbs_up":false}`),
	mcpAttempt("answer", "ask", `{"run_id":"{task}","question":"1"}`),
	mcpAttempt("ask in conversation", "ask", `{"conversation_id":"{context}","namespace":"mine","question":"How many?"}`),
}

// onNamespace are the ways to ask about a namespace.
var onNamespace = []attempt{
	{Name: "ask", Method: "POST", Path: "/query/ask", Body: `{"username":"alice","namespace":"{namespace}","query":"How many?"}`},
	{Name: "ask and wait", Method: "POST", Path: "/query/autorag", Body: `{"username":"alice","namespace":"{namespace}","query":"How many?"}`},
	{Name: "query in words", Method: "POST", Path: "/query", Body: `{"username":"alice","namespace":"{namespace}","naturalLanguageQuery":"How many?"}`},
	{Name: "query", Method: "POST", Path: "/query", Body: `{"username":"alice","namespace":"{namespace}","query":"SELECT count(*) FROM orders"}`},
	mcpAttempt("list", "list_datasets", `{"namespace":"alice/{namespace}"}`),
	mcpAttempt("describe", "describe_dataset", `{"namespace":"alice/{namespace}","dataset":"orders"}`),
	mcpAttempt("preview", "preview_rows", `{"namespace":"alice/{namespace}","dataset":"orders"}`),
	mcpAttempt("query", "run_sql", `{"namespace":"alice/{namespace}","query":"SELECT count(*) FROM orders"}`),
	mcpAttempt("ask", "ask", `{"namespace":"alice/{namespace}","question":"How many?"}`),
	{Name: "list conversations", Method: "GET", Path: "/query/conversations?username=alice&namespace={namespace}"},
	rpcAttempt("send", "SendMessage", e2etest.Message(`"metadata":{"namespace":"alice/{namespace}"}`)),
	rpcAttempt("send by name", "SendMessage", e2etest.Message(`"metadata":{"namespace":"{namespace}","username":"alice"}`)),
	rpcAttempt("stream", "SendStreamingMessage", e2etest.Message(`"metadata":{"namespace":"alice/{namespace}"}`)),
	rpcAttempt("stream in a context", "SendStreamingMessage", e2etest.Message(`"contextId":"{context}","metadata":{"namespace":"alice/{namespace}"}`)),
}

// try sends an attempt and gives all of the answer that does not differ from one
// request to the next.
func try(a attempt, c e2etest.Client, names map[string]string) string {
	c.T.Helper()
	fill := func(text string) string {
		for name, value := range names {
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
		return text
	}
	address := c.URL + "/api/v1" + fill(a.Path)
	if a.Path == mcpPath {
		address = c.URL + mcpPath
	}
	request, err := http.NewRequestWithContext(c.T.Context(), a.Method, address, strings.NewReader(fill(a.Body)))
	if err != nil {
		c.T.Fatal(err)
	}
	if a.Path == mcpPath {
		request.Header.Set("Accept", "application/json, text/event-stream")
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", "application/json")
	if a.Last != "" {
		request.Header.Set("Last-Event-ID", a.Last)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.T.Fatal(err)
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

func namesOf(a e2etest.Asked, namespace string) map[string]string {
	return map[string]string{"agent": a.Agent, "task": a.Task, "context": a.Context, "namespace": namespace}
}

// unknown is a run that never was.
func unknown(agent string) e2etest.Asked {
	return e2etest.Asked{Agent: agent, Task: uuid.Must(uuid.NewV7()).String(), Context: uuid.Must(uuid.NewV7()).String()}
}

// belongings is all that a user can read of some runs.
func belongings(c e2etest.Client, runs []e2etest.Asked) string {
	var all strings.Builder
	for _, run := range runs {
		for _, a := range []attempt{
			rpcAttempt("", "GetTask", `{"id":"{task}"}`),
			withLast(rpcAttempt("", "SubscribeToTask", `{"id":"{task}"}`), "0"),
			rpcAttempt("", "ListTasks", `{"includeArtifacts":true}`),
			{Method: "GET", Path: "/query/runs/{task}"},
			{Method: "GET", Path: "/query/conversations/{context}"},
			{Method: "GET", Path: "/query/conversations"},
		} {
			fmt.Fprintln(&all, try(a, c, namesOf(run, "shop")))
		}
	}
	return all.String()
}

// TestIsolation has others try everything on somebody's runs: they are answered
// as if there were no such thing, and nothing happens to it.
func TestIsolation(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		p := e2etest.Serve(t, t.TempDir(), env, "--log-level", "warn")
		alice, bob := e2etest.Client{Process: p, Token: p.Token("alice")}, e2etest.Client{Process: p, Token: p.Token("bob")}
		alice.NewDataset("shop", "orders")
		alice.NewDataset("mine", "things")
		bob.NewDataset("mine", "orders")
		var made struct{ Token string }
		alice.Ask("POST", "/user/token", e2etest.Object{"name": "other", "accessRestrictedTo": []e2etest.Object{{"username": "self", "namespace": "mine"}}}, &made)
		restricted := e2etest.Client{Process: p, Token: made.Token}

		var runs []e2etest.Asked
		for _, agent := range []string{"nl2ql", "assistant"} {
			run, _ := alice.SendMessage(agent, e2etest.Message(`"metadata":{"namespace":"shop"}`))
			runs = append(runs, run)
		}
		if status := alice.Ask("POST", "/query/runs/"+runs[0].Task+"/feedback", e2etest.Object{"thumbsUp": true}, nil); status != http.StatusNoContent {
			t.Fatalf("feedback: %d", status)
		}
		before := belongings(alice, runs)

		compare := func(who string, c e2etest.Client, attempts []attempt, real, never map[string]string) {
			t.Helper()
			for _, a := range attempts {
				want := try(a, c, never)
				if got := try(a, c, real); got != want {
					t.Errorf("%s, %s, %s: got\n%s\nand for what never was\n%s", who, real["agent"], a.Name, got, want)
				}
				if strings.HasPrefix(want, "2") && a.Method == "DELETE" || strings.Contains(want, `"steps"`) {
					t.Errorf("%s, %s: an answer: %s", who, a.Name, want)
				}
			}
		}
		for _, run := range runs {
			never := unknown(run.Agent)
			compare("another user", bob, onTask, namesOf(run, "shop"), namesOf(never, "shop"))
			compare("another user", bob, onRun, namesOf(run, "shop"), namesOf(never, "shop"))
			compare("another user", bob, onNamespace, namesOf(run, "shop"), namesOf(never, "none"))
			compare("a token for elsewhere", restricted, onTask, namesOf(run, "shop"), namesOf(never, "shop"))
			compare("a token for elsewhere", restricted, onRun, namesOf(run, "shop"), namesOf(never, "shop"))
			compare("a token for elsewhere", restricted, onNamespace[:len(onNamespace)-1], namesOf(run, "shop"), namesOf(never, "none"))
		}
		// Nor is a task that of another agent.
		crossed := e2etest.Asked{Agent: "assistant", Task: runs[0].Task, Context: runs[0].Context}
		compare("its owner", alice, onTask, namesOf(crossed, "shop"), namesOf(unknown("assistant"), "shop"))

		for _, agent := range []string{"nl2ql", "assistant"} {
			card := rpcAttempt("", "GetExtendedAgentCard", `{}`)
			e2etest.Eventually(t, func() bool { // examples that are not there at once come later
				return strings.Contains(try(card, bob, map[string]string{"agent": agent}), "bob/mine") && strings.Contains(try(card, restricted, map[string]string{"agent": agent}), "alice/mine")
			})
			if got := try(card, bob, map[string]string{"agent": agent}); strings.Contains(got, "alice") || !strings.Contains(got, "bob/mine") {
				t.Errorf("bob's card of %s: %s", agent, got)
			}
			if got := try(card, restricted, map[string]string{"agent": agent}); strings.Contains(got, "shop") || !strings.Contains(got, "alice/mine") {
				t.Errorf("a restricted token's card of %s: %s", agent, got)
			}
		}
		// The same context means another conversation.
		for _, run := range runs {
			in := `"metadata":{"namespace":"mine"},"contextId":"`
			_, want := bob.SendMessage(run.Agent, e2etest.Message(in+uuid.NewString()+`"`))
			got, answer := bob.SendMessage(run.Agent, e2etest.Message(in+run.Context+`"`))
			if string(golden.Scrub([]byte(answer))) != string(golden.Scrub([]byte(want))) || got.Context != run.Context {
				t.Errorf("%s: in somebody's context\n%s\nin a new one\n%s", run.Agent, answer, want)
			}
			var conversation struct{ Turns []struct{ RunID string } }
			if bob.Ask("GET", "/query/conversations/"+run.Context, nil, &conversation); len(conversation.Turns) != 1 || conversation.Turns[0].RunID != got.Task {
				t.Errorf("%s: bob's conversation: %+v", run.Agent, conversation)
			}
			if status := bob.Ask("DELETE", "/query/conversations/"+run.Context, nil, nil); status != http.StatusNoContent {
				t.Errorf("bob deletes his own: %d", status)
			}
		}
		if after := belongings(alice, runs); after != before {
			t.Errorf("was\n%s\nis\n%s", before, after)
		}
	})
}
